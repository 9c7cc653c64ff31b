"""Where n-grams stand in a text, and how often two of them stand near each other: what the solver asks.

The sample space is that of the table of pairs: two places of a passage within a window. An n-gram stands where its first word
does, so for single words all numbers are the table's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from foreword.vectors.cooccurrence import CooccurrenceWindow, PairTable

NGram = tuple[int, ...]
SKIP = -1  # any word may stand here


def ngrams(words: Sequence[int], longest: int, skips: bool) -> list[NGram]:
    """Every n-gram of some words, each once: single words first."""
    found = [tuple(words[at : at + n]) for n in range(1, longest + 1) for at in range(len(words) - n + 1)]
    found += [(words[at], SKIP, words[at + 2]) for at in range(len(words) - 2) if skips]
    return list(dict.fromkeys(found))


class Counts(Protocol):
    """What is known of n-grams."""

    @property
    def sums(self) -> np.ndarray:
        """Of every word: how many pairs it is in."""

    def sum(self, gram: NGram) -> float:
        """How many pairs an n-gram is in; 0: the text does not have it, or this does not know."""

    def met(self, one: NGram, other: NGram) -> float:
        """How many pairs are these two."""


@dataclass(frozen=True)
class TableCounts:
    """Single words alone: all that is left where the text is not at hand."""

    pairs: PairTable

    @property
    def sums(self) -> np.ndarray:
        return self.pairs.sums

    def sum(self, gram: NGram) -> float:
        return float(self.pairs.sums[gram[0]]) if len(gram) == 1 else 0.0

    def met(self, one: NGram, other: NGram) -> float:
        return float(self.pairs.find(np.array(one), np.array(other))[0])


class TextCounts:
    """A cleaned text (`Cleaned`), looked up by n-gram. Words that are `left_out` are part of none, but keep their places."""

    def __init__(self, ids: np.ndarray, near: CooccurrenceWindow, border: int, left_out: np.ndarray):
        self.ids, self.near, self.border = np.asarray(ids, np.int64), near, border
        self.passage = np.cumsum(self.ids == border)
        self.places = np.flatnonzero((self.ids != border) & ~np.append(left_out, True)[self.ids])
        self.content = self.ids[self.places]
        self.orders: dict[tuple[bool, ...], tuple[np.ndarray, np.ndarray]] = {}
        self.found: dict[NGram, tuple[np.ndarray, np.ndarray]] = {}

    @cached_property
    def room(self) -> np.ndarray:
        """Of every place, how many others are within its window, or what they count."""
        found, words = np.zeros(len(self.ids)), self.ids != self.border
        for apart in range(1, min(self.near.window, len(self.ids) - 1) + 1):
            near = words[:-apart] & words[apart:] & (self.passage[:-apart] == self.passage[apart:])
            share = near / apart if self.near.weighting == "distance" else near
            found[:-apart] += share
            found[apart:] += share
        return found

    @cached_property
    def sums(self) -> np.ndarray:
        words = self.ids != self.border
        return np.bincount(self.ids[words], self.room[words], self.border)

    def stands(self, gram: NGram) -> tuple[np.ndarray, np.ndarray]:
        """(first, last) place of each time it occurs, in order."""
        if gram not in self.found:
            self.found[gram] = self._stands(gram)
        return self.found[gram]

    def _stands(self, gram: NGram) -> tuple[np.ndarray, np.ndarray]:
        shape, length = tuple(word != SKIP for word in gram), len(gram)
        if shape not in self.orders:
            keys = np.zeros(max(len(self.content) - length + 1, 0), np.int64)
            for at in np.flatnonzero(shape):
                keys = keys * self.border + self.content[at : at + len(keys)]
            order = np.argsort(keys, kind="stable")
            self.orders[shape] = keys[order], order
        keys, order = self.orders[shape]
        key = 0
        for word in gram:
            key = key if word == SKIP else key * self.border + word
        first = order[np.searchsorted(keys, key) : np.searchsorted(keys, key, "right")]
        starts, ends = self.places[first], self.places[first + length - 1]
        whole = self.passage[starts] == self.passage[ends]
        return starts[whole], ends[whole]

    def sum(self, gram: NGram) -> float:
        return float(self.room[self.stands(gram)[0]].sum())

    def met(self, one: NGram, other: NGram) -> float:
        a, b = self.stands(one), self.stands(other)
        if len(b[0]) < len(a[0]):
            a, b = b, a
        first = np.searchsorted(b[0], a[0] - self.near.window)
        counts = np.searchsorted(b[0], a[0] + self.near.window, "right") - first
        left = np.repeat(np.arange(len(counts)), counts)
        right = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts - first, counts)
        one_starts, one_ends, starts, ends = a[0][left], a[1][left], b[0][right], b[1][right]
        near = (self.passage[one_starts] == self.passage[starts]) & ((one_ends < starts) | (ends < one_starts))
        apart = np.abs(one_starts - starts)[near]
        return float((1 / apart).sum() if self.near.weighting == "distance" else len(apart))
