"""What judged answers are worth together. Every metric is a function of sums over examples, so all can be resampled alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foreword.basics.packages import needed
from foreword.tasks.confidence import Interval, bootstrap, wilson
from foreword.text.words import has_chinese


class Metric:
    """A function of sums; `scale` 100 shows it as a percentage."""

    def __init__(self, scale: float = 100.0, digits: int = 1, unit: str = ""):
        self.scale, self.digits, self.unit = scale, digits, unit

    def columns(self, judged: Sequence[object]) -> np.ndarray:
        """[examples, n]: of each example what is to be added up."""
        return np.asarray(judged, np.float64).reshape(len(judged), -1)

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        """The metric from the sums [..., n]."""
        raise NotImplementedError

    def interval(self, judged: Sequence[object]) -> Interval:
        return bootstrap(self.columns(judged), self.of)

    def shown(self, value: float) -> str:
        return f"{value * self.scale:.{self.digits}f}{self.unit}"


class Mean(Metric):
    """The average of one number per example."""

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        return sums[..., 0] / examples


class Proportion(Mean):
    """How many are right: each example True or False."""

    def interval(self, judged: Sequence[object]) -> Interval:
        return wilson(sum(map(bool, judged)), len(judged))


class Perplexity(Metric):
    """exp of the mean cost; each example its nats."""

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(sums[..., 0] / examples)

    def shown(self, value: float) -> str:
        return f"{value:,.{2 if value < 1000 else 0}f}" if value < 1e6 else f"{value:.1e}"


class Confusion(Metric):
    """What a table of (gold, guess) counts is worth; each example (guess, gold) as places among the labels."""

    def __init__(self, labels: int = 2):
        super().__init__()
        self.labels = labels

    def columns(self, judged: Sequence[object]) -> np.ndarray:
        guess, gold = np.asarray(judged, np.int64).reshape(-1, 2).T
        found = np.zeros((len(guess), self.labels * self.labels))
        found[np.arange(len(guess)), gold * self.labels + guess] = 1
        return found

    def table(self, sums: np.ndarray) -> np.ndarray:
        return np.asarray(sums, np.float64).reshape(*sums.shape[:-1], self.labels, self.labels)


class MacroF1(Confusion):
    """The mean over classes of F1. A class that is neither there nor guessed does not count."""

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        f1, there = _f1_by_class(self.table(sums))
        return (f1 * there).sum(-1) / np.maximum(there.sum(-1), 1)


class BinaryF1(Confusion):
    """F1 of the last of two labels."""

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        return _f1_by_class(self.table(sums))[0][..., -1]


class Matthews(Confusion):
    """Matthews correlation for any number of classes (Gorodkin 2004); 0 where all is one class."""

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        table = self.table(sums)
        right, whole = np.trace(table, axis1=-2, axis2=-1), table.sum((-2, -1))
        gold, guess = table.sum(-1), table.sum(-2)
        below = (whole**2 - (guess**2).sum(-1)) * (whole**2 - (gold**2).sum(-1))
        return np.where(
            below > 0, (right * whole - (gold * guess).sum(-1)) / np.sqrt(np.where(below > 0, below, 1)), 0.0
        )


def _f1_by_class(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(F1 of each class, whether it is there or guessed), [..., labels]."""
    right, all_of = np.diagonal(table, axis1=-2, axis2=-1), table.sum(-1) + table.sum(-2)
    return 2 * right / np.maximum(all_of, 1), all_of > 0


class Pearson(Metric):
    """Correlation of two numbers; each example (guess, gold). 0 where one of them never changes."""

    def columns(self, judged: Sequence[object]) -> np.ndarray:
        pairs = self.ready(np.asarray(judged, np.float64).reshape(-1, 2))
        x, y = (pairs - pairs.mean(0)).T  # centred first: sums of squares far from 0 lose digits
        return np.stack([x, y, x * x, y * y, x * y], 1)

    def ready(self, pairs: np.ndarray) -> np.ndarray:
        return pairs

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        x, y, xx, yy, xy = np.moveaxis(np.asarray(sums, np.float64), -1, 0) / examples
        spread = np.sqrt(np.maximum(xx - x * x, 0) * np.maximum(yy - y * y, 0))
        return np.where(spread > 1e-12, (xy - x * y) / np.where(spread > 1e-12, spread, 1), 0.0)


