"""Smoothing: what an n-gram that was seen keeps of its count, and what is left to the shorter history for those that were not.

Chen & Goodman 1999 compare them all. Each is one part, `network.smoothing`, of the same model.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from foreword.basics.numbers import Size, Whole
from foreword.basics.progress import say
from foreword.basics.spec import Spec
from foreword.counts.deleted_interpolation import HeldOut, fitted_shares, shares_of, weights_of
from foreword.counts.estimation import Shares

FALLBACK = (0.5, 1.0, 1.5)  # KenLM's --discount_fallback


class Smoothing(Spec):
    """`fit` reads what it needs off counts of counts, or off held-out text, and answers for a block of n-grams."""

    continuation: ClassVar[bool] = False  # a lower order counts how many different tokens an n-gram follows
    interpolated: ClassVar[bool] = True  # what is left is added to seen n-grams too, not only given to unseen ones
    most: ClassVar[int] = 0  # counts of counts are needed up to this

    def order_faults(self, order: int) -> list[tuple[str, str]]:
        return []

    def fit(self, numbers: list[np.ndarray], held_out: HeldOut) -> tuple[Shares, dict[str, np.ndarray]]:
        """(shares of a level, what was fitted); `numbers[k][r]`: how many n-grams of length k + 1 occur r times."""
        raise NotImplementedError


class AbsoluteDiscounting(Smoothing):
    """The same discount from every count, or three: from counts of one, two, and three or more (Ney, Essen & Kneser 1994)."""

    most: ClassVar[int] = 4
    kind: Literal["absolute"] = "absolute"
    discounts: Literal[1, 3] = 1

    def fit(self, numbers: list[np.ndarray], held_out: HeldOut) -> tuple[Shares, dict[str, np.ndarray]]:
        found = [discounts(n) if self.discounts == 3 else single_discount(n) for n in numbers]
        fallen = [str(length) for length, here in enumerate(found, 1) if here is None]
        if fallen:
            say(
                f"{self.kind}: the discounts of order {', '.join(fallen)} cannot be estimated from this text (too few "
                f"n-grams occur once, twice or three times); using {'/'.join(map(str, FALLBACK))}."
            )
        table = np.array([FALLBACK if here is None else here for here in found])

        def shares(
            level: int, counts: np.ndarray, histories: np.ndarray, totals: np.ndarray, types: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            taken = np.array([0.0, *table[level - 1]])[np.minimum(counts, 3)]
            rest = np.bincount(histories, taken, len(totals)) / np.maximum(totals, 1)
            own = np.subtract(counts, taken, out=taken)
            own /= totals[histories]
            return own, rest

        return shares, {"discounts": table}


class KneserNey(AbsoluteDiscounting):
    """A lower order counts how many different tokens an n-gram follows (Kneser & Ney 1995); three discounts (Chen & Goodman)."""

    continuation: ClassVar[bool] = True
    kind: Literal["kneser_ney"] = "kneser_ney"  # type: ignore[assignment]
    discounts: Literal[1, 3] = 3


class WittenBell(Smoothing):
    """What is left is as likely as a new continuation was: one for each different token that followed (Witten & Bell 1991)."""

    kind: Literal["witten_bell"] = "witten_bell"

    def fit(self, numbers: list[np.ndarray], held_out: HeldOut) -> tuple[Shares, dict[str, np.ndarray]]:
        def shares(
            level: int, counts: np.ndarray, histories: np.ndarray, totals: np.ndarray, types: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            both = np.maximum(totals + types, 1)
            return counts / both[histories], types / both

        return shares, {}


class Katz(Smoothing):
    """Counts up to `discounted` shrink as Good and Turing say; what is left goes to unseen n-grams only (Katz 1987)."""

    interpolated: ClassVar[bool] = False
    most: ClassVar[int] = 9
    kind: Literal["katz"] = "katz"
    discounted: Whole = 5

    def faults(self) -> list[tuple[str, str]]:
        if 1 <= self.discounted < self.most:
            return []
        return [
            ("discounted", f"counts from 1 to {self.most - 1} can be the last discounted (it says {self.discounted}).")
        ]

    def fit(self, numbers: list[np.ndarray], held_out: HeldOut) -> tuple[Shares, dict[str, np.ndarray]]:
        found = [good_turing(n, self.discounted) for n in numbers]
        fallen = [str(length) for length, here in enumerate(found, 1) if here is None]
        half = 1 - 0.5 / np.arange(1, self.discounted + 1)
        if fallen:
            say(
                f"katz: Good-Turing's discounts of order {', '.join(fallen)} do not lie between 0 and 1 on this text; "
                f"0.5 is taken from each of its counts up to {self.discounted} instead."
            )
        table = np.array([[1.0, *(half if here is None else here), 1.0] for here in found])

        def shares(
            level: int, counts: np.ndarray, histories: np.ndarray, totals: np.ndarray, types: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            kept = counts * table[level - 1][np.minimum(counts, self.discounted + 1)]
            # only counts too high to be discounted: one count is left for what was not seen, as SRILM does it
            whole = np.bincount(histories, kept, len(totals)) >= totals
            return kept / np.maximum(totals + whole, 1)[histories], np.zeros(len(totals))

        return shares, {"discounts": table}


class JelinekMercer(Smoothing):
    """Each order has a share, which held-out text decides: one for all histories (`buckets` 1), or one for each bucket of
    histories whose continuations were seen about as often on average (Jelinek & Mercer 1980; Chen & Goodman's buckets).

    `weights` of the orders, the uniform's first, may be given where there is one bucket.
    """

    kind: Literal["jelinek_mercer"] = "jelinek_mercer"
    buckets: Size = 20
    weights: list[float] | Literal["fitted"] = "fitted"

    def faults(self) -> list[tuple[str, str]]:
        if self.weights == "fitted":
            return []
        if self.buckets > 1:
            return [("weights", "weights are one for each order, and so for one bucket: set buckets = 1.")]
        if not all(weight >= 0 for weight in self.weights) or not abs(sum(self.weights) - 1) < 1e-6:
            return [("weights", f"weights must not be negative and must sum to 1 (they sum to {sum(self.weights):g}).")]
        return []

    def order_faults(self, order: int) -> list[tuple[str, str]]:
        if self.weights == "fitted" or len(self.weights) == order + 1:
            return []
        return [
            (
                "smoothing.weights",
                f"order {order} takes {order + 1} weights, the uniform's first (there are {len(self.weights)}).",
            )
        ]

    def fit(self, numbers: list[np.ndarray], held_out: HeldOut) -> tuple[Shares, dict[str, np.ndarray]]:
        order = len(numbers)
        if self.weights != "fitted":
            table = shares_of(np.array(self.weights))[:, None]
        elif held_out.tokens is None:
            say("jelinek_mercer: no held-out text to fit the weights on; all orders weigh the same.")
            table = np.tile(shares_of(np.full(order + 1, 1 / (order + 1)))[:, None], self.buckets)
        else:
            table = fitted_shares(held_out.seen(self.bucket), self.buckets)

        def shares(
            level: int, counts: np.ndarray, histories: np.ndarray, totals: np.ndarray, types: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            share = table[level][self.bucket(totals, types)]
            return (share / np.maximum(totals, 1))[histories] * counts, 1 - share

        return shares, {"shares": table, **({"weights": weights_of(table[:, 0])} if self.buckets == 1 else {})}

    def bucket(self, totals: np.ndarray, types: np.ndarray) -> np.ndarray:
        """Half an octave of the average count each; the last is open."""
        average = np.maximum(totals / np.maximum(types, 1), 1.0)
        return np.minimum((2 * np.log2(average)).astype(np.int64), self.buckets - 1)


def discounts(n: np.ndarray) -> tuple[float, ...] | None:
    """D1, D2, D3+ by how many n-grams have each count; None where that gives nothing usable (KenLM's conditions)."""
    if not n[1:4].all():
        return None
    shrink = n[1] / (n[1] + 2 * n[2])
    found = tuple(float(r - (r + 1) * shrink * n[r + 1] / n[r]) for r in (1, 2, 3))
    return found if all(0 <= here <= r for r, here in zip((1, 2, 3), found)) else None


def single_discount(n: np.ndarray) -> tuple[float, ...] | None:
    """One D for all counts, n1 / (n1 + 2 n2)."""
    return (float(n[1] / (n[1] + 2 * n[2])),) * 3 if n[1] and n[2] else None


def good_turing(n: np.ndarray, last: int) -> np.ndarray | None:
    """d_1 ... d_last; None where one of them does not lie between 0 and 1."""
    r = np.arange(1, last + 1)
    if not n[1 : last + 1].all():
        return None
    cut = (last + 1) * n[last + 1] / n[1]
    if cut == 1:
        return None
    found = ((r + 1) * n[r + 1] / (r * n[r]) - cut) / (1 - cut)
    return found if ((found > 0) & (found <= 1)).all() else None
