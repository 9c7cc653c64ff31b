"""From counts to tables of probabilities, level by level, in blocks of whole histories; and pruning of such tables.

A level's `probability` holds p(w | h) of every n-gram that was counted, also of those that are dropped: theirs is what the
shorter history gives. So the next level can look up what its n-grams cost without their first token, pruned or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from foreword.basics.columns import ALL, Column, Scratch
from foreword.counts.shards import CountedLevel

# (level, counts, history of each, total and number of continuations by history) -> what each n-gram has of its own, and
# what each history leaves to the lower order
Shares = Callable[[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


AHEAD = 1 << 12  # keys that are looked at when a block is brought to the end of its last history


@dataclass
class Tables:
    """`probability[k]` belongs to the n-grams of length k + 1, `back_off[k]` to those as histories."""

    probability: list[Column] = field(default_factory=list)
    back_off: list[Column] = field(default_factory=list)
    keys: list[Column] = field(default_factory=list)  # from length 2 on


@dataclass(frozen=True)
class RowRange:
    """Rows `start` to `stop` of a level, whose histories are `first` to `after`; none is in two blocks."""

    start: int
    stop: int
    first: int
    after: int

    @property
    def rows(self) -> slice:
        return slice(self.start, self.stop)

    @property
    def histories(self) -> slice:
        return slice(self.first, self.after)

    @property
    def size(self) -> int:
        return self.after - self.first


def history_blocks(keys: Column, base: int, histories: int) -> Iterator[RowRange]:
    """A level in blocks; histories without a continuation belong to the block that comes next."""
    start, first = 0, 0
    while start < len(keys) or first < histories:
        stop, after = min(start + keys.scratch.block, len(keys)), histories
        if stop < len(keys):
            after = int(keys[stop - 1 : stop][0]) // base + 1
        while stop < len(keys):  # to the end of the last history
            ahead = keys[stop : stop + AHEAD]
            here = int(np.searchsorted(ahead, after * base))
            stop += here
            if here < len(ahead):
                break
        if stop == len(keys):
            after = histories
        yield RowRange(start, stop, first, after)
        start, first = stop, after


class Gathered:
    """table[index], in slices. A table too long for memory is looked through part by part, not at random."""

    def __init__(self, table: Column, index: Column):
        scratch = table.scratch
        held = ALL if scratch.block == ALL else 8 * scratch.block
        self.index, self.table, self.found = index, table[:held], None
        if len(table) > held:
            self.found = self._passes(table, index, held, scratch)
            self.table = self.table[:0]

    @staticmethod
    def _passes(table: Column, index: Column, held: int, scratch: Scratch) -> Column:
        parts = []
        for begin in range(0, len(table), held):
            some, part = table[begin : begin + held], scratch.column(table.dtype)

            def look(rows: slice, some: np.ndarray = some, begin: int = begin) -> np.ndarray:
                wanted = index[rows] - begin
                return some[wanted[(wanted >= 0) & (wanted < len(some))]]

            for values in scratch.mapped(look, scratch.slices(len(index))):
                part.append(values)
            parts.append(part)
        found, at = scratch.column(table.dtype), [0] * len(parts)
        for rows in scratch.slices(len(index)):
            owner = index[rows] // held
            values = np.empty(len(owner), table.dtype)
            for number, part in enumerate(parts):
                here = owner == number
                stop = at[number] + int(np.count_nonzero(here))
                values[here] = part[at[number] : stop]
                at[number] = stop
            found.append(values)
        for part in parts:
            part.clear()
        return found

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self.table[self.index[rows]] if self.found is None else self.found[rows]


def combine(
    own: np.ndarray,
    rest: np.ndarray,
    lower: np.ndarray,
    histories: np.ndarray,
    kept: np.ndarray | None,
    interpolated: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """(p of each n-gram, back-off of each history) that sum to one; n-grams not `kept` leave theirs to the lower order."""
    size = len(rest)
    if interpolated:
        if kept is not None:
            gone = ~kept
            rest = rest + np.bincount(histories[gone], own[gone], size)
            own = np.where(kept, own, 0.0)
        return own + rest[histories] * lower, rest
    held = slice(None) if kept is None else kept
    seen = np.bincount(histories[held], own[held], size)
    free = 1.0 - np.bincount(histories[held], lower[held], size)
    full = free <= 1e-12  # every token was seen after it: there is no other to leave anything to
    rest = np.where(full, 1.0, np.maximum(1.0 - seen, 0.0) / np.where(full, 1.0, free))
    own = own / np.where(full & (seen > 0), seen, 1.0)[histories]
    return (own if kept is None else np.where(kept, own, rest[histories] * lower)), rest


def estimate_level(
    level: int,
    counted: CountedLevel,
    kept: Column | None,
    shares: Shares,
    tables: Tables,
    interpolated: bool,
    base: int,
) -> None:
    """Add the probabilities of one level, and the back-off of its histories, to the tables."""
    scratch = counted.keys.scratch
    lower = Gathered(tables.probability[-1], counted.suffix)

    def one(block: RowRange) -> tuple[np.ndarray, np.ndarray]:
        histories = counted.keys[block.rows] // base - block.first
        counts = counted.counts[block.rows]
        totals, types = np.bincount(histories, counts, block.size), np.bincount(histories, minlength=block.size)
        own, rest = shares(level, counts, histories, totals, types)
        rest[types == 0] = 1.0  # nothing known: all is left to the lower order
        held = None if kept is None else kept[block.rows]
        return combine(own, rest, lower[block.rows], histories, held, interpolated)

    _fill(tables, scratch.mapped(one, history_blocks(counted.keys, base, len(tables.probability[-1]))), counted.keys)


def _fill(tables: Tables, blocks: Iterator[tuple[np.ndarray, np.ndarray]], keys: Column) -> None:
    probability, back_off = keys.scratch.column(float), keys.scratch.column(float)
    for own, rest in blocks:
        probability.append(own)
        back_off.append(rest)
    tables.probability.append(probability)
    tables.back_off.append(back_off)
    tables.keys.append(keys)


def counts_of_counts(counts: Column, most: int) -> np.ndarray:
    """How many n-grams occur once, twice, ... `most` times, under their number; 0 and more than `most` at both ends."""
    found = np.zeros(most + 2)
    for rows in counts.scratch.slices(len(counts)):
        found += np.bincount(np.minimum(counts[rows], most + 1), minlength=most + 2)
    return found


def continuation_counts(levels: list[CountedLevel], begins: int, base: int) -> list[Column]:
    """Of each level: how many different tokens an n-gram follows; after the begin symbol, which follows nothing, and in the
    highest order, how often it occurs."""
    first, last, found = begins, begins + 1, []
    for shorter, longer in zip(levels, levels[1:]):
        first, last = map(int, np.searchsorted(shorter.keys.array(), np.array([first, last]) * base))
        found.append(_followed(shorter, longer.suffix, first, last))
    return [*found, levels[-1].counts] if levels else []


def _followed(shorter: CountedLevel, suffix: Column, first: int, last: int) -> Column:
    """How often each index occurs in `suffix`; n-grams `first` to `last` keep their counts."""
    scratch = suffix.scratch
    found, held = scratch.column(np.int32), ALL if scratch.block == ALL else 8 * scratch.block
    for begin in range(0, len(shorter.keys), held):
        size = min(held, len(shorter.keys) - begin)
        here = np.zeros(size, np.int32)
        for rows in scratch.slices(len(suffix)):
            wanted = suffix[rows] - begin
            np.add.at(here, wanted[(wanted >= 0) & (wanted < size)] if size < len(shorter.keys) else wanted, 1)
        opening = slice(max(first - begin, 0), max(last - begin, 0))
        here[opening] = shorter.counts[max(first, begin) : min(last, begin + size)]
        found.append(here)
    return found


def frequent(levels: list[CountedLevel], thresholds: list[int]) -> list[Column | None]:
    """Which n-grams of each length occur more often than its threshold; None: all."""

    def column(level: CountedLevel, threshold: int) -> Column:
        scratch = level.counts.scratch
        found = scratch.column(bool)
        for rows in scratch.slices(len(level.counts)):
            found.append(level.counts[rows] > threshold)
        return found

    return [column(level, threshold) if threshold else None for level, threshold in zip(levels, thresholds)]


def informative(
    tables: Tables, suffixes: list[Column], kept: list[Column | None], threshold: float, begins: int, base: int
) -> list[Column | None]:
    """Which n-grams to keep so that none of those dropped raises the perplexity by more than `threshold` (Stolcke 1998).

    Each is judged as if it alone were dropped, from the longest down; the history of one that is kept is kept.
    """
    marginals = _marginals(tables, begins, base)
    found: list[Column | None] = []
    needed: Column | None = None  # histories of what is kept one level higher
    for at in range(len(tables.keys) - 1, -1, -1):
        keys, scratch = tables.keys[at], tables.keys[at].scratch
        lower = Gathered(tables.probability[at], suffixes[at])

        def judge(block: RowRange) -> tuple[np.ndarray, np.ndarray]:
            histories = keys[block.rows] // base - block.first  # noqa: B023
            probability, held = tables.probability[at + 1][block.rows], kept[at]  # noqa: B023
            alive = np.ones(len(histories), bool) if held is None else held[block.rows].astype(bool)
            cost = removal_cost(
                probability,
                lower[block.rows],  # noqa: B023
                histories,
                alive,
                marginals[at][block.histories],  # noqa: B023
            )
            keep = alive & (np.expm1(cost) >= threshold)
            if needed is not None:  # noqa: B023
                keep |= needed[block.rows]  # noqa: B023
            return keep, np.bincount(histories[keep], minlength=block.size) > 0

        column, above = scratch.column(bool), scratch.column(bool)
        for keep, used in scratch.mapped(judge, history_blocks(keys, base, len(tables.probability[at]))):
            column.append(keep)
            above.append(used)
        found.append(column)
        needed = above
    return found[::-1]


def removal_cost(
    probability: np.ndarray, lower: np.ndarray, histories: np.ndarray, alive: np.ndarray, marginal: np.ndarray
) -> np.ndarray:
    """Nats per token that a text would cost more without each n-gram: D(p || p') of Stolcke 1998, equation 2."""
    size = len(marginal)
    left = np.maximum(1.0 - np.bincount(histories[alive], probability[alive], size), 1e-12)
    free = np.maximum(1.0 - np.bincount(histories[alive], lower[alive], size), 1e-12)
    after = np.log((left[histories] + probability) / (free[histories] + lower))  # the back-off without it
    change = probability * (np.log(lower) + after - np.log(probability))
    return -marginal[histories] * (change + left[histories] * (after - np.log(left / free)[histories]))


def _marginals(tables: Tables, begins: int, base: int) -> list[Column]:
    """How probable each n-gram is as a stretch of text: of each length but the longest."""
    scratch = tables.probability[0].scratch
    single = np.array(tables.probability[0][:])
    single[begins] = 1.0
    found = [scratch.column(float).append(single)]
    for at, keys in enumerate(tables.keys[:-1]):
        column = scratch.column(float)
        for block in history_blocks(keys, base, len(found[-1])):
            histories = keys[block.rows] // base - block.first
            column.append(found[-1][block.histories][histories] * tables.probability[at + 1][block.rows])
        found.append(column)
    return found


def without(tables: Tables, suffixes: list[Column], kept: list[Column | None], base: int) -> Tables:
    """The same probabilities for the n-grams that are kept, and new back-off weights, so that all still sum to one."""
    found = Tables([tables.probability[0]])
    for at, keys in enumerate(tables.keys):
        lower = Gathered(found.probability[-1], suffixes[at])

        def one(block: RowRange) -> tuple[np.ndarray, np.ndarray]:
            histories = keys[block.rows] // base - block.first  # noqa: B023
            own, column = tables.probability[at + 1][block.rows], kept[at]  # noqa: B023
            held = None if column is None else column[block.rows]
            return combine(own, np.ones(block.size), lower[block.rows], histories, held, False)  # noqa: B023

        _fill(found, keys.scratch.mapped(one, history_blocks(keys, base, len(found.probability[-1]))), keys)
    return found


def compact(tables: Tables, kept: list[Column | None], base: int) -> Tables:
    """The tables without what is not kept; histories are numbered anew."""
    found = Tables([tables.probability[0]], tables.back_off[:1])
    above: Column | None = None  # which histories are kept
    for at, keys in enumerate(tables.keys):
        scratch, column, numbered = keys.scratch, kept[at], 0
        fresh = scratch.column(np.int64), scratch.column(float), scratch.column(float)
        for block in history_blocks(keys, base, len(tables.probability[at])):
            histories, tokens = np.divmod(keys[block.rows], base)
            held = np.ones(len(tokens), bool) if column is None else column[block.rows]
            there = np.ones(block.size, bool) if above is None else above[block.histories]
            places = np.cumsum(there) - 1 + numbered
            numbered += int(there.sum())
            fresh[0].append((places[histories - block.first] * base + tokens)[held])
            fresh[1].append(tables.probability[at + 1][block.rows][held])
            if at + 1 < len(tables.back_off):
                fresh[2].append(tables.back_off[at + 1][block.rows][held])
        found.keys.append(fresh[0])
        found.probability.append(fresh[1])
        if at + 1 < len(tables.back_off):
            found.back_off.append(fresh[2])
        above = column
    return found
