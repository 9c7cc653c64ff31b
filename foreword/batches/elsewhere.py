"""Elsewhere: rows of one document, and for each token whether the document has it outside of the row (ERNIE 2.0, task 3)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from foreword.basics.messages import Fault
from foreword.batches.cuts import Cut
from foreword.batches.full_sentences import documents, whole_sentences
from foreword.batches.row import Row
from foreword.batches.sentence_pairs import with_sentences
from foreword.batches.shuffled import Shuffled
from foreword.tokens.store import TokenStore

ELSEWHERE = "elsewhere"


class Elsewhere(Cut):
    kind: Literal["elsewhere"] = "elsewhere"
    marks: ClassVar[tuple[str, ...]] = ("sentence_end",)
    ragged: ClassVar[bool] = True

    def over(self, store: TokenStore, batch_size: int, seed: int) -> ElsewhereCutter:
        self.needs(store, 16, "a document")
        with_sentences(store)
        return ElsewhereCutter(store, self.size().ids, batch_size, seed)


class ElsewhereCutter(Shuffled):
    def __init__(self, store: TokenStore, room: int, batch_size: int, seed: int):
        self.store = store
        self.spans = [
            (start, stop, begin, last)
            for begin, last, inside in documents(store)
            if last - begin > room  # a document of one row has nothing elsewhere
            for start, stop in whole_sentences(inside, room, begin, last)
        ]
        if not self.spans:
            raise Fault(
                f"{store.folder} ({store.split}) has no document longer than a row of {room} tokens.",
                "Give longer documents (--documents file), or shorter rows: --set batches.length=...",
            )
        super().__init__(len(self.spans), batch_size, seed)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [self._row(number, own) for number, _, own in self.places(step, first, stop)]

    def _row(self, number: int, own: int) -> Row:
        start, stop, begin, last = self.spans[own]
        ids, others = self.store.read(start, stop), (self.store.read(begin, start), self.store.read(stop, last))
        return Row(ids, number, self.seed, marks={ELSEWHERE: np.isin(ids, np.concatenate(others))})
