"""Modified Kneser-Ney, interpolated (Chen & Goodman 1999, eq. 17 and 26): a lower order counts how many different
tokens an n-gram follows, not how often it occurs. Conventions are KenLM's: one begin symbol, which is no event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from foreword.basics.progress import say
from foreword.counts.back_off import BackOff
from foreword.counts.model import CountSpec
from foreword.counts.trie import Counted, count_ngrams

if TYPE_CHECKING:
    from foreword.tokens.vocabulary import Vocabulary

FALLBACK = (0.5, 1.0, 1.5)  # KenLM's --discount_fallback


class KneserNey(CountSpec):
    """`order` 5 looks at four tokens before the one it predicts."""

    kind: Literal["kneser_ney"] = "kneser_ney"
    order: int = 5

    def faults(self) -> list[tuple[str, str]]:
        return [] if self.order >= 1 else [("order", f"the order must be 1 or more (it says {self.order}).")]

    def build(self, vocabulary: Vocabulary) -> KneserNeyModel:
        return KneserNeyModel(vocabulary, self.order)


class KneserNeyModel(BackOff):
    """`discounts[k]` are D1, D2, D3+ of the n-grams of length k + 1."""

    discounts: np.ndarray

    def estimate(self, held_out: np.ndarray | None = None) -> None:
        """`held_out` is not needed: the discounts come from the counts of counts.

        Memory: 24 bytes per distinct n-gram stay, about twice that at the peak.
        """
        single, levels = count_ngrams(self.ids(), self.order, self.begins, self.vocabulary.size + 1)
        single = self._adjust(single, levels)
        found = [discounts(counts) for counts in (single, *(level.counts for level in levels))]
        fallen = [str(length) for length, found_here in enumerate(found, 1) if found_here is None]
        if fallen:
            say(
                f"Kneser-Ney: the discounts of order {', '.join(fallen)} cannot be estimated from this text (too few "
                f"n-grams occur once, twice or three times); using {'/'.join(map(str, FALLBACK))}."
            )
        self.discounts = np.array([FALLBACK if here is None else here for here in found])
        self.interpolate(1 / self.events.sum(), single, levels, self._shares)

    def _adjust(self, single: np.ndarray, levels: list[Counted]) -> np.ndarray:
        """Counts of lower orders become numbers of different predecessors; except after the begin symbol, which has
        no predecessor, so those n-grams keep their counts."""
        base = self.vocabulary.size + 1
        opening = np.arange(base) == self.begins
        for shorter, longer in zip(levels, levels[1:]):
            opening = opening[shorter.keys // base]
            followed = np.bincount(longer.suffix, minlength=len(shorter.keys)).astype(np.int32)
            shorter.counts = np.where(opening, shorter.counts, followed)
        return np.bincount(levels[0].suffix, minlength=base) if levels else single

    def _shares(
        self, level: int, counts: np.ndarray, histories: np.ndarray, size: int
    ) -> tuple[np.ndarray, np.ndarray]:
        taken = np.array([0.0, *self.discounts[level - 1]])[np.minimum(counts, 3)]
        totals = np.bincount(histories, counts, size)
        rest = np.bincount(histories, taken, size).astype(float, copy=False)  # of nothing, it counts in integers
        np.divide(rest, totals, out=rest, where=totals > 0)
        rest[totals == 0] = 1.0  # nothing known: all is left to the lower order
        own = np.subtract(counts, taken, out=taken)
        own /= np.maximum(totals, 1)[histories]
        return own, rest

    def arrays(self) -> dict[str, np.ndarray]:
        return super().arrays() | {"discounts": self.discounts}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        super().restore(arrays)
        self.discounts = arrays["discounts"]


def discounts(counts: np.ndarray) -> tuple[float, ...] | None:
    """D1, D2, D3+ by how many n-grams have each count; None where that gives nothing usable (KenLM's conditions)."""
    n = np.bincount(np.minimum(counts, 5), minlength=6).astype(float)
    if not n[1:4].all():
        return None
    shrink = n[1] / (n[1] + 2 * n[2])
    found = tuple(float(r - (r + 1) * shrink * n[r + 1] / n[r]) for r in (1, 2, 3))
    return found if all(0 <= here <= r for r, here in zip((1, 2, 3), found)) else None
