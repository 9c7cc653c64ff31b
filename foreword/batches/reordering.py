"""Reordering: a paragraph in pieces, shuffled; which order was it? Classes are (pieces, permutation), K = 1! + 2! + ... + m!."""

from __future__ import annotations

from itertools import permutations
from math import factorial
from typing import ClassVar, Literal

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.numbers import Size
from foreword.basics.seeds import chance
from foreword.batches.cuts import Cut
from foreword.batches.full_sentences import documents, whole_sentences
from foreword.batches.row import Row
from foreword.batches.sentence_pairs import with_sentences
from foreword.batches.shuffled import Shuffled
from foreword.tokens.store import TokenStore


class Reordering(Cut):
    kind: Literal["reordering"] = "reordering"
    marks: ClassVar[tuple[str, ...]] = ("sentence_end",)
    ragged: ClassVar[bool] = True
    pieces: Size = 3  # at most; as many as are equally likely

    def over(self, store: TokenStore, batch_size: int, seed: int) -> ReorderingCutter:
        self.needs(store, 16, "a paragraph")
        with_sentences(store)
        return ReorderingCutter(store, self.size().ids, self.pieces, batch_size, seed)


class ReorderingCutter(Shuffled):
    def __init__(self, store: TokenStore, room: int, most: int, batch_size: int, seed: int):
        self.store, self.most = store, most
        self.spans = [
            (start, stop)
            for begin, last, inside in documents(store)
            for start, stop in whole_sentences(inside, room, begin, last)
            if stop - start >= most
        ]
        if not self.spans:
            raise Fault(f"{store.folder} ({store.split}) has no paragraph to reorder.")
        super().__init__(len(self.spans), batch_size, seed)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [self._row(*place) for place in self.places(step, first, stop)]

    def _row(self, number: int, epoch: int, own: int) -> Row:
        start, stop = self.spans[own]
        draw = chance(self.seed, epoch, 8, own)
        count = int(draw.integers(1, self.most + 1))
        ends = np.flatnonzero(self.store.read_mark("sentence_end", start, stop)[:-1]) + 1
        # too few sentences: it is cut anywhere
        places = ends if len(ends) >= count - 1 else np.arange(1, stop - start)
        cuts = np.sort(draw.choice(places, count - 1, replace=False)).astype(np.int64)
        parts = np.split(self.store.read(start, stop), cuts)
        order = first_alike(parts, tuple(draw.permutation(count).tolist()))
        return Row(np.concatenate([parts[one] for one in order]), number, self.seed, label=encode(order))


def first_alike(parts: list[np.ndarray], order: tuple[int, ...]) -> tuple[int, ...]:
    """Pieces that are equal have no order: of all orders that read the same, the first."""
    alike = [next(j for j, other in enumerate(parts) if np.array_equal(other, part)) for part in parts]
    if alike == list(range(len(parts))):
        return order
    read = [alike[one] for one in order]
    return next(one for one in permutations(range(len(parts))) if [alike[i] for i in one] == read)


def classes(most: int) -> int:
    return sum(factorial(pieces) for pieces in range(1, most + 1))


def encode(order: tuple[int, ...]) -> int:
    """The class of an order: those of fewer pieces first, then lexicographically."""
    left, rank = sorted(order), 0
    for one in order:
        rank += left.index(one) * factorial(len(left) - 1)
        left.remove(one)
    return classes(len(order) - 1) + rank


def decode(label: int) -> tuple[int, ...]:
    """The order of a class: piece `order[i]` of the text stands at place i."""
    pieces = 1
    while label >= classes(pieces):
        pieces += 1
    rank, left, order = label - classes(pieces - 1), list(range(pieces)), []
    for place in range(pieces, 0, -1):
        at, rank = divmod(rank, factorial(place - 1))
        order.append(left.pop(at))
    return tuple(order)
