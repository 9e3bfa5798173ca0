"""A mixture of experts against Hugging Face's Mixtral, and its balance."""

import pytest
import torch
from transformers import MixtralConfig
from transformers.models.mixtral.modeling_mixtral import (
    MixtralSparseMoeBlock,
    load_balancing_loss_func,
)

from jumok.attention.events import Listener, listening_to
from jumok.config.causal import CausalConfig
from jumok.kernels.noise import Noise
from jumok.layers.dropout import Dropout
from jumok.layers.experts import ROUTED, MixtureOfExperts, Routing, balance_of
from jumok.layers.feedforward import GatedFeedForward
from tests.kernels.twins import assert_same_gradients

DIM, HIDDEN, EXPERTS, USED = 13, 17, 5, 2


def expert() -> GatedFeedForward:
    return GatedFeedForward(DIM, HIDDEN, "silu", Dropout(0.0, Noise()), False)


@torch.no_grad()
def both() -> tuple[MixtureOfExperts, MixtralSparseMoeBlock]:
    torch.manual_seed(1)
    config = MixtralConfig(
        hidden_size=DIM,
        intermediate_size=HIDDEN,
        num_local_experts=EXPERTS,
        num_experts_per_tok=USED,
        num_attention_heads=1,
        experts_implementation="eager",
    )
    theirs = MixtralSparseMoeBlock(config)
    for parameter in theirs.parameters():
        parameter.normal_(std=0.5)
    ours = MixtureOfExperts(DIM, expert, EXPERTS, USED, 0.01)
    ours.router.weight.copy_(theirs.gate.weight)
    for number, each in enumerate(ours.experts):
        gate, inner = theirs.experts.gate_up_proj[number].chunk(2)
        each.gate.weight.copy_(gate)
        each.inner.weight.copy_(inner)
        each.outer.weight.copy_(theirs.experts.down_proj[number])
    return ours, theirs.eval()


def test_outputs_and_gradients_are_those_of_mixtral():
    ours, theirs = both()
    states = torch.randn(2, 31, DIM).requires_grad_()
    found, expected = ours(states), theirs(states)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    mine, other = (states, ours.router.weight), (states, theirs.gate.weight)
    assert_same_gradients(found, expected, mine, other, atol=1e-4)


def test_no_position_is_dropped_and_none_depends_on_the_others():
    ours, _ = both()
    torch.nn.init.zeros_(ours.router.weight)  # all want the same experts
    states = torch.randn(3, 11, DIM)
    whole = ours(states)
    alone = torch.stack([ours(row[None, None])[0, 0] for row in states.flatten(0, 1)])
    torch.testing.assert_close(whole.flatten(0, 1), alone, atol=1e-4, rtol=0)
    assert bool(whole.flatten(0, 1).any(dim=1).all())


def test_the_balance_is_that_of_switch_transformers():
    """Theirs counts every choice of a position: it is `used` times ours."""
    ours, theirs = both()
    states, heard = torch.randn(2, 31, DIM), []
    with listening_to(ours, {ROUTED: Listener(heard.append)}):
        ours(states)
    (routing,) = heard
    assert isinstance(routing, Routing)
    logits, _, chosen = theirs.gate(states)
    assert torch.equal(routing.chosen, chosen)
    expected = load_balancing_loss_func((logits,), EXPERTS, USED)
    torch.testing.assert_close(USED * balance_of(routing), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("chosen", "expected"), [([[0], [1], [2]], 1.0), ([[0], [0], [0]], 3.0)])
def test_the_balance_is_one_when_all_are_equal_and_their_number_at_worst(chosen, expected):
    probabilities = torch.nn.functional.one_hot(torch.tensor(chosen)[:, 0], 3).float()
    found = balance_of(Routing(probabilities, torch.tensor(chosen)))
    assert found.item() == pytest.approx(expected)


def test_more_experts_used_than_there_are_is_said():
    with pytest.raises(ValueError, match="experts_used = 4 of experts = 3: choose fewer"):
        CausalConfig(experts=3, experts_used=4)
