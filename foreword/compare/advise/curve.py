"""How a score grows with labels, and what more of them would buy: a power law through what was measured, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foreword.basics.seeds import chance, number_of
from foreword.tasks.metrics import Metric

POWERS = (
    0.15,
    0.25,
    0.35,
    0.5,
    0.7,
    1.0,
)  # of learning curves in text (Hestness et al. 2017: 0.07 to 0.35 of the error, some more)
DRAWS = 600
FURTHEST = 4.0  # times as many labels as were tried: beyond, nothing is said


@dataclass(frozen=True)
class Point:
    labels: int
    value: float
    low: float
    high: float


def through(
    metric: Metric, labels: Sequence[int], judged: Sequence[Sequence[object]], ahead: Sequence[int]
) -> list[Point]:
    """The score with `ahead` labels. judged: for each number of labels, what was answered to the same examples.

    Examples are drawn anew, the same for all numbers of labels, and the power is drawn from those that occur: both together
    make the interval.
    """
    most = max(labels) * FURTHEST
    if any(one > most for one in ahead):
        raise ValueError(f"nothing can be said beyond {most:,.0f} labels")
    columns = [metric.columns(list(one)) for one in judged]
    examples = len(columns[0])
    rng, found = chance(number_of("curve"), examples), []
    for _ in range(DRAWS):
        draw = rng.multinomial(examples, np.full(examples, 1 / examples))
        values = np.asarray([float(metric.of(draw @ one, examples)) for one in columns])
        found.append(extended(np.asarray(labels, float), values, np.asarray(ahead, float), rng))
    table = np.asarray(found)
    low, middle, high = np.percentile(table, (2.5, 50, 97.5), axis=0)
    return [Point(*row) for row in zip(ahead, middle.tolist(), low.tolist(), high.tolist())]


def extended(labels: np.ndarray, values: np.ndarray, ahead: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One curve a - b n^-c through the points, b not negative, c chosen by lot among those that fit best."""
    spread = 0.01
    fits = []
    for power in POWERS:
        x = labels**-power
        slope, level = line(x, values)
        slope = min(slope, 0.0)
        level = float((values - slope * x).mean())
        error = float(((values - level - slope * x) ** 2).sum())
        fits.append((error, level, slope, power))
    weights = np.exp(-(np.asarray([one[0] for one in fits]) - min(one[0] for one in fits)) / (2 * spread**2))
    _, level, slope, power = fits[int(rng.choice(len(fits), p=weights / weights.sum()))]
    return np.clip(level + slope * ahead**-power, -1.0, 1.0)


def line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """(slope, value at 0) by least squares; the largest number of labels counts most, as it is what is gone on from."""
    weight = np.linspace(1.0, 2.0, len(x))
    centre, middle = np.average(x, weights=weight), np.average(y, weights=weight)
    below = float((weight * (x - centre) ** 2).sum())
    slope = float((weight * (x - centre) * (y - middle)).sum() / below) if below > 0 else 0.0
    return slope, float(middle - slope * centre)
