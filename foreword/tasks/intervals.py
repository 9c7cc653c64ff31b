"""How sure a number is: Wilson's interval for a share, the bootstrap for everything else. 95% throughout."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from foreword.basics.seeds import chance

Z = 1.959963984540054       # 95% of a normal distribution lies within so many standard deviations
DRAWS = 1000


def wilson(right: int, of: int) -> tuple[float, float]:
    """Where the true share lies, given `right` out of `of` (Wilson 1927). Never outside 0 to 1, and never a point."""
    share, z2 = right / of, Z * Z / of
    middle = (share + z2 / 2) / (1 + z2)
    half = Z / (1 + z2) * math.sqrt(share * (1 - share) / of + z2 / (4 * of))
    return max(0.0, middle - half), min(1.0, middle + half)


def bootstrap(columns: np.ndarray, statistic: Callable[[np.ndarray, int], np.ndarray], seed: int = 0) -> tuple[float, float]:
    """The middle 95% of a statistic over samples of the examples with replacement.

    columns [examples, n]: what is added up; statistic(sums [draws, n], examples) -> [draws].
    """
    examples = len(columns)
    dice = chance(seed, examples)
    sums = np.stack([dice.multinomial(examples, np.full(examples, 1 / examples)) @ columns for _ in range(DRAWS)])
    low, high = np.quantile(statistic(sums, examples), [0.025, 0.975])
    return float(low), float(high)
