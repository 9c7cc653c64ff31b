"""Pairs of texts as rows, a source and its target, in batches of like length that hold about the same number of tokens."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.numbers import Size
from foreword.basics.progress import say
from foreword.basics.seeds import Permutation, chance
from foreword.batches.cuts import Cut
from foreword.batches.row import Row
from foreword.tokens.store import TokenStore
from foreword.tokens.turns import SKIPPED


class Pairs(Cut):
    """A turn of a dialogue store and the turn that answers it. A pair too long for the network is left out, and said."""

    kind: Literal["pairs"] = "pairs"
    marks: ClassVar[tuple[str, ...]] = (SKIPPED,)
    ragged: ClassVar[bool] = True
    tokens: Size | None = None  # a batch holds at most so many places of sources, and of targets; None: batch_size rows

    def over(self, store: TokenStore, batch_size: int, seed: int) -> PairCutter:
        self.needs(store, 2, "one pair")
        if SKIPPED not in store.marks:
            raise Fault(
                f"{store.folder} holds no pairs: it was not made from sources and targets.",
                "Give them:  foreword train RECIPE --pairs SOURCES TARGETS",
            )
        return PairCutter(store, self.size().ids, self.tokens, batch_size, seed)


class PairCutter:
    def __init__(self, store: TokenStore, longest: int, tokens: int | None, batch_size: int, seed: int):
        self.store, self.batch_size, self.seed = store, batch_size, seed
        spans = turn_pairs(store)
        lengths = np.diff(spans, axis=1)  # [pairs, 2] with their [end]
        fits = (lengths <= longest).all(1)
        if not fits.any():
            raise Fault(
                f"{store.folder} ({store.split}) has no pair of at most {longest} tokens on each side.",
                "Give longer rows:  --set network.context=...",
            )
        if left := int((~fits).sum()):
            they = "1 pair is" if left == 1 else f"{left:,} pairs are"
            say(f"{store.folder} ({store.split}): {they} longer than {longest} tokens and not learned.")
        self.spans, self.lengths = spans[fits], lengths[fits]
        self.count = len(self.spans)
        self.epoch = self.count / batch_size
        self.sizes = BatchPlan(self.lengths, tokens, batch_size, seed)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        at = step * self.batch_size
        return [self._row(number) for number in range(at + first, at + stop)]

    def _row(self, number: int) -> Row:
        start, middle, stop = self.spans[self.sizes.place(number)].tolist()
        return Row(self.store.read(start, middle), number, self.seed, second=self.store.read(middle, stop))


class BatchPlan:
    """Which pairs are in which batch. Pairs of equal lengths change places from epoch to epoch, and so do batches.

    What lengths a batch holds is the same in every epoch, so that the rows before any step can be counted at once.
    """

    def __init__(self, lengths: np.ndarray, tokens: int | None, batch_size: int, seed: int):
        self.lengths, self.seed, self.count = lengths, seed, len(lengths)
        by_length = lengths[np.lexsort((lengths[:, 0], lengths.max(1)))].max(1)
        self.cuts = np.concatenate([[0], np.cumsum(batch_sizes(by_length, tokens, batch_size))])
        self.order = lru_cache(maxsize=4)(self._order)
        self.members = lru_cache(maxsize=4)(self._members)

    @property
    def batches(self) -> int:
        return len(self.cuts) - 1

    def size(self, step: int) -> int:
        epoch, index = divmod(step, self.batches)
        return int(np.diff(self.order(epoch)[1])[index])

    def before(self, step: int) -> int:
        epoch, index = divmod(step, self.batches)
        return epoch * self.count + int(self.order(epoch)[1][index])

    def place(self, number: int) -> int:
        """Which pair is the one of this number in the run."""
        epoch, index = divmod(number, self.count)
        return int(self.members(epoch)[index])

    def _order(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """(batches in the order of this epoch, rows before each)"""
        order = chance(self.seed, epoch, 5).permutation(self.batches)
        return order, np.concatenate([[0], np.cumsum(np.diff(self.cuts)[order])])

    def _members(self, epoch: int) -> np.ndarray:
        drawn = Permutation(self.count, self.seed, epoch).at(np.arange(self.count))
        lengths = self.lengths[drawn]
        alike = drawn[np.lexsort((lengths[:, 0], lengths.max(1)))]  # a stable sort: equal lengths stay as drawn
        return np.concatenate([alike[self.cuts[one] : self.cuts[one + 1]] for one in self.order(epoch)[0]])


def batch_sizes(lengths: np.ndarray, tokens: int | None, batch_size: int) -> list[int]:
    """Rows of each batch, for rising lengths: as many as fit `tokens` when padded to the longest."""
    found, start = [], 0
    while start < len(lengths):
        stop = min(start + batch_size, len(lengths))
        if tokens is not None:
            near = lengths[start : start + tokens]
            stop = start + max(1, int((near * np.arange(1, len(near) + 1) <= tokens).sum()))
        found.append(stop - start)
        start = stop
    if len(found) > 1 and found[-1] < found[-2] // 2:  # the last is not a few rows alone
        both = found[-2] + found[-1]
        found[-2:] = [both - both // 2, both // 2]
    return found


def turn_pairs(store: TokenStore) -> np.ndarray:
    """[pairs, 3] where a source starts, where its target starts, and where that ends; every turn answers the one before."""
    ends = np.asarray(store.ends, np.int64)
    borders = np.flatnonzero(store.read(0, store.tokens) == store.tokenizer.special("[end]")) + 1
    starts = np.concatenate([[0], borders[:-1]])
    same = np.searchsorted(ends, starts[1:], side="right") == np.searchsorted(ends, starts[:-1], side="right")
    return np.stack([starts[:-1], starts[1:], borders[1:]], 1)[same]
