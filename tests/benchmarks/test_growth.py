"""Whether memory grows: a straight line, and how certain it is."""

import random

import pytest

from benchmarks.growth import growth

HOUR = [60.0 * minute for minute in range(60)]


def test_a_line_is_found_without_an_error():
    rise = growth(HOUR, [100.0 + 7.0 * at / 3600 for at in HOUR])
    assert rise.an_hour == pytest.approx(7.0)
    assert rise.error == pytest.approx(0.0, abs=1e-9)
    assert rise.grows


def test_the_rise_of_three_values_is_that_of_hand_computation():
    """The means are 0, 1 and 5 at 0, 1 and 2 hours: rise 2.5, rest (0.5, -1, 0.5)."""
    rise = growth([0.0, 3600.0, 7200.0], [0.0, 1.0, 5.0])
    assert rise.an_hour == pytest.approx(2.5)
    assert rise.error == pytest.approx((1.5 / 1 / 2) ** 0.5)
    assert not rise.grows


def test_noise_is_not_a_rise_and_a_small_rise_is_found_in_it():
    draw = random.Random(1)
    noise = [1000.0 + draw.gauss(0.0, 5.0) for _ in HOUR]
    assert not growth(HOUR, noise).grows
    risen = growth(HOUR, [value + 30.0 * at / 3600 for value, at in zip(noise, HOUR, strict=True)])
    assert risen.grows
    assert abs(risen.an_hour - 30.0) < 3 * risen.error


def test_two_values_are_refused():
    with pytest.raises(ValueError, match="three values or more, and there are 2"):
        growth([0.0, 1.0], [1.0, 2.0])
