"""How sure a number is: Wilson's interval for a share, the bootstrap over examples, Student's t over seeds. 95% throughout."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from foreword.basics.packages import needed
from foreword.basics.seeds import chance

Interval = tuple[float, float]
UNKNOWN: Interval = (math.nan, math.nan)
ANYTHING: Interval = (-math.inf, math.inf)
Z = 1.959963984540054  # 95% of a normal distribution lies within so many standard deviations
DRAWS, AT_ONCE = 1000, 50


def wilson(right: int, of: int) -> Interval:
    """Where the true share lies, given `right` out of `of` (Wilson 1927). Never outside 0 to 1, and never a point."""
    share, z2 = right / of, Z * Z / of
    middle = (share + z2 / 2) / (1 + z2)
    half = Z / (1 + z2) * math.sqrt(share * (1 - share) / of + z2 / (4 * of))
    return max(0.0, middle - half), min(1.0, middle + half)


def at_least(right: int, chances: Sequence[float]) -> float:
    """How likely it is that guessing is right so often or more, where guess n is right with chances[n]: one-sided, exact."""
    likely = np.ones(1)  # of being right 0, 1, 2 ... times so far
    for chance_of_one in chances:
        likely = np.append(likely, 0.0) * (1 - chance_of_one) + np.append(0.0, likely) * chance_of_one
    return float(min(1.0, likely[right:].sum()))


def bootstrap(columns: np.ndarray, statistic: Callable[[np.ndarray, int], np.ndarray], seed: int = 0) -> Interval:
    """The middle 95% of a statistic over samples of the examples with replacement.

    columns [examples, n]: what is added up; statistic(sums [draws, n], examples) -> [draws].
    """
    examples = len(columns)
    rng, share, found = chance(seed, examples), np.full(examples, 1 / examples), []
    for _ in range(DRAWS // AT_ONCE):
        sums = np.stack([rng.multinomial(examples, share) @ columns for _ in range(AT_ONCE)])
        found.append(statistic(sums, examples))
    low, high = np.quantile(np.concatenate(found), [0.025, 0.975])
    return float(low), float(high)


def spread(numbers: Sequence[float]) -> float:
    """The standard deviation of what these are a sample of; not a number for one alone."""
    return float(np.std(numbers, ddof=1)) if len(numbers) > 1 else math.nan


def over_seeds(numbers: Sequence[float], within: Interval = ANYTHING) -> Interval:
    """Where the mean over all seeds lies, given so many of them (Student's t); never where no value can be."""
    if len(numbers) < 2:
        return UNKNOWN
    student = needed("scipy.stats", "transfer", "intervals over seeds need").t
    half = float(student.ppf(0.975, len(numbers) - 1)) * spread(numbers) / math.sqrt(len(numbers))
    middle = float(np.mean(numbers))
    return max(middle - half, within[0]), min(middle + half, within[1])
