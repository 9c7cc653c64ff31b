"""Lanes of text for XLNet: a row is a stretch that the next row remembers, and behind it two texts.

Half of the time the second text goes on from the first, half of the time it is from elsewhere; half of the lanes run from
the end of the text to its start (Yang et al. 2019, sections 2.4, 2.5 and A.3).
"""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.numbers import Whole
from foreword.basics.seeds import chance
from foreword.batches.cuts import Cut
from foreword.batches.row import Row
from foreword.batches.sentence_pairs import with_sentences
from foreword.tokens.store import TokenStore

TRIES = 8  # at another document; in a text that is nearly one document only, the second text may be of the same


class PairsWithMemory(Cut):
    kind: Literal["recalled_pairs"] = "recalled_pairs"
    marks: ClassVar[tuple[str, ...]] = ("sentence_end",)
    carries: ClassVar[bool] = True
    texts: ClassVar[int] = 2
    reuse: Whole | None = None  # positions, from the first of a row, that the next remembers; half of them by default
    reversed_half: bool = True  # half of the lanes read the text from its end

    def over(self, store: TokenStore, batch_size: int, seed: int) -> PairsWithMemoryCutter:
        size = self.size()
        reuse = (self.length or 0) // 2 if self.reuse is None else self.reuse
        if not 0 < reuse <= size.ids - 2:
            raise Fault(
                f"batches.reuse = {reuse}: a row of {self.length} positions remembers at least 1, and at most "
                f"{size.ids - 2}, so that two texts fit behind them.",
                "--set batches.reuse=... or a longer row: --set batches.length=...",
            )
        with_sentences(store)
        columns = -(-batch_size // 2) if self.reversed_half else batch_size
        self.needs(store, columns * reuse + size.ids, f"{columns} lanes of {self.length} tokens")
        return PairsWithMemoryCutter(store, (size.ids, reuse, columns), batch_size, seed, self._carried)


class MarkedIds(NamedTuple):
    """Ids and their marks, in the order in which they are read."""

    ids: np.ndarray
    marks: dict[str, np.ndarray]

    def part(self, start: int, stop: int | None = None) -> MarkedIds:
        return MarkedIds(self.ids[start:stop], {name: mark[start:stop] for name, mark in self.marks.items()})


class PairsWithMemoryCutter:
    """`sizes`: the ids of a row, how many of them are remembered, and columns of the text."""

    def __init__(
        self, store: TokenStore, sizes: tuple[int, int, int], batch_size: int, seed: int, marks: tuple[str, ...]
    ):
        self.store, self.batch_size, self.seed = store, batch_size, seed
        self.ids, self.reuse, self.columns = sizes
        self.marks = tuple(dict.fromkeys(["sentence_end", *marks]))
        self.column = (store.tokens - self.ids) // self.columns
        self.steps = max(self.column // self.reuse, 1)
        self.epoch = float(self.steps)
        self.ends = np.asarray(store.ends, np.int64)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        return [self._row(step, lane) for lane in range(first, stop)]

    def _row(self, step: int, lane: int) -> Row:
        number, backward = step * self.batch_size + lane, lane >= self.columns
        draw, done = chance(self.seed, number, 6), step % self.steps
        start = lane % self.columns * self.column
        at = start + (self.column - done * self.reuse if backward else done * self.reuse)
        read = self._read(at, at + self.ids, backward)
        cut = self._cut(read.part(self.reuse), backward, draw)
        first, second = read.part(0, self.reuse + cut), read.part(self.reuse + cut)
        follows = draw.random() < 0.5
        if not follows:
            second = self._elsewhere(at, len(second.ids), backward, draw)
        return Row(
            first.ids,
            number,
            self.seed,
            second.ids,
            follows,
            marks=first.marks,
            second_marks=second.marks,
            continues=done > 0,
            remembered=self.reuse,
            backward=backward,
        )

    def _read(self, start: int, stop: int, backward: bool) -> MarkedIds:
        way = slice(None, None, -1 if backward else 1)
        return MarkedIds(
            self.store.read(start, stop)[way],
            {name: self.store.read_mark(name, start, stop)[way] for name in self.marks},
        )

    @staticmethod
    def _cut(read: MarkedIds, backward: bool, draw: np.random.Generator) -> int:
        """Where the first text ends: between two sentences, or anywhere in a single one."""
        ends = read.marks["sentence_end"]
        places = np.flatnonzero(ends[1:]) + 1 if backward else np.flatnonzero(ends[:-1]) + 1
        return int(draw.choice(places)) if len(places) else int(draw.integers(1, len(read.ids)))

    def _elsewhere(self, at: int, length: int, backward: bool, draw: np.random.Generator) -> MarkedIds:
        """A text of this length from another document."""
        own = np.searchsorted(self.ends, at, side="right")
        for _ in range(TRIES):
            place = int(draw.integers(self.store.tokens - length + 1))
            if np.searchsorted(self.ends, place, side="right") != own:
                break
        return self._read(place, place + length, backward)
