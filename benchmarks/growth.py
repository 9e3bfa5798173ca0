"""Whether something grows: a straight line through measured values, and how certain its rise is."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

GROUPS = 12
"""Measured values that follow each other resemble each other, and would make the line look more
certain than it is. Means of so many groups of them hardly do."""


@dataclass(frozen=True)
class Growth:
    """A rise an hour by least squares, and its standard error in the same unit.

    Attributes:
        grows: whether the rise is larger than three standard errors.
    """

    an_hour: float
    error: float

    @property
    def grows(self) -> bool:
        return self.an_hour > 3 * self.error


def growth(seconds: Sequence[float], values: Sequence[float]) -> Growth:
    """The line through the means of GROUPS groups of values, or of all where there are fewer.

    Args:
        seconds: when each value was measured, in ascending order.

    Raises:
        ValueError: there are fewer than three values, through which any line is certain.
    """
    if len(values) < 3:
        raise ValueError(f"a rise needs three values or more, and there are {len(values)}")
    count = min(GROUPS, len(values))
    edges = [len(values) * group // count for group in range(count + 1)]
    ranges = [slice(first, end) for first, end in pairwise(edges)]
    hours = [fmean(seconds[each]) / 3600 for each in ranges]
    means = [fmean(values[each]) for each in ranges]
    middle, level = fmean(hours), fmean(means)
    spread = sum((hour - middle) ** 2 for hour in hours)
    pairs = list(zip(hours, means, strict=True))
    rise = sum((hour - middle) * (mean - level) for hour, mean in pairs) / spread
    rest = sum((mean - level - rise * (hour - middle)) ** 2 for hour, mean in pairs)
    return Growth(rise, (rest / (count - 2) / spread) ** 0.5)
