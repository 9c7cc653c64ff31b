"""Sentences that follow one another in a document: three of them, or a group of longer excerpts."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.numbers import Size
from foreword.batches.cuts import Cut
from foreword.batches.row import Row
from foreword.batches.sentence_pairs import with_sentences
from foreword.batches.sentences import Sentences
from foreword.batches.shuffled import Bucketed, Shuffled
from foreword.tokens.store import TokenStore


class Triples(Cut):
    """A sentence with the one before it and the one behind it, of one document.

    `length`: tokens of a sentence; the rest is cut.
    """

    kind: Literal["triples"] = "triples"
    length: Size | None = 30
    marks: ClassVar[tuple[str, ...]] = ("sentence_end",)
    ragged: ClassVar[bool] = True
    texts: ClassVar[int] = 3

    def over(self, store: TokenStore, batch_size: int, seed: int) -> ExcerptCutter:
        return ExcerptCutter(store, self.size().ids, 3, 1, batch_size, seed)


class Excerpts(Cut):
    """So many excerpts, each of so many sentences that follow one another, make a row: what they are told apart from is in it.

    So a batch in parts, or on several processes, learns the same as a whole one.
    """

    kind: Literal["excerpts"] = "excerpts"
    length: Size | None = 32
    sentences: Size = 8
    excerpts: Size = 8
    marks: ClassVar[tuple[str, ...]] = ("sentence_end",)
    ragged: ClassVar[bool] = True

    def faults(self) -> list[tuple[str, str]]:
        return [
            (name, f"{name} must be at least 2 (it says {value}).")
            for name in ("sentences", "excerpts")
            if (value := getattr(self, name)) < 2
        ]

    def over(self, store: TokenStore, batch_size: int, seed: int) -> ExcerptCutter:
        return ExcerptCutter(store, self.size().ids, self.sentences, self.excerpts, batch_size, seed)


class ExcerptCutter:
    """Stretches of `sentences` sentences, `group` of them a row; a single sentence is cut at `room` tokens.

    A triple begins at every sentence, so that each is once in the middle; excerpts of a group do not overlap.
    """

    def __init__(self, store: TokenStore, room: int, sentences: int, group: int, batch_size: int, seed: int):
        with_sentences(store)
        self.store, self.room, self.sentences, self.group, self.seed = store, room, sentences, group, seed
        every = Sentences(store)
        self.spans, owners = np.asarray(every.spans, np.int64).reshape(-1, 2), every.owners
        begins = np.arange(max(len(owners) - sentences + 1, 0))
        first = np.searchsorted(owners, owners)[begins]  # the first sentence of its document
        whole = owners[begins] == owners[begins + sentences - 1]
        self.begins = begins[whole & ((group == 1) | ((begins - first) % sentences == 0))]
        if len(self.begins) < group:
            raise Fault(
                f"{store.folder} ({store.split}) has {len(self.begins)} stretches of {sentences} sentences in one document, "
                f"and a row takes {group}.",
                "Give more text, or whole documents: foreword tokens ... --documents file",
            )
        tokens = np.concatenate([[0], np.minimum(np.diff(self.spans, axis=1)[:, 0], room).cumsum()])
        lengths = tokens[self.begins + sentences] - tokens[self.begins]
        self.order: Shuffled = (  # triples of like length together; excerpts are long, and alike as they are
            Bucketed(lengths, batch_size, seed) if group == 1 else Shuffled(len(lengths), batch_size * group, seed)
        )
        self.roles = tuple(number // sentences for number in range(group * sentences))
        self.batch_size, self.count = batch_size, len(self.begins) // group
        self.epoch = self.count / batch_size

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [self._row(number) for number in range(step * self.batch_size + first, step * self.batch_size + stop)]

    def _row(self, number: int) -> Row:
        found = []
        for place in range(number * self.group, (number + 1) * self.group):
            begin = self.begins[self.order.place(place)]
            for start, stop in self.spans[begin : begin + self.sentences].tolist():
                found.append(self.store.read(start, min(stop, start + self.room)))
        return Row(np.concatenate(found), number, self.seed, turns=tuple(map(len, found)), roles=self.roles)
