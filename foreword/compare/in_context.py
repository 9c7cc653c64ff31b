"""Words where they stand: which tokens of other texts are nearest to a word in its sentence (Peters et al. 2018, table 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foreword.basics.messages import Fault
from foreword.evaluate.bits_per_byte import texts_of
from foreword.model import LoadedModel
from foreword.report import Report, Section, Table, Text
from foreword.runs.folder import RunFolder
from foreword.runs.place import model_place
from foreword.tasks.labelled_task import LabelledTask
from foreword.tokens.store import TokenStore, is_store
from foreword.vectors.words import unit

TOKENS = 50_000  # that are compared at most
AROUND = 40  # characters shown on either side
TOP = 8
HELD_OUT = 400_000  # bytes of held-out text that are searched


@dataclass(frozen=True)
class Place:
    """One token of a text, in its context."""

    text: str
    first: int
    last: int  # characters

    @property
    def word(self) -> str:
        return self.text[self.first : self.last]

    @property
    def shown(self) -> str:
        before, after = self.text[max(0, self.first - AROUND) : self.first], self.text[self.last : self.last + AROUND]
        return f"{before}[{self.word}]{after}".replace("\n", " ")


def nearest(
    model: LoadedModel, word: str, sentences: Sequence[str], texts: Sequence[str], layer: int = -1, top: int = TOP
) -> list[list[tuple[float, Place]]]:
    """For each sentence the nearest places of the texts, best first."""
    asked = unit(model.in_context(word, sentences, layer))
    best: list[list[tuple[float, Place]]] = [[] for _ in sentences]
    read = 0
    for text, vectors, places in model.tokens_in_context(texts, layer):
        cosines = unit(vectors) @ asked.T
        for number, column in enumerate(cosines.T):
            some = [(float(column[at]), Place(text, *places[at])) for at in np.argsort(-column)[:top].tolist()]
            best[number] = sorted([*best[number], *some], key=lambda one: -one[0])[:top]
        read += len(vectors)
        if read >= TOKENS:
            break
    return best


def to_search(model: str, task: LabelledTask | None) -> Sequence[str]:
    """The texts of a task; without one the held-out text that the model's own store has."""
    if task is not None:
        return [text for example in (*task.train, *task.dev) for text in example.texts]
    known = RunFolder(model_place(model).folder).passport().get("store")
    if not known or not is_store(Path(known)):
        raise Fault(
            f"{model} does not say where its text is.",
            f"Name a task whose texts are searched:  foreword probe {model} sst2 --near ...",
        )
    store = TokenStore.open(Path(known), "valid")
    documents = (store.tokenizer.decode(one.ids) for one in texts_of(store, HELD_OUT))
    return [line.strip() for text in documents for line in text.splitlines() if line.strip()]


def report(model: LoadedModel, word: str, sentences: Sequence[str], texts: Sequence[str], layer: int = -1) -> Report:
    found = nearest(model, word, sentences, texts, layer)
    asked = unit(model.in_context(word, sentences, layer))
    apart = [f"cosine of {word!r} between the sentences: {float(asked[0] @ other):.3f}" for other in asked[1:]]
    sections = []
    for sentence, some in zip(sentences, found):
        rows = [{"cosine": f"{cosine:.3f}", "token": place.word, "in its place": place.shown} for cosine, place in some]
        sections.append(Section(sentence, Text([f"{word} in: {sentence}"]), Table.of(rows, left=(1, 2))))
    return Report(
        f"{word!r} in context, by {model.name}",
        apart,
        sections,
        {
            "word": word,
            "sentences": list(sentences),
            "cosines": [float(asked[0] @ other) for other in asked],
            "nearest": [
                [{"cosine": cosine, "token": place.word, "text": place.shown} for cosine, place in some]
                for some in found
            ],
        },
    )
