"""Confidence intervals of 95 %: Wilson's of a proportion, and the bootstrap's of any score.

Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference"; Efron
and Tibshirani 1993, chapter 13 (the percentile interval).
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

RESAMPLES = 1000
SEED = 12345  # sacreBLEU's, so that all intervals of a report use the same samples
Z = 1.959963984540054  # 95 % of a normal distribution lie within this many standard deviations


def wilson(right: int, total: int) -> tuple[float, float]:
    """The interval of the proportion `right` of `total`, also for few examples and near 0 or 1."""
    share, z2 = right / total, Z * Z
    middle = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = Z / (1 + z2 / total) * math.sqrt(share * (1 - share) / total + z2 / (4 * total**2))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def interval(
    examples: int, score: Callable[[npt.NDArray[np.int64]], float], resamples: int = RESAMPLES
) -> tuple[float | None, float | None]:
    """The middle 95 % of the scores of `resamples` samples with replacement.

    Args:
        score: of the examples in these rows, with repetitions.
        resamples: 0 gives no interval: (None, None).
    """
    if not resamples:
        return None, None
    random = np.random.default_rng(SEED)
    scores = [score(random.integers(0, examples, examples)) for _ in range(resamples)]
    low, high = np.percentile(scores, [2.5, 97.5])
    return float(low), float(high)
