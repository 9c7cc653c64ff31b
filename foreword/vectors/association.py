"""How much more often two words stand together than chance would have it: PMI, PPMI and NPMI (Church & Hanks 1990)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from foreword.basics.numbers import NotNegative
from foreword.basics.spec import Spec

Measure = Literal["pmi", "ppmi", "npmi"]


class Association(Spec):
    """From counts to one number per pair. A pair that never met, nothing being added, is told nothing about: 0."""

    measure: Measure = "pmi"  # ppmi: 0 where it is less; npmi: within -1 and 1
    add: NotNegative = 0.0  # to the count of every pair there could be
    power: float = 1.0  # of the second word's frequency; 0.75 keeps rare words from large numbers (Levy et al. 2015)

    def faults(self) -> list[tuple[str, str]]:
        found = super().faults()
        if not 0 < self.power <= 1:
            found.append(("power", f"the power of frequencies lies between 0 and 1 (it says {self.power})."))
        return found

    def of(self, met: np.ndarray, one: np.ndarray, other: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """met: how often each pair did; one, other: how many pairs either is in; sums: that of every word."""
        words = int((sums > 0).sum())
        total = float(sums.sum()) + self.add * words**2
        met, one, other = met + self.add, one + self.add * words, other + self.add * words
        if self.power == 1:
            second = other / total
        else:
            raised = np.where(sums > 0, (sums + self.add * words) ** self.power, 0.0).sum()
            second = other**self.power / raised
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log(met / total) - np.log(one / total) - np.log(second)
            if self.measure == "npmi":
                found = found / -np.log(met / total)
        found = np.where((met > 0) & (one > 0) & (other > 0), found, 0.0)
        return np.maximum(found, 0.0) if self.measure == "ppmi" else found
