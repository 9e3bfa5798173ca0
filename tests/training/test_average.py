"""Averaged weights, by hand."""

import pytest
import torch

from jumok.config import AverageConfig
from jumok.training.optimization.average import Average


def weights(*values: float) -> torch.Tensor:
    return torch.tensor(values)


def test_ema_forgets_its_beginning_soon_and_keeps_to_its_decay_later():
    """d = min(0.25, (1 + t) / (10 + t)): 2/11, then 3/12, then 0.25 of 4/13."""
    average = Average(AverageConfig(kind="ema", decay=0.25), weights(11.0))
    average.follow(weights(22.0), step=1)
    assert float(average.weights(weights(22.0))) == pytest.approx(11 * 2 / 11 + 22 * 9 / 11)
    average.follow(weights(8.0), step=2)
    assert float(average.weights(weights(8.0))) == pytest.approx(20 / 4 + 8 * 3 / 4)
    average.follow(weights(3.0), step=3)
    assert float(average.weights(weights(3.0))) == pytest.approx(11 / 4 + 3 * 3 / 4)


def test_ema_begins_with_the_weights_and_is_none_of_them():
    first = weights(5.0)
    average = Average(AverageConfig(kind="ema"), first)
    assert float(average.weights(weights(9.0))) == 5
    first.fill_(7.0)
    assert float(average.weights(weights(9.0))) == 5


def test_last_is_the_mean_of_the_latest_snapshots():
    average = Average(AverageConfig(kind="last", last=2), weights(0.0))
    assert float(average.weights(weights(9.0))) == 9  # none yet: the weights themselves
    running = weights(3.0)
    average.snapshot(running)
    running.fill_(100.0)  # a snapshot stays as it was
    assert float(average.weights(running)) == 3
    average.snapshot(weights(5.0))
    average.snapshot(weights(11.0))
    assert float(average.weights(running)) == 8
    average.follow(weights(1000.0), step=1)  # steps between validations count for nothing
    assert float(average.weights(running)) == 8


def test_none_is_the_weights_themselves():
    average = Average(AverageConfig(kind="none"), weights(0.0))
    average.follow(weights(3.0), step=1)
    average.snapshot(weights(5.0))
    assert float(average.weights(weights(7.0))) == 7
    assert average.state() == {}


@pytest.mark.parametrize("kind", ["ema", "last", "none"])
def test_state_restores_the_average(kind):
    config = AverageConfig(kind=kind, last=2)
    average = Average(config, weights(2.0))
    for step in (1, 2, 3):
        average.follow(weights(step * 5.0), step)
        average.snapshot(weights(step * 7.0))
    kept = {name: tensor.clone() for name, tensor in average.state().items()}
    other = Average(config, weights(0.0))
    other.snapshot(weights(1000.0))
    other.load_state(kept)
    now = weights(9.0)
    assert torch.equal(other.weights(now), average.weights(now))
    for follower in (average, other):
        follower.follow(weights(13.0), 4)
        follower.snapshot(weights(17.0))
    assert torch.equal(other.weights(now), average.weights(now))
