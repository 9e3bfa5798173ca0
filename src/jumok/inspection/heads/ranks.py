"""Rank correlation: the agreement of two measures on the order of their values.

Source: Spearman 1904, The proof and measurement of association between two things; used on
measures of attention by Jain and Wallace 2019, Attention is not explanation, section 4.1.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating]


def ranks(values: FloatArray) -> npt.NDArray[np.float64]:
    """Each value's rank, the smallest first, from 1; equal values share the mean of their ranks."""
    _, which, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)  # of a group of equal values
    return (last - (count - 1) / 2)[which]


def spearman(first: FloatArray, second: FloatArray) -> float:
    """Pearson's correlation of the ranks, -1 to 1; NaN where all values of one side are equal."""
    if not len(first):
        return float("nan")
    return _correlation(*(_centred(ranks(each)) for each in (first, second)))


def rank_correlations(measures: Sequence[FloatArray]) -> npt.NDArray[np.float64]:
    """`spearman` for every pair of measures: (measures, measures)."""
    if not len(measures[0]):
        return np.full((len(measures), len(measures)), np.nan)
    centred = [_centred(ranks(each)) for each in measures]  # each is ranked once
    return np.array([[_correlation(first, second) for second in centred] for first in centred])


def _centred(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    centred: npt.NDArray[np.float64] = values - values.mean()
    return centred


def _correlation(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    """Pearson's, of numbers whose mean is 0; NaN where all values of one side are equal."""
    sizes = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / sizes if sizes else float("nan")
