"""Bootstrap intervals: how much a score would change with other examples of the same kind.

Source: Efron and Tibshirani 1993, chapter 13 (the percentile interval).
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

RESAMPLES = 1000
SEED = 12345  # sacreBLEU's, so that all intervals of a report use the same samples


def interval(
    examples: int, score: Callable[[npt.NDArray[np.int64]], float], resamples: int = RESAMPLES
) -> tuple[float | None, float | None]:
    """The middle 95 % of the scores of `resamples` samples with replacement.

    Args:
        score: computes the score of the examples in these rows, with repetitions.
        resamples: 0 gives no interval: (None, None).
    """
    if not resamples:
        return None, None
    random = np.random.default_rng(SEED)
    scores = [score(random.integers(0, examples, examples)) for _ in range(resamples)]
    low, high = np.percentile(scores, [2.5, 97.5])
    return float(low), float(high)
