"""Where two curves meet, and how they grow."""

import pytest

from jumok.lab.experiments import parallel


def test_times_that_grow_with_the_square_have_a_slope_of_two() -> None:
    assert parallel.slope((8, 16, 32), [1.0, 4.0, 16.0]) == pytest.approx(2.0)
    assert parallel.slope((8, 16, 32), [3.0, 6.0, 12.0]) == pytest.approx(1.0)


def test_the_quadratic_overtakes_the_linear_where_they_are_equal() -> None:
    lengths = (8, 16, 32, 64, 128)
    attention, rnn = [n * n / 48 for n in lengths], [float(n) for n in lengths]
    # n^2 / 48 = n at 48; between 32 and 64 both are powers of n, so the meeting is exact.
    assert parallel.crossing(lengths, attention, rnn) == pytest.approx(48.0)
    assert parallel.crossing(lengths, [0.5 * each for each in rnn], rnn) is None


def test_the_report_says_when_the_cost_never_overtakes() -> None:
    lengths = (32, 64, 128)
    found = parallel.report(lengths, [2.0, 4.0, 8.0], [1.0, 2.0, 4.0])
    assert found.outcome == "holds"
    assert "beyond the longest" in found.sentence.en
    assert "2.0 times as fast" in found.sentence.en
