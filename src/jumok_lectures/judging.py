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
# Why a condition is undecided.
INTERVAL = Text("undecided: the interval contains the bound", "판단 불가: 신뢰구간에 기준값이 있음")
SEEDS = Text(
    "undecided: the state differs with other seeds", "판단 불가: 다른 시드에서 판정이 다름"
)
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


def number(value: float, form: str) -> str:
    """The value in a form of `format`; in ".0points" 0.25 is 25 (percentage points).

    0 has no power of ten, and a number that rounds to 0 has no minus.
    """
    if form.endswith("e") and value == 0.0:
        return "0"
    if form.endswith("points"):
        value, form = 100 * value, form.removesuffix("points") + "f"
    text = format(value, form)
    rounded = text.startswith("-") and not text.strip("-0.%")
    return format(abs(value), form) if rounded else text


def with_interval(values: Sequence[float], form: str = ".2f") -> str:
    """ "0.221 ± 0.004", or the mean alone where there is one seed."""
    half, centre = half_width(values), number(mean(values), form)
    if half is None:
        return centre
    return f"{centre.removesuffix('%')} ± {number(half, form.replace('+', ''))}"  # 12 ± 3%


def in_words(values: Sequence[float], form: str = ".2f") -> str:
    """The same for a sentence: without an interval that rounds to 0, too."""
    half = half_width(values)
    if half is None or number(half, form) == number(0.0, form):
        return number(mean(values), form)
    return with_interval(values, form)


def compared(gains: Sequence[float] | float, form: str = ".0%") -> Text:
    """How much lower or higher a value is: "9 ± 4% lower"; in Korean a stem, "9 ± 4% 낮".

    Args:
        gains: the shares by which it is lower, one a seed; negative where it is higher.
    """
    values = [gains] if isinstance(gains, float | int) else gains
    none, centre, half = number(0.0, form), mean(values), half_width(values) or 0.0
    if number(abs(centre), form) != none:
        amount = in_words([each if centre > 0.0 else -each for each in values], form)
        english, korean = ("lower", "낮") if centre > 0.0 else ("higher", "높")
        return Text(f"{amount} {english}", f"{amount} {korean}")
    if number(half, form) != none:
        return Text(f"the same within {number(half, form)}", f"{number(half, form)} 안에서 같")
    return Text("the same", "같")


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
        return f"{'>' if self.above else '<'} {number(self.bound, self.form)}"
