"""Learning rates that can be computed by hand."""

import math

import pytest

from jumok.config import ScheduleConfig
from jumok.config.training import TrainingConfig
from jumok.training.optimization.schedule import learning_rate


def test_warmup_rises_in_a_straight_line():
    schedule = ScheduleConfig(kind="constant", warmup=5)
    rates = [learning_rate(schedule, 10.0, step, 0.0) for step in (1, 2, 5, 6, 1000)]
    assert rates == pytest.approx([2.0, 4.0, 10.0, 10.0, 10.0])


def test_no_warmup_starts_at_the_peak():
    assert learning_rate(ScheduleConfig(kind="constant", warmup=0), 3.0, 1, 0.0) == 3.0


def test_inverse_sqrt_halves_at_four_times_the_warmup():
    schedule = ScheduleConfig(kind="inverse-sqrt", warmup=100)
    rates = [learning_rate(schedule, 8.0, step, 0.9) for step in (50, 100, 400, 1600)]
    assert rates == pytest.approx([4.0, 8.0, 4.0, 2.0])


def test_inverse_sqrt_equals_the_formula_of_the_paper():
    # Vaswani et al. 2017, equation 3: d^-0.5 min(step^-0.5, step warmup^-1.5), d 512, warmup 4000
    schedule = ScheduleConfig(kind="inverse-sqrt", warmup=4000)
    peak = 512**-0.5 * 4000**-0.5
    for step in (1, 1999, 4000, 4001, 100_000):
        paper = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert learning_rate(schedule, peak, step, 0.5) == pytest.approx(paper)


def test_cosine_is_half_way_at_half_time():
    schedule = ScheduleConfig(kind="cosine", warmup=0, final_share=0.2)
    rates = [learning_rate(schedule, 1.0, 7, share) for share in (0.0, 1 / 3, 0.5, 1.0, 1.5)]
    # cos 60 degrees = 1/2: 0.2 + 0.8 x 0.75
    assert rates == pytest.approx([1.0, 0.8, 0.6, 0.2, 0.2])


def test_warmup_stable_decay_is_flat_and_then_a_line():
    schedule = ScheduleConfig(
        kind="warmup-stable-decay", warmup=10, decay_share=0.25, final_share=0.1
    )
    rates = [
        learning_rate(schedule, 1.0, step, share)
        for step, share in ((5, 0.005), (500, 0.5), (750, 0.75), (875, 0.875), (1000, 1.0))
    ]
    assert rates == pytest.approx([0.5, 1.0, 1.0, 0.55, 0.1])


def test_a_decay_share_of_zero_never_decays():
    schedule = ScheduleConfig(kind="warmup-stable-decay", warmup=0, decay_share=0.0)
    assert learning_rate(schedule, 2.0, 9, 1.0) == 2.0


@pytest.mark.parametrize("kind", ["constant", "inverse-sqrt", "cosine", "warmup-stable-decay"])
def test_every_rate_is_positive_and_below_the_peak(kind):
    schedule = ScheduleConfig(kind=kind, warmup=3)
    rates = [learning_rate(schedule, 1.0, step, step / 100) for step in range(1, 101)]
    assert all(0.0 < rate <= 1.0 and math.isfinite(rate) for rate in rates)


KINDS = ["constant", "inverse-sqrt", "cosine", "warmup-stable-decay"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steps", [30, 84, 925, 100_000])
def test_a_timed_run_comes_to_its_peak_however_few_steps_the_time_holds(kind, steps):
    """The warmup of 500 steps was more than all of three minutes on a busy machine."""
    schedule = ScheduleConfig(kind=kind, warmup=500)
    rates = [
        learning_rate(schedule, 1.0, step, (step - 1) / steps, timed=True)
        for step in range(1, steps + 1)
    ]
    highest = max(rates)
    assert highest > 0.9  # a cosine has fallen to 0.976 when a tenth is over
    assert rates.index(highest) <= min(500, steps // 10 + 1)
    rising = rates[: rates.index(highest) + 1]
    assert rising == sorted(rising)
    assert rates[rates.index(highest) :] == sorted(rates[rates.index(highest) :], reverse=True)


def test_the_warmup_of_a_timed_run_ends_after_its_steps_or_its_share_whichever_is_first():
    schedule = ScheduleConfig(kind="constant", warmup=10, warmup_share=0.2)
    rates = [
        learning_rate(schedule, 1.0, step, share, timed=True)
        for step, share in ((1, 0.0), (5, 0.0), (10, 0.01), (1, 0.1), (2, 0.2), (3, 0.9))
    ]
    assert rates == pytest.approx([0.1, 0.5, 1.0, 0.5, 1.0, 1.0])


def test_inverse_sqrt_falls_from_where_the_clock_ended_the_warmup():
    schedule = ScheduleConfig(kind="inverse-sqrt", warmup=500)
    rates = [
        learning_rate(schedule, 1.0, step, share, timed=True)
        for step, share in ((9, 0.1), (36, 0.4), (81, 0.9))
    ]
    assert rates == pytest.approx([1.0, 1 / 2, 1 / 3])


def test_the_clock_does_not_touch_a_run_of_steps():
    schedule = ScheduleConfig(kind="constant", warmup=500)
    assert learning_rate(schedule, 1.0, 50, 0.9) == pytest.approx(0.1)


def test_minutes_alone_are_not_ended_by_the_default_of_steps():
    assert TrainingConfig(minutes=5).step_limit is None
    assert TrainingConfig(minutes=5, steps=8000).step_limit == 8000
    assert TrainingConfig().step_limit == 8000
