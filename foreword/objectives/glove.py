"""Glove: the inner product of two words' vectors, and their biases, is the logarithm of how often they stand together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from foreword.basics.messages import Diverged
from foreword.basics.numbers import NotNegative, Positive
from foreword.batches.row import Row
from foreword.kernels.glove import Entries, fit
from foreword.objectives.base import Objective
from foreword.vectors.glove import GloveTable


class Glove(Objective):
    """Weighted least squares on the logarithms of counts; what never met is no part of it (Pennington et al. 2014, eq. 8)."""

    kind: Literal["glove"] = "glove"
    networks: ClassVar[tuple[str, ...]] = ("glove",)
    x_max: Positive = 100.0  # from this count on, all matter alike
    alpha: NotNegative = 0.75  # below it, (count / x_max) to this power

    def faults(self) -> list[tuple[str, str]]:
        found = [] if self.x_max > 0 else [("x_max", f"x_max must be more than 0 (it says {self.x_max}).")]
        return found + [("alpha", f"alpha must be 0 or more (it says {self.alpha}).")] * (self.alpha < 0)

    def weights(self, counts: np.ndarray) -> np.ndarray:
        """f of equation 9."""
        return np.minimum(1.0, (np.asarray(counts) / self.x_max) ** self.alpha)

    def prepare(self, table: GloveTable) -> None:
        """The rows are all there is."""

    def learn(
        self, table: GloveTable, made: None, rows: Sequence[Row], rate: float, seed: int, threads: int = 1
    ) -> tuple[float, int]:
        """Go through some entries, updating the table after each. (what they cost, how many they were)"""
        cost = 0.0
        for row in rows:
            if row.second is None or row.counts is None:
                raise TypeError('GloVe learns from co-occurrences: [batches] kind = "cooccurrences"')
            counts = row.counts.astype(np.float32)
            weights = self.weights(counts).astype(np.float32)
            cost += fit(table.fitted, Entries(row.ids, row.second, np.log(counts), weights), rate, threads)
        if not math.isfinite(cost):
            raise Diverged(
                "the cost is not a number.",
                f"Usual cause: too high a rate. Smaller:  --set training.learning_rate={rate / 2:g}",
            )
        return cost, sum(len(row.ids) for row in rows)
