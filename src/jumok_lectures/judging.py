"""What seeds say together: a mean with its interval, and whether a condition of a claim is met.

A figure that is trained is measured once a seed. Its interval is that of Student's t: the mean of
the seeds lies within it of the mean of all seeds, in 95 of 100 such experiments. With three seeds
it is 2.5 sample standard deviations wide to either side, which is the price of so few.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jumok_lectures.text import Text

State = Literal["met", "unmet", "open"]
STATES = {
    "met": Text("met", "충족"),
    "unmet": Text("not met", "미충족"),
    "open": Text("undecided", "판단 불가"),
}
# Two-sided 95 % quantiles of Student's t by degrees of freedom (1, 2, ...); beyond, the normal's.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179)
NORMAL = 1.960


def mean(values: Sequence[float]) -> float:
    """The mean; of the seeds, mostly."""
    return sum(values) / len(values)


def spread(values: Sequence[float]) -> float:
    """The sample standard deviation over seeds; 0 where there is one alone."""
    if len(values) < 2:
        return 0.0
    centre = mean(values)
    variance = sum((value - centre) ** 2 for value in values) / (len(values) - 1)
    return float(variance**0.5)


def half_width(values: Sequence[float]) -> float | None:
    """Half of the 95 % interval of the mean; None for a single seed, which has none."""
    if len(values) < 2:
        return None
    freedom = len(values) - 1
    quantile = STUDENT[freedom - 1] if freedom <= len(STUDENT) else NORMAL
    return quantile * spread(values) / float(len(values) ** 0.5)


def cells(values: Sequence[float]) -> list[float | None]:
    """Two cells of a table: the mean, and half of its interval."""
    return [mean(values), half_width(values)]


def differences(left: Sequence[float], right: Sequence[float]) -> list[float]:
    """left - right, seed by seed."""
    return [one - other for one, other in zip(left, right, strict=True)]


def relative_gains(worse: Sequence[float], better: Sequence[float]) -> list[float]:
    """By what share each seed's loss is lower in `better` than in `worse`."""
    return [1.0 - one / other for one, other in zip(better, worse, strict=True)]


def with_interval(values: Sequence[float], form: str = ".2f") -> str:
    """ "0.221 ± 0.004", or the mean alone where there is one seed."""
    half, centre = half_width(values), mean(values)
    if half is None:
        return format(centre, form)
    if form.endswith("%"):  # 12 ± 3%
        return f"{format(centre, form)[:-1]} ± {format(half, form)}"
    return f"{format(centre, form)} ± {format(half, form.replace('+', ''))}"


@dataclass(frozen=True)
class Condition:
    """One thing that has to be so for the claim to hold.

    Attributes:
        name: what is measured.
        values: one a seed; a figure without chance has one alone.
        bound: what the values have to be above, or below.
        above: which of the two.
        form: how the numbers are written.
    """

    name: Text
    values: Sequence[float]
    bound: float
    above: bool = True
    form: str = ".2f"

    @property
    def state(self) -> State:
        """Met or not where the whole interval lies on one side of the bound, otherwise undecided.

        Without an interval the values alone decide. A value that is no number is not met.
        """
        if any(value != value for value in self.values):
            return "unmet"
        half = half_width(self.values) or 0.0
        centre = mean(self.values)
        beyond = centre - self.bound if self.above else self.bound - centre
        if abs(beyond) <= half:
            return "open"
        return "met" if beyond > 0.0 else "unmet"

    @property
    def needed(self) -> str:
        """ "> 0.05"."""
        return f"{'>' if self.above else '<'} {format(self.bound, self.form)}"