class Spearman(Pearson):
    """The same of ranks, equal numbers sharing theirs. Its interval keeps the ranks of the whole sample."""

    def ready(self, pairs: np.ndarray) -> np.ndarray:
        return np.stack([_ranks(column) for column in pairs.T], 1)


def _ranks(numbers: np.ndarray) -> np.ndarray:
    _, place, times = np.unique(numbers, return_inverse=True, return_counts=True)
    return (np.cumsum(times) - (times - 1) / 2)[place]


class OverlapF1(Metric):
    """F1 of things found; each example (shared, guessed, right). 1 where there is nothing and nothing is said."""

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        shared, guessed, right = np.moveaxis(np.asarray(sums, np.float64), -1, 0)
        return np.where(guessed + right > 0, 2 * shared / np.maximum(guessed + right, 1), 1.0)


class PooledAccuracy(Metric):
    """Right of all; each example (right, all)."""

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        return sums[..., 0] / np.maximum(sums[..., 1], 1)


class Bleu(Metric):
    """BLEU of the whole set by sacrebleu; each example (what was written, [references])."""

    def __init__(self, digits: int = 1, chinese: bool = False):
        super().__init__(scale=1.0, digits=digits)
        library = needed("sacrebleu.metrics", "tasks", "BLEU needs").BLEU
        self.library = library(effective_order=False)
        self.chinese = library(effective_order=False, tokenize="zh") if chinese else self.library  # by characters

    def columns(self, judged: Sequence[Any]) -> np.ndarray:
        found = []
        for text, references in judged:
            library = self.chinese if has_chinese(references[0]) else self.library
            found.append(library.corpus_score([text], [[one] for one in references]))
        return np.asarray([[*one.counts, *one.totals, one.sys_len, one.ref_len] for one in found], np.float64)

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        rows = np.asarray(sums, np.float64).reshape(-1, sums.shape[-1])
        n = (rows.shape[1] - 2) // 2
        compute, smooth = self.library.compute_bleu, self.library.smooth_method
        counts = [(list(row[:n]), list(row[n : 2 * n]), int(row[-2]), int(row[-1])) for row in rows]
        return np.asarray([compute(*one, smooth_method=smooth).score for one in counts]).reshape(sums.shape[:-1])


def value(metric: Metric, judged: Sequence[object]) -> float:
    """The metric over all examples."""
    return float(metric.of(metric.columns(judged).sum(0), len(judged)))


@dataclass(frozen=True)
class PairedDifference:
    """How much more one is than another on the same examples, and where that lies when these are drawn again for both."""

    metric: Metric
    value: float
    interval: Interval

    @property
    def sign(self) -> int:
        """1: significantly more; -1: less; 0: it could be either."""
        return 1 if self.interval[0] > 0 else -1 if self.interval[1] < 0 else 0

    @property
    def cells(self) -> tuple[str, str]:
        """The difference and its interval, as the metric writes numbers."""
        return signed(self.metric, self.value), between(self.metric, self.interval, True)


def difference(metric: Metric, first: Sequence[object], second: Sequence[object], seed: int = 0) -> PairedDifference:
    """second - first."""
    a, b = metric.columns(first), metric.columns(second)
    n = a.shape[1]

    def apart(sums: np.ndarray, examples: int) -> np.ndarray:
        return metric.of(sums[..., n:], examples) - metric.of(sums[..., :n], examples)

    both = np.concatenate([a, b], 1)
    return PairedDifference(metric, float(apart(both.sum(0), len(both))), bootstrap(both, apart, seed))


def signed(metric: Metric, value: float) -> str:
    """A difference as the metric writes numbers."""
    return ("+" if value >= 0 else "-") + metric.shown(abs(value)) if math.isfinite(value) else "-"


def between(metric: Metric, bounds: Interval, differ: bool = False) -> str:
    """An interval as the metric writes numbers; `differ`: of a difference."""
    if math.isnan(bounds[0]):
        return "-"
    return " to ".join(signed(metric, bound) if differ else metric.shown(bound) for bound in bounds)


def finite(number: float) -> float | None:
    """For JSON, which has no infinity."""
    return number if math.isfinite(number) else None


def finite_bounds(bounds: Interval) -> list[float | None]:
    return [finite(one) for one in bounds]
