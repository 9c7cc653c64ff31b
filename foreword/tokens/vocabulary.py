"""Vocabulary: what a network or a count model knows of a tokenizer."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Vocabulary:
    size: int
    end: int  # -1: there is none
    silent: tuple[int, ...]  # never part of a text nor predicted: [pad], [mask], [cls], ...
    pieces: tuple[str, ...] = field(default=(), compare=False, repr=False)  # of each id; (): not known
    counts: np.ndarray | None = field(default=None, compare=False, repr=False)  # in the training text; None: not known
    unknown: int = field(default=-1, compare=False)  # what stands for a word without an id; -1: there is none
    documents: int = field(default=0, compare=False)  # of the training text; 0: not known
    start: int = field(default=-1, compare=False)  # what a target written from a source begins with; -1: not known
