"""One word in several sentences: a table of vectors has one vector for it, a network that reads the sentence has others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from foreword.basics.messages import Fault
from foreword.report import Report, Section, Table
from foreword.vectors.words import unit


class ReadsInContext(Protocol):
    """A table of vectors, or a network that embeds."""

    def in_context(self, word: str, sentences: Sequence[str]) -> np.ndarray: ...


def report(models: Mapping[str, ReadsInContext], word: str, sentences: Sequence[str]) -> Report:
    """For every two sentences, how alike each model's vectors of the word are."""
    if len(sentences) < 2:
        raise Fault(f"{word!r} is compared between sentences: at least two are needed, one on each line.")
    cosines = {}
    for name, model in models.items():
        near = unit(model.in_context(word, sentences).astype(np.float64))
        cosines[name] = near @ near.T
    rows = [
        (sentences[one], sentences[other], *(f"{found[one, other]:.3f}" for found in cosines.values()))
        for one in range(len(sentences))
        for other in range(one + 1, len(sentences))
    ]
    about = "Cosines of the word's vectors in two sentences; 1: the sentence changes nothing."
    return Report(
        f"{word!r} in context",
        [about],
        [Section("Cosines", Table([("sentence", "and", *models), *rows], left=(0, 1)))],
        {"word": word, "sentences": list(sentences), "cosines": {name: one.tolist() for name, one in cosines.items()}},
    )
