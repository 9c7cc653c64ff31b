"""Phases: rows are shorter in the first steps of a run, and longer from some step on (Devlin et al. 2018, appendix A.2)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from foreword.basics.numbers import Size, Whole
from foreword.basics.spec import Spec
from foreword.batches.cuts import Cutter
from foreword.batches.row import Row


class Phase(Spec):
    """The steps up to `until`, in which rows have this length; those after the last phase are as the recipe says."""

    length: Size  # positions that the network reads of a row; at most the recipe's
    until: float | Whole  # a share of a budget in steps (0.9), or a step (900000)
    batch_size: Size | None = None  # rows of a batch; the recipe's by default

    def end(self, steps: float) -> int:
        """The first step that is no longer in it, of so many."""
        return self.until if isinstance(self.until, int) else round(self.until * steps)


class PhaseSpan(NamedTuple):
    """Some steps of a run with one cutter."""

    first: int  # step
    cutter: Cutter
    rows: int  # of a batch


class PhasedCutter:
    """Several cutters, one after another: each begins its own first epoch where it takes over."""

    def __init__(self, stretches: Sequence[PhaseSpan], batch_size: int):
        self.stretches, self.batch_size = list(stretches), batch_size
        self.epoch = self.stretches[-1].cutter.epoch

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        begun, cutter, rows = self.stretches[bisect_right(self.stretches, step, key=lambda one: one.first) - 1]
        start, end = (edge * rows // self.batch_size for edge in (first, stop))  # a place is a share of its batch
        return cutter.rows(step - begun, start, end)

    def read(self, step: int) -> list[tuple[Cutter, int]]:
        """The cutters that have been at work before this step, each with the rows that it gave."""
        ends = [*(one.first for one in self.stretches[1:]), step]
        return [(one.cutter, max(0, min(step, end) - one.first) * one.rows) for one, end in zip(self.stretches, ends)]
