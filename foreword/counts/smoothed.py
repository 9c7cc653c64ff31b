"""Smoothed n-grams: counts of every length up to `order`, turned into a table with back-off by one of several smoothings.

Conventions are KenLM's: one begin symbol, which is no event; the shortest history leaves to the uniform distribution.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import SerializeAsAny

from foreword.basics.columns import Column
from foreword.basics.numbers import NotNegative, Order, Size, Whole
from foreword.basics.registry import Registry
from foreword.counts import SMOOTHINGS, estimation
from foreword.counts.back_off import BackOff
from foreword.counts.deleted_interpolation import HeldOut
from foreword.counts.estimation import Shares, Tables, combine
from foreword.counts.model import CountSpec
from foreword.counts.quantized import coded, rounded_down
from foreword.counts.shards import CountedLevel, count_text
from foreword.counts.smoothing import KneserNey, Smoothing

if TYPE_CHECKING:
    from foreword.tokens.vocabulary import Vocabulary


class SmoothedNGram(CountSpec):
    """`order` 5 looks at four tokens before the one it predicts.

    `prune` drops n-grams that occur as often as it says or less: one number for each length, from single tokens (0) on, the
    last for all longer ones. `entropy` drops those without which the perplexity rises by less than this share, 1e-8 say.
    """

    chosen: ClassVar[Mapping[str, Registry]] = {"smoothing": SMOOTHINGS}
    kind: Literal["smoothed_ngram"] = "smoothed_ngram"
    order: Order = 5
    smoothing: SerializeAsAny[Smoothing] = KneserNey()
    prune: list[Whole] = [0]
    entropy: NotNegative = 0.0
    quantize: Size | None = None  # bits of a probability, such as 8; they still sum to one. None: exact
    hashed: bool | None = None  # n-grams are found by hashing instead of halving: faster, and 8 more bytes for each

    def faults(self) -> list[tuple[str, str]]:
        if self.order < 1:
            return [("order", f"the order must be 1 or more (it says {self.order}).")]
        found = self.smoothing.order_faults(self.order)
        if not self.prune or self.prune[0] != 0 or self.prune != sorted(self.prune) or len(self.prune) > self.order:
            found.append(
                (
                    "prune",
                    f"one number for each length up to {self.order}, 0 first and none smaller than the one before it, "
                    f"such as [0, 0, 1] (it says {self.prune}).",
                )
            )
        if self.quantize is not None and not 1 <= self.quantize <= 16:
            found.append(("quantize", f"a probability takes 1 to 16 bits (it says {self.quantize})."))
        return found

    def build(self, vocabulary: Vocabulary) -> SmoothedModel:
        return SmoothedModel(vocabulary, self)


class SmoothedModel(BackOff):
    """`fitted` is what its smoothing read off the text: discounts, shares."""

    def __init__(self, vocabulary: Vocabulary, spec: SmoothedNGram):
        super().__init__(vocabulary, spec.order, bool(spec.hashed))
        self.spec = spec
        self.fitted: dict[str, np.ndarray] = {}

    def estimate(self, held_out: np.ndarray | None = None) -> None:
        """`held_out` is what Jelinek-Mercer fits its shares on; the others find all they need in the counts.

        Memory: 24 bytes per distinct n-gram stay, about twice that at the peak; beyond `memory`, on disk.
        """
        base, smoothing = self.vocabulary.size + 1, self.spec.smoothing
        single, levels = count_text(self.read, self.order, self.begins, base)
        thresholds = [*self.spec.prune, *[self.spec.prune[-1]] * self.order][1 : self.order]
        kept = estimation.frequent(levels, thresholds)
        if smoothing.continuation and levels:
            single = np.zeros(base, np.int64)
            for rows in self.scratch.slices(len(levels[0].suffix)):
                single += np.bincount(levels[0].suffix[rows], minlength=base)
            for level, counts in zip(levels, estimation.continuation_counts(levels, self.begins, base)):
                if counts is not level.counts:
                    level.counts.clear()
                level.counts = counts
        text = None if held_out is None or not len(held_out) else np.append(self.begins, self.checked(held_out))
        numbers = [
            estimation.counts_of_counts(counts, smoothing.most)
            for counts in (self.scratch.column(np.int64).append(single), *(level.counts for level in levels))
        ]
        shares, self.fitted = smoothing.fit(numbers, HeldOut(text, single, levels, self.begins, int(self.events.sum())))
        tables = Tables([self.scratch.column(float).append(self._single(single, shares))])
        for length, (level, held) in enumerate(zip(levels, kept), 2):
            estimation.estimate_level(length, level, held, shares, tables, smoothing.interpolated, base)
            level.counts.clear()
        self._hold(self._pruned(tables, levels, kept))

    def _single(self, single: np.ndarray, shares: Shares) -> np.ndarray:
        """p of every token after nothing."""
        uniform, found = 1 / self.events.sum(), np.zeros(len(single))
        seen = np.flatnonzero(single)
        none = np.zeros(len(seen), np.int64)
        own, rest = shares(1, single[seen], none, np.array([single.sum()], float), np.array([len(seen)]))
        if not len(seen):
            rest = np.ones(1)
        lower = np.full(len(seen), uniform)
        own, rest = combine(own, rest, lower, none, None, self.spec.smoothing.interpolated)
        found[:-1][self.events] = rest[0] * uniform
        found[seen] = own
        return found

    def _pruned(self, tables: Tables, levels: list[CountedLevel], kept: list[Column | None]) -> Tables:
        base, suffixes = self.vocabulary.size + 1, [level.suffix for level in levels]
        if self.spec.entropy and levels:
            kept = estimation.informative(tables, suffixes, kept, self.spec.entropy, self.begins, base)
            tables = estimation.without(tables, suffixes, kept, base)
        if self.spec.quantize and levels:
            tables = estimation.without(rounded_down(tables, self.spec.quantize), suffixes, kept, base)
        for suffix in suffixes:
            suffix.clear()
        return tables if all(column is None for column in kept) else estimation.compact(tables, kept, base)

    def _hold(self, tables: Tables) -> None:
        self.probability = [column.array() for column in tables.probability]
        if bits := self.spec.quantize:
            longer = enumerate(self.probability[1:], 2)
            self.probability[1:] = [coded(one, bits, length) for length, one in longer]  # type: ignore[arg-type]
        self.back_off = [column.array() for column in tables.back_off]
        self.trie = self.trie_of([column.array() for column in tables.keys])

    def arrays(self) -> dict[str, np.ndarray]:
        return super().arrays() | {f"fitted.{name}": array for name, array in self.fitted.items()}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        super().restore(arrays)
        self.fitted = {
            name.removeprefix("fitted."): array for name, array in arrays.items() if name.startswith("fitted.")
        }
