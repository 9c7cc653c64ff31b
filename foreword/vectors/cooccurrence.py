"""Which words stand near each other, and how often: counted in shards, as sorted runs that are merged from disk.

Counts are whole numbers until the last line (of 1/d as well: UNIT / d): neither shards, nor memory, nor workers change a digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from foreword.basics.columns import PER_TOKEN, Column, Scratch, key_blocks
from foreword.basics.messages import Fault
from foreword.basics.numbers import Size
from foreword.basics.seeds import Permutation
from foreword.basics.spec import Spec
from foreword.tokens.vocabulary import Vocabulary

UNIT = 232_792_560  # the least that 1 to 20 all divide: 1/d is exact up to there, and to seven digits beyond
STOPS = (".", "!", "?", "。", "！", "？", "…")
PER_PAIR = 48  # bytes that a pair takes at the peak, while its shard is sorted
SHARD = 1 << 19  # words of a shard at most: what fits in a cache is sorted quicker


class CooccurrenceWindow(Spec):
    """What it means to stand near each other."""

    window: Size = 10  # words to either side at most
    weighting: Literal["none", "distance"] = "none"  # distance: a pair d words apart counts 1/d
    border: Literal["document", "line", "sentence"] = "line"  # what no window reaches across
    shuffled: bool = False  # a control: the words are dealt out anew over all documents, lengths and frequencies stay

    @property
    def unit(self) -> int:
        return UNIT if self.weighting == "distance" else 1


class Cleaned:
    """Ids of a text with everything left out that is no word; `border` stands where windows end."""

    def __init__(self, vocabulary: Vocabulary, border: str):
        self.border = vocabulary.size
        names, known = vocabulary.pieces, np.asarray(vocabulary.counts if vocabulary.counts is not None else [1])
        lines = [id for id, piece in enumerate(names) if piece == "\n"]
        stops = [id for id, piece in enumerate(names) if piece in STOPS and border == "sentence"]
        ends = [vocabulary.end] if vocabulary.end >= 0 else []
        self.becomes = np.arange(vocabulary.size, dtype=np.int64)
        self.becomes[[*vocabulary.silent, *([vocabulary.unknown] if vocabulary.unknown >= 0 else [])]] = -1
        self.becomes[lines] = -1 if border == "document" else self.border
        self.becomes[[*stops, *ends]] = self.border
        words = (self.becomes >= 0) & (self.becomes < self.border)
        if len(known) == vocabulary.size and not known[words].any():
            raise Fault(
                "no word is left to count: every one is rarer than the tokenizer's minimum.",
                "Give more text, or a smaller minimum:  --set tokenizer.minimum=1",
            )

    def __call__(self, ids: np.ndarray) -> np.ndarray:
        kept = self.becomes[ids]
        return kept[kept >= 0]


def shuffled_inside(ids: np.ndarray, border: int, seed: int = 0) -> np.ndarray:
    """The words in another order, and the borders where they were."""
    found, places = np.array(ids), np.flatnonzero(ids != border)
    found[places] = found[places[Permutation(max(len(places), 1), seed).at(np.arange(len(places)))]]
    return found


@dataclass(frozen=True)
class PairCounter:
    """Counts one shard, whoever works on it: (keys, counts) of the pairs whose first word is among its first `own` ids."""

    window: int
    weighted: bool
    border: int

    def __call__(self, shard: tuple[np.ndarray, int]) -> tuple[np.ndarray, np.ndarray]:
        text, own = shard
        text = text.astype(np.int64)
        size, bits = np.int64(self.border), max(self.window.bit_length(), 1)
        passage = np.cumsum(text == self.border)
        first = np.flatnonzero(text[:own] != self.border)
        found = []
        for apart in range(1, self.window + 1):
            left = first[: np.searchsorted(first, len(text) - apart)]
            right = left + apart
            near = (text[right] != self.border) & (passage[left] == passage[right])
            one, other = text[left[near]], text[right[near]]
            # the distance stands in the last bits, so that one sort of whole numbers does all
            found.append((np.minimum(one, other) * size + np.maximum(one, other)) << bits | apart)
        packed = np.concatenate(found)
        del found
        packed.sort()
        keys = packed >> bits
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        if self.weighted:
            shares = np.array([0, *(round(UNIT / apart) for apart in range(1, self.window + 1))], np.int64)
            packed &= (1 << bits) - 1
            counts = np.add.reduceat(shares[packed], starts) if len(starts) else packed
        else:
            counts = np.diff(starts, append=len(keys))
        return keys[starts], counts


def count_pairs(ids: Column, near: CooccurrenceWindow, border: int) -> tuple[Column, Column]:
    """(keys, counts in units) of all pairs of a cleaned text: key = the lesser id * border + the greater one."""
    scratch = ids.scratch
    step = max(1, min(SHARD, scratch.block * PER_TOKEN // (near.window * PER_PAIR)))
    counter = PairCounter(near.window, near.weighting == "distance", border)

    def shards() -> Iterator[tuple[np.ndarray, int]]:
        for start in range(0, len(ids), step):
            text = ids[start : min(start + step + near.window, len(ids))]
            yield text, min(step, len(ids) - start)

    runs = []
    for keys, counts in scratch.counted(counter, shards()):
        runs.append((scratch.column(np.int64).append(keys), scratch.column(np.int64).append(counts)))
    return runs[0] if len(runs) == 1 else merge_runs(runs, scratch)


def merge_runs(runs: list[tuple[Column, Column]], scratch: Scratch) -> tuple[Column, Column]:
    """Sorted runs as one. They are used up."""
    merged = scratch.column(np.int64), scratch.column(np.int64)
    if not runs:
        return merged

    def merge(rows: list[slice]) -> tuple[np.ndarray, np.ndarray]:
        keys = np.concatenate([run[0][part] for run, part in zip(runs, rows)])
        counts = np.concatenate([run[1][part] for run, part in zip(runs, rows)])
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        return keys[starts], np.add.reduceat(counts, starts) if len(starts) else counts

    for keys, counts in scratch.mapped(merge, key_blocks([run[0] for run in runs], scratch.block)):
        merged[0].append(keys)
        merged[1].append(counts)
    for run in runs:
        run[0].clear()
        run[1].clear()
    return merged


@dataclass(frozen=True)
class PairTable:
    """Co-occurrences: the upper half of a symmetric table, row by row. A word beside itself counts from both sides."""

    starts: np.ndarray  # int64 [words + 1]: where each row begins
    columns: np.ndarray  # int32
    counts: np.ndarray  # float64

    @staticmethod
    def of(keys: np.ndarray, counts: np.ndarray, size: int, unit: int = 1) -> PairTable:
        starts = np.searchsorted(keys, np.arange(size + 1, dtype=np.int64) * size)
        return PairTable(starts, (keys % size).astype(np.int32), np.asarray(counts) / unit)

    @property
    def size(self) -> int:
        return len(self.starts) - 1

    @property
    def rows(self) -> np.ndarray:
        """The lesser word of each pair."""
        return np.repeat(np.arange(self.size, dtype=np.int32), np.diff(self.starts))

    @cached_property
    def sums(self) -> np.ndarray:
        """How many pairs each word is the first of, from either side: the marginals of the same table."""
        return np.bincount(self.columns, self.counts, self.size) + np.bincount(self.rows, self.counts, self.size)

    @cached_property
    def total(self) -> float:
        return float(self.sums.sum())

    def find(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """X of each pair of words; 0 for those that never met."""
        low, high = np.minimum(one, other).astype(np.int64), np.maximum(one, other)
        if not len(self.columns):
            return np.zeros(len(low))
        keys = self._keys
        at = np.minimum(np.searchsorted(keys, low * self.size + high), len(keys) - 1)
        met = np.where(keys[at] == low * self.size + high, self.counts[at], 0.0)
        return np.where(low == high, 2 * met, met)

    @cached_property
    def _keys(self) -> np.ndarray:
        return self.rows.astype(np.int64) * self.size + self.columns

    def whole(self) -> PairTable:
        """Both halves."""
        rows, columns = self.rows, self.columns
        twice = columns != rows
        keys = np.concatenate(
            [self._keys, columns[twice].astype(np.int64) * self.size + rows[twice]],
        )
        counts = np.concatenate([np.where(twice, self.counts, 2 * self.counts), self.counts[twice]])
        order = np.argsort(keys)
        return PairTable.of(keys[order], counts[order], self.size)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"pairs.starts": self.starts, "pairs.columns": self.columns, "pairs.counts": self.counts}

    @staticmethod
    def restored(arrays: dict[str, np.ndarray]) -> PairTable:
        return PairTable(*(arrays[f"pairs.{name}"] for name in ("starts", "columns", "counts")))
