"""Results over seeds, differences seed by seed, and how sure both are: over seeds and over examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from foreword.tasks.confidence import ANYTHING, UNKNOWN, Interval, bootstrap, over_seeds, spread
from foreword.tasks.example import Example
from foreword.tasks.labelled_task import LabelledTask


@dataclass(frozen=True)
class SeedResult:
    """One seed of one setting."""

    seed: int
    dev: float
    test: float
    answers: tuple[Any, ...]  # of test
    collapsed: bool = False  # its first run was no better on dev than knowing nothing
    steps: int = 0
    run: Path | None = None
    diverged: bool = False  # its first run ended with a loss that is no number


@dataclass(frozen=True)
class Result:
    """One setting, all its seeds. What was not chosen on dev has no say about test."""

    name: str
    labels: int | None  # None: all
    seeds: tuple[SeedResult, ...]
    rate: float | None = None
    batch: int | None = None
    chosen: bool = True
    over_examples: Interval = UNKNOWN  # of the mean over seeds, were other examples drawn for test
    within: Interval = ANYTHING  # no value of the metric lies outside
    layers: int | None = None  # that were transferred, where this is what was asked

    @property
    def dev(self) -> float:
        return float(np.mean([one.dev for one in self.seeds]))

    @property
    def tests(self) -> list[float]:
        return [one.test for one in self.seeds]

    @property
    def test(self) -> float:
        return float(np.mean(self.tests))

    @property
    def spread(self) -> float:
        return spread(self.tests)

    @property
    def over_seeds(self) -> Interval:
        return over_seeds(self.tests, self.within)

    @property
    def collapsed(self) -> int:
        return sum(one.collapsed for one in self.seeds)

    @property
    def diverged(self) -> int:
        return sum(one.diverged for one in self.seeds)

    @property
    def median(self) -> SeedResult:
        """The seed in the middle on dev."""
        return sorted(self.seeds, key=lambda one: (one.dev, one.seed))[(len(self.seeds) - 1) // 2]


@dataclass(frozen=True)
class Difference:
    """How much better one row is than another on test, seed by seed."""

    labels: int | None
    name: str
    minus: str
    each: tuple[float, ...]
    over_examples: Interval

    @property
    def mean(self) -> float:
        return float(np.mean(self.each))

    @property
    def over_seeds(self) -> Interval:
        return over_seeds(self.each)


class Significance:
    """What answers on test are worth by the task's first metric, and how sure that is."""

    def __init__(self, task: LabelledTask):
        self.examples = task.test
        self.measure = task.measure

    def of(self, answers: Sequence[Any], examples: Sequence[Example] | None = None) -> float:
        return self.measure.of(self.examples if examples is None else examples, answers)

    def bounded(self, row: Result) -> Result:
        judged = [self.measure.judge(self.examples, one.answers) for one in row.seeds]
        row = replace(row, within=self.measure.within)
        if not judged[0]:
            return row
        bounds = self.measure.metric.interval(judged[0]) if len(judged) == 1 else self._resampled(judged, [])
        return replace(row, over_examples=bounds)

    def difference(self, row: Result, other: Result) -> Difference:
        """Of the same seeds where both have them; a row with one try is set beside every one."""
        theirs = list(other.seeds) * (len(row.seeds) if len(other.seeds) == 1 else 1)
        mine, others = (
            [self.measure.judge(self.examples, one.answers) for one in seeds] for seeds in (row.seeds, theirs)
        )
        each = tuple(one.test - another.test for one, another in zip(row.seeds, theirs, strict=True))
        return Difference(row.labels, row.name, other.name, each, self._resampled(mine, others) if mine[0] else UNKNOWN)

    def _resampled(self, mine: Sequence[Sequence[object]], others: Sequence[Sequence[object]]) -> Interval:
        """The same examples are drawn for every seed of both."""
        metric = self.measure.metric
        columns = [metric.columns(judged) for judged in (*mine, *others)]
        shares = np.asarray([1 / len(mine)] * len(mine) + [-1 / max(len(others), 1)] * len(others))

        def statistic(sums: np.ndarray, examples: int) -> np.ndarray:
            parts = np.split(sums, len(columns), axis=-1)
            return shares @ np.stack([metric.of(part, examples) for part in parts])

        return bootstrap(np.concatenate(columns, 1), statistic)
