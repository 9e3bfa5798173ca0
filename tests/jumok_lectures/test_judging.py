"""Means of seeds, their intervals, and what a condition makes of them."""

import pytest

from jumok_lectures.findings import Findings
from jumok_lectures.judging import Condition, half_width, relative_gains, spread, with_interval
from jumok_lectures.text import Text

NAME = Text("figure", "수치")


def condition(*values: float, bound: float = 0.5, above: bool = True) -> Condition:
    return Condition(NAME, values, bound, above)


def test_the_interval_is_students() -> None:
    # 1, 2, 3: sample deviation 1, t with 2 degrees of freedom 4.303: 4.303 / sqrt 3.
    assert spread([1.0, 2.0, 3.0]) == pytest.approx(1.0)
    assert half_width([1.0, 2.0, 3.0]) == pytest.approx(2.4843, abs=1e-4)
    assert half_width([1.0]) is None
    assert half_width([0.0, 1.0] * 20) == pytest.approx(1.96 * 0.50637 / 40**0.5, abs=1e-4)


def test_a_figure_is_written_with_its_interval() -> None:
    assert with_interval([1.0, 2.0, 3.0], ".1f") == "2.0 ± 2.5"
    assert with_interval([0.25], ".2f") == "0.25"
    assert with_interval([0.2, 0.2], ".0%") == "20 ± 0%"
    assert with_interval([1.0, 2.0, 3.0], "+.1f") == "+2.0 ± 2.5"


def test_a_condition_is_met_where_its_whole_interval_is_beyond_the_bound() -> None:
    assert condition(0.8, 0.9, 0.85).state == "met"
    assert condition(0.1, 0.2, 0.15).state == "unmet"
    assert condition(0.1, 0.9, 0.8).state == "open"  # two of three seeds are not enough
    assert condition(0.1, 0.2, 0.15, above=False).state == "met"
    assert condition(0.5, 0.5, 0.5).state == "open"  # on the bound is not beyond it
    assert condition(0.6).state == "met"
    assert condition(0.9, float("nan"), 0.9).state == "unmet"
    assert condition(1.0).needed == "> 0.50"


def test_gains_are_paired_by_seed() -> None:
    assert relative_gains([1.0, 2.0], [0.5, 1.5]) == pytest.approx([0.5, 0.25])
    with pytest.raises(ValueError, match="zip"):
        relative_gains([1.0], [0.5, 1.5])


def findings(*conditions: Condition) -> Findings:
    return Findings((), (), {}, conditions, Text("It is so.", "그렇습니다."), ())


def test_the_verdict_is_computed_from_all_conditions() -> None:
    met, unmet, undecided = condition(0.9), condition(0.1), condition(0.1, 0.9, 0.8)
    assert findings(met, met).outcome == "holds"
    assert findings(met, undecided).outcome == "partly"
    assert findings(met, unmet).outcome == "partly"
    assert findings(unmet, undecided).outcome == "open"
    assert findings(unmet, unmet).outcome == "fails"
    assert findings().outcome is None
    assert findings().verdict("en") == "It is so."
    assert findings(unmet).verdict("en") == (
        "The claim does not hold here. Its only condition is not met. It is so."
    )


def test_a_reader_sees_what_was_measured_and_what_was_needed() -> None:
    headings, rows = findings(condition(0.8, 0.9, 0.85)).judged("en")
    assert headings[:4] == ["condition of the claim", "measured", "range of the seeds", "needed"]
    assert rows == [["figure", "0.85 ± 0.12", "0.80 … 0.90", "> 0.50", "met"]]
