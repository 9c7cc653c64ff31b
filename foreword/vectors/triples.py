"""Cooccurrences: a cut whose rows are entries of the table of co-occurrences, shuffled once, in another order each epoch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np

from foreword.basics.budget import byte_size
from foreword.basics.columns import Column, Scratch
from foreword.basics.messages import Fault
from foreword.basics.numbers import Size
from foreword.basics.seeds import Permutation, chance, number_of
from foreword.batches.cuts import Cut
from foreword.batches.row import Row
from foreword.tokens.store import TokenStore
from foreword.vectors.cooccurrence import Cleaned, CooccurrenceWindow, count_pairs, shuffled_inside

READ = 1 << 20  # tokens at a time
TYPES = (np.int32, np.int32, np.float32)  # word, other word, count


class Cooccurrences(Cut, CooccurrenceWindow):
    """Pairs of words and how often they stand near each other: counted once, before the first step."""

    kind: Literal["cooccurrences"] = "cooccurrences"
    mixes: ClassVar[bool] = False
    length: Size | None = 65536  # entries of a row
    weighting: Literal["none", "distance"] = "distance"  # a pair d words apart counts 1/d, or 1
    memory: str = "1GB"  # that counting may take, about; what does not fit lies on disk meanwhile (TMPDIR)

    def faults(self) -> list[tuple[str, str]]:
        try:
            byte_size(self.memory)
        except Fault as fault:
            return [*super().faults(), ("memory", fault.what)]
        return super().faults()

    def over(self, store: TokenStore, batch_size: int, seed: int) -> TripleCutter:
        self.needs(store, 2, "counting")
        vocabulary, scratch = store.vocabulary(), Scratch(byte_size(self.memory))
        cleaned = Cleaned(vocabulary, self.border)
        text = scratch.column(np.uint32)
        for start in range(0, store.tokens, READ):
            text.append(cleaned(store.read(start, min(start + READ, store.tokens))))
        if self.shuffled:
            text = scratch.column(np.uint32).append(shuffled_inside(text[:], cleaned.border, number_of("shuffled")))
        keys, counts = count_pairs(text, self, cleaned.border)
        if not len(keys):
            raise Fault(f"{store.folder} has no two words that stand near each other.", "Give more text.")
        return TripleCutter(shuffle(keys, counts, self.unit, cleaned.border, seed), self.size().ids, batch_size, seed)


def shuffle(keys: Column, counts: Column, unit: int, size: int, seed: int) -> list[Column]:
    """Both halves of the table in random order: dealt out to parts that fit in memory, and each of them shuffled."""
    scratch = keys.scratch
    parts = [[scratch.column(kind) for kind in TYPES] for _ in range(max(1, -(-2 * len(keys) // scratch.block)))]
    for number, rows in enumerate(scratch.slices(len(keys))):
        entries = list(_both(keys[rows], counts[rows] / unit, size))
        where = chance(seed, 1, number).integers(len(parts), size=len(entries[0])) if len(parts) > 1 else None
        for at, part in enumerate(parts):
            for column, values in zip(part, entries):
                column.append(values if where is None else values[where == at])
    keys.clear()
    counts.clear()
    found = [scratch.column(kind) for kind in TYPES]
    for number, part in enumerate(parts):
        order = chance(seed, 2, number).permutation(len(part[0]))
        for column, dealt in zip(found, part):
            column.append(dealt[:][order])
            dealt.clear()
    return found


def _both(keys: np.ndarray, counts: np.ndarray, size: int) -> Iterator[np.ndarray]:
    one, other = np.divmod(keys, size)
    twice = one != other
    yield np.concatenate([one, other[twice]]).astype(np.int32)
    yield np.concatenate([other, one[twice]]).astype(np.int32)
    yield np.concatenate([np.where(twice, counts, 2 * counts), counts[twice]]).astype(np.float32)


class TripleCutter:
    def __init__(self, entries: list[Column], length: int, batch_size: int, seed: int):
        self.entries, self.length, self.batch_size, self.seed = entries, length, batch_size, seed
        self.count = -(-len(entries[0]) // length)
        self.epoch = self.count / batch_size
        self.order = lru_cache(maxsize=4)(lambda epoch: Permutation(self.count, seed, epoch))

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        found = []
        for number in range(step * self.batch_size + first, step * self.batch_size + stop):
            start = self.order(number // self.count)[number % self.count] * self.length
            words, others, counts = (column[start : start + self.length] for column in self.entries)
            found.append(Row(words, number, self.seed, second=others, counts=counts))
        return found
