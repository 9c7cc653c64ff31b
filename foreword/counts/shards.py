"""A text counted in pieces: each shard's n-grams by itself, then merged level by level in blocks of neighbouring keys.

A shard numbers its n-grams in the same order as the whole text does, so its sorted keys stay sorted when they are given
the whole's numbers, and nothing here is ever looked up at random outside one shard.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foreword.basics.columns import Column, Scratch, key_blocks
from foreword.counts.trie import Counted, count_ngrams


@dataclass
class CountedLevel:
    """The n-grams of one length, in the order of their keys, as columns."""

    keys: Column  # int64
    counts: Column  # int32: how often each occurs
    suffix: Column  # int32: index, one level lower, of the n-gram without its first token

    @classmethod
    def of(cls, level: Counted, scratch: Scratch) -> CountedLevel:
        return cls(*(scratch.column(each.dtype).append(each) for each in (level.keys, level.counts, level.suffix)))

    def clear(self) -> None:
        for column in (self.keys, self.counts, self.suffix):
            column.clear()


@dataclass(frozen=True)
class ShardCounter:
    """Counts one shard, whoever works on it."""

    order: int
    begins: int
    base: int

    def __call__(self, shard: tuple[np.ndarray, int, bool]) -> tuple[np.ndarray, list[Counted]]:
        text, before, opens = shard
        return count_ngrams(text, self.order, self.begins, self.base, before, opens)


def count_text(ids: Column, order: int, begins: int, base: int) -> tuple[np.ndarray, list[CountedLevel]]:
    """What `count_ngrams` gives, with its levels as columns; the text is taken in shards that fit in memory."""
    scratch = ids.scratch

    def shard(rows: slice) -> tuple[np.ndarray, int, bool]:
        before = min(rows.start, order - 1)
        return ids[rows.start - before : rows.stop], before, rows.start == before

    cuts = scratch.slices(len(ids)) if len(ids) else [slice(0, 0)]
    single, shards = np.zeros(base, np.int64), []
    for one, levels in scratch.counted(ShardCounter(order, begins, base), map(shard, cuts)):
        single += one
        shards.append([CountedLevel.of(level, scratch) for level in levels])
    return single, shards[0] if len(shards) == 1 else merge_shards(shards, base, scratch)


def merge_shards(shards: list[list[CountedLevel]], base: int, scratch: Scratch) -> list[CountedLevel]:
    """The counts of all shards together. The shards are used up."""
    merged: list[CountedLevel] = []
    places: list[Column] | None = None  # of each shard's n-grams, one level lower, among all; tokens keep theirs
    for runs in zip(*shards):
        given = [(run, places[number] if places else None, base) for number, run in enumerate(runs)]
        renumbered = list(scratch.mapped(_renumber, given))
        for column in places or ():
            column.clear()
        level, places = _merge_level(renumbered, scratch)
        merged.append(level)
    for column in places or ():
        column.clear()
    return merged


def _renumber(given: tuple[CountedLevel, Column | None, int]) -> CountedLevel:
    """A shard's n-grams under the numbers that their shorter ones have in the whole."""
    run, places, base = given
    if places is None:
        return run
    place, scratch = places[:], run.keys.scratch
    histories, tokens = np.divmod(run.keys[:], base)
    keys = place[histories] * np.int64(base)
    keys += tokens
    found = CountedLevel.of(Counted(keys, run.counts[:], place[run.suffix[:]]), scratch)
    run.clear()
    return found


def _merge_level(runs: list[CountedLevel], scratch: Scratch) -> tuple[CountedLevel, list[Column]]:
    """(all n-grams of one length, where those of each run are among them)"""
    merged = CountedLevel(scratch.column(np.int64), scratch.column(np.int32), scratch.column(np.int32))
    places = [scratch.column(np.int32) for _ in runs]

    def merge(rows: list[slice]) -> tuple[Counted, np.ndarray]:
        keys = np.concatenate([run.keys[part] for run, part in zip(runs, rows)])
        sequence = np.argsort(keys)
        keys = keys[sequence]
        new = np.append(np.ones(min(len(keys), 1), bool), keys[1:] != keys[:-1])
        first = np.flatnonzero(new)
        rank = np.empty(len(keys), np.int32)
        rank[sequence] = np.cumsum(new, dtype=np.int32) - 1
        keys = keys[first]
        counts = np.concatenate([run.counts[part] for run, part in zip(runs, rows)])[sequence]
        counts = np.add.reduceat(counts, first) if len(first) else counts
        suffix = np.concatenate([run.suffix[part] for run, part in zip(runs, rows)])[sequence[first]]
        return Counted(keys, counts, suffix), rank

    blocks = list(key_blocks([run.keys for run in runs], scratch.block))
    for rows, (level, rank) in zip(blocks, scratch.mapped(merge, blocks)):
        before, at = np.int32(len(merged.keys)), 0
        for place, part in zip(places, rows):
            place.append(rank[at : at + part.stop - part.start] + before)
            at += part.stop - part.start
        merged.keys.append(level.keys)
        merged.counts.append(level.counts)
        merged.suffix.append(level.suffix)
    for run in runs:
        run.clear()
    return merged, places
