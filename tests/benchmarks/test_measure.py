"""The benchmarks' arithmetic, on figures that can be redone in the head."""

import pytest

from benchmarks.measure import Point, after_warm_up, median_ratio, rate_between, rate_of


def test_rate_between_divides_tokens_by_cpu_seconds() -> None:
    assert rate_between(Point(100.0, 2.0), Point(800.0, 9.0)) == 100.0


def test_warm_up_counts_from_the_first_progress_and_not_from_the_start() -> None:
    points = [Point(0.0, 20.0), Point(10.0, 23.0), Point(20.0, 25.0), Point(30.0, 29.0)]
    assert after_warm_up(points, 5.0) == points[2:]


def test_nothing_is_measured_before_the_first_progress() -> None:
    assert after_warm_up([], 5.0) == []


def test_rate_leaves_out_what_came_before_its_first_point() -> None:
    # 3,000 tokens of start-up would make it (3,000 + 600) / 6 = 600 and not 100.
    rate = rate_of([Point(3000.0, 50.0), Point(3200.0, 52.0), Point(3600.0, 56.0)])
    assert rate.tokens_per_cpu_second == 100.0
    assert (rate.tokens, rate.cpu_seconds) == (600.0, 6.0)


def test_windows_show_the_slowest_and_the_fastest_stretch() -> None:
    # Two windows of 4 CPU-seconds: 40 tokens in the first, 120 in the second.
    points = [Point(0.0, 0.0), Point(20.0, 2.0), Point(40.0, 4.0), Point(100.0, 6.0)]
    rate = rate_of([*points, Point(160.0, 8.0)], windows=2)
    assert (rate.slowest, rate.tokens_per_cpu_second, rate.fastest) == (10.0, 20.0, 30.0)


def test_median_ratio_pairs_the_rounds() -> None:
    # 6/2, 10/5 and 7/7: a slow second round slows both halves of its pair.
    assert median_ratio([6.0, 10.0, 7.0], [2.0, 5.0, 7.0]) == 2.0


def test_median_ratio_refuses_rounds_that_do_not_pair() -> None:
    with pytest.raises(ValueError, match="shorter"):
        median_ratio([1.0, 2.0], [1.0])
