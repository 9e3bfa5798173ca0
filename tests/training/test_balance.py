"""Experts in training: the balancing term, and what is recorded of it."""

import pytest
import torch

from jumok.attention.events import Listener, listening_to_each
from jumok.layers.experts import ROUTED, MixtureOfExperts, balance_of, record_balance
from jumok.training.learner import Learner
from jumok.training.objectives import translation
from tests.training.tiny import assert_same_bits, batches, config, model

RATE = 3e-3


def learner(trained, threads: int = 1) -> Learner:
    return Learner(trained, translation, config(), 5, torch.float32, 2, threads)


def test_the_recorded_balance_is_that_of_every_layer_and_the_loss_is_without_it():
    trained = model(experts=3, experts_balance=0.7)
    mixtures = [each for each in trained.modules() if isinstance(each, MixtureOfExperts)]
    balance, loss, targets = 0.0, 0.0, 0
    for batch in batches(1):
        heard = []
        ears = ((each, ROUTED, Listener(heard.append)) for each in mixtures)
        with listening_to_each(ears), torch.no_grad():
            loss += float(translation(trained, batch, 0.1))
        assert len(heard) == len(mixtures) == 3
        mean = sum(float(balance_of(each)) for each in heard) / 3
        balance, targets = balance + mean * batch.targets, targets + batch.targets
    update = learner(trained).update(batches(1), 1, RATE)
    assert update.balance == pytest.approx(balance / targets, rel=1e-5)
    assert update.loss == pytest.approx(loss / targets, rel=1e-5)


def test_the_term_spreads_positions_over_the_experts():
    """The router prefers one expert; what follows the gradient of the term alone uses all."""
    torch.manual_seed(1)
    mixture = MixtureOfExperts(16, torch.nn.Identity, 4, 1, 0.5)
    states = torch.randn(1, 200, 16)
    states[..., 0] = 1.0  # a constant, by which the router can prefer one
    with torch.no_grad():
        mixture.router.weight[0, 0] = 4.0
    optimizer, balances = torch.optim.SGD([mixture.router.weight], lr=4.0), []
    for _ in range(30):
        with record_balance(mixture) as balance:
            mixture(states)
        balances.append(float(balance.mean.detach()))
        assert float(balance.term.detach()) == pytest.approx(0.5 * balances[-1])
        optimizer.zero_grad()
        balance.term.backward()
        optimizer.step()
    assert balances[0] > 2.0
    assert balances[-1] < 1.1


def test_threads_give_the_same_bits_and_other_models_have_no_balance():
    one, two = (learner(model(experts=3), threads) for threads in (1, 2))
    for step in (1, 2):
        first, second = (each.update(batches(step), step, RATE) for each in (one, two))
        assert first == second
    assert_same_bits(one.state(), two.state())
    assert learner(model()).update(batches(1), 1, RATE).balance is None
