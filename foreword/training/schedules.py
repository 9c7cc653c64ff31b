"""How the learning rate moves: a warm-up, then a way down. A schedule gives a factor between 0 and 1."""

from __future__ import annotations

import math
from typing import Literal

from foreword.basics.spec import Spec


class Schedule(Spec):
    """`warmup`: steps if a whole number, a share of the budget if a fraction. `floor`: where the way down ends."""

    warmup: int | float = 0
    floor: float = 0.0

    def factor(self, step: int, spent: float) -> float:
        """`step` counts from 0; `spent` is how much of the budget was used before it."""
        share = self._warmup_share(step, spent)
        if share > 0 and self._warming(step, spent):
            done = (step + 1) / self.warmup if isinstance(self.warmup, int) else spent / share
            return min(1.0, max(done, 1e-3))
        left = (spent - share) / max(1.0 - share, 1e-9)
        return self.floor + (1.0 - self.floor) * self.way_down(step, min(max(left, 0.0), 1.0))

    def _warming(self, step: int, spent: float) -> bool:
        return step < self.warmup if isinstance(self.warmup, int) else spent < self.warmup

    def _warmup_share(self, step: int, spent: float) -> float:
        """The warm-up as a share of the budget; counted steps are converted at the pace so far."""
        if not isinstance(self.warmup, int):
            return self.warmup
        return min(0.99, self.warmup * spent / step) if step else float(self.warmup > 0) * 1e-9

    def way_down(self, step: int, done: float) -> float:
        raise TypeError(f"{type(self).__name__} has no way down.")


class Constant(Schedule):
    kind: Literal["constant"] = "constant"

    def way_down(self, step: int, done: float) -> float:
        return 1.0


class Linear(Schedule):
    kind: Literal["linear"] = "linear"

    def way_down(self, step: int, done: float) -> float:
        return 1.0 - done


class Cosine(Schedule):
    kind: Literal["cosine"] = "cosine"

    def way_down(self, step: int, done: float) -> float:
        return 0.5 * (1.0 + math.cos(math.pi * done))


class WarmDown(Schedule):
    """Level, then down in a straight line over the last `share` of the budget (Hägele et al. 2024)."""

    kind: Literal["warm_down"] = "warm_down"
    share: float = 0.7

    def faults(self) -> list[tuple[str, str]]:
        return [] if 0 < self.share <= 1 else [("share", f"share must lie between 0 and 1 (it says {self.share}).")]

    def way_down(self, step: int, done: float) -> float:
        return min(1.0, (1.0 - done) / self.share)


class InverseRoot(Schedule):
    """Falls with the root of the step (Vaswani et al. 2017, eq. 3); the warm-up must be counted in steps."""

    kind: Literal["inverse_root"] = "inverse_root"

    def faults(self) -> list[tuple[str, str]]:
        if isinstance(self.warmup, int) and self.warmup > 0:
            return []
        return [("warmup", "inverse_root needs a warm-up in whole steps, at least 1.")]

    def way_down(self, step: int, done: float) -> float:
        return math.sqrt(self.warmup / max(step + 1, self.warmup))
