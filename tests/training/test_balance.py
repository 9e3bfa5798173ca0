"""Experts in training: the balancing term, and what is recorded of it."""

import math

import pytest
import torch

from jumok.attention.heard import Ear, listening_to_each
from jumok.layers.experts import ROUTED, MixtureOfExperts, balance_of
from jumok.training.learner import Learner
from jumok.training.objectives.pairs import translation
from tests.training.tiny import batches, config, model

RATE = 3e-3


def learner(trained, threads: int = 1) -> Learner:
    return Learner(trained, translation, config(), 5, torch.float32, 2, threads)


def test_the_recorded_balance_is_that_of_every_layer_and_the_loss_is_without_it():
    trained = model(experts=3, experts_balance=0.7)
    mixtures = [each for each in trained.modules() if isinstance(each, MixtureOfExperts)]
    balance, loss, targets = 0.0, 0.0, 0
    for batch in batches(1):
        heard = []
        ears = ((each, ROUTED, Ear(heard.append)) for each in mixtures)
        with listening_to_each(ears), torch.no_grad():
            loss += float(translation(trained, batch, 0.1))
        assert len(heard) == len(mixtures) == 3
        mean = sum(float(balance_of(each)) for each in heard) / 3
        balance, targets = balance + mean * batch.targets, targets + batch.targets
    update = learner(trained).update(batches(1), 1, RATE)
    assert update.balance == pytest.approx(balance / targets, rel=1e-5)
    assert update.loss == pytest.approx(loss / targets, rel=1e-5)


def test_the_term_spreads_positions_over_the_experts():
    """One expert is preferred by all; with the term the balance falls towards 1."""
    ends = []
    for factor in (0.0, 1.0):
        trained = model(experts=4, experts_used=1, experts_balance=factor)
        for each in trained.modules():
            if isinstance(each, MixtureOfExperts):
                with torch.no_grad():
                    each.router.weight[0] += 0.2
        learning = learner(trained)
        balances = [learning.update(batches(1), step, 1e-2).balance for step in range(1, 9)]
        ends.append(balances[-1])
        assert all(math.isfinite(each) for each in balances)
    assert ends[1] < ends[0] - 0.1


def test_threads_give_the_same_bits_and_other_models_have_no_balance():
    one, two = (learner(model(experts=3), threads) for threads in (1, 2))
    for step in (1, 2):
        first, second = (each.update(batches(step), step, RATE) for each in (one, two))
        assert first == second
    for name, tensor in one.state().items():
        assert torch.equal(tensor, two.state()[name]), name
    assert learner(model()).update(batches(1), 1, RATE).balance is None
