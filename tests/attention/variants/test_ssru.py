"""The recurrence in the place of self-attention: by hand, step by step, and as weights."""

import pytest
import torch

from jumok.attention.masks import AttentionMask, Documents
from jumok.attention.observe import observe
from jumok.attention.overrides import override
from jumok.attention.role import Role
from jumok.attention.variants.ssru import SimpleRecurrence
from jumok.config import TransformerConfig
from jumok.config.causal import CausalConfig
from jumok.errors import ModelError
from jumok.kernels.noise import Noise
from tests.parity.torch_weights import roughen


def recurrence(dim: int = 13) -> SimpleRecurrence:
    torch.manual_seed(1)
    return roughen(SimpleRecurrence(dim, True, Noise(), Role("decoder"))).eval()


def by_hand(unit: SimpleRecurrence, states: torch.Tensor) -> torch.Tensor:
    """The formula of the paper, one position after another."""
    cell, outputs = torch.zeros_like(states[:, 0]), []
    for x in states.unbind(1):
        forget = torch.sigmoid(x @ unit.forget.weight.T + unit.forget.bias)
        cell = forget * cell + (1 - forget) * (x @ unit.input.weight.T)
        outputs.append(cell.clamp(min=0.0))
    return torch.stack(outputs, 1)


@pytest.mark.parametrize("length", [1, 2, 3, 11])
def test_all_positions_at_once_are_the_formula_and_have_its_gradients(length):
    unit, states = recurrence(), torch.randn(3, length, 13)
    found, expected = unit(states, states, AttentionMask(causal=True)), by_hand(unit, states)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    slopes = [
        torch.autograd.grad((made * made).sum(), list(unit.parameters()))
        for made in (found, expected)
    ]
    for one, other in zip(*slopes, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=0)


@torch.no_grad()
def test_a_document_begins_without_the_one_before_it():
    unit, states = recurrence(), torch.randn(1, 7, 13)
    documents = Documents(torch.tensor([[0, 0, 0, 1, 1, 1, 1]]))
    found = unit(states, states, AttentionMask(causal=True, documents=documents))
    apart = [by_hand(unit, states[:, :3]), by_hand(unit, states[:, 3:])]
    torch.testing.assert_close(found, torch.cat(apart, 1), atol=1e-6, rtol=0)


@torch.no_grad()
def test_observers_receive_what_is_left_of_each_word():
    """Their sum over the words, weighted, is the state; the mean over dimensions is shown."""
    unit, states, heard = recurrence(1), torch.randn(2, 5, 1), []
    past = unit.new_past()
    with observe(unit, lambda _, attention: heard.append(attention)):
        whole = unit(states, states, AttentionMask(causal=True))
        for at in range(5):
            unit(states[:, at : at + 1], states[:, at : at + 1], None, past=past)
    first, *steps = heard
    sums = (first.weights @ first.value)[:, 0]  # of one dimension the mean is the weight itself
    torch.testing.assert_close(sums.clamp(min=0.0), whole, atol=1e-6, rtol=0)
    assert (first.kind, first.scale) == ("ssru", None)
    gates = torch.sigmoid(unit.forget(states))
    torch.testing.assert_close(first.query[:, 0], gates)
    torch.testing.assert_close(first.weights.diagonal(dim1=-2, dim2=-1)[:, 0], 1 - gates[..., 0])
    for at, step in enumerate(steps):
        torch.testing.assert_close(step.weights[:, :, 0], first.weights[:, :, at, : at + 1])


@torch.no_grad()
def test_a_word_that_is_taken_out_leaves_the_state_and_nothing_else_changes():
    unit, states = recurrence(), torch.randn(2, 6, 13)

    def without(weights: torch.Tensor, position: int) -> torch.Tensor:
        del position
        return weights.index_fill(3, torch.tensor([2]), 0.0)

    with override("edit", {unit: without}):
        found = unit(states, states, AttentionMask(causal=True))
    with override("edit", {unit: lambda weights, _: weights.clone()}):
        same = unit(states, states, AttentionMask(causal=True))
    torch.testing.assert_close(same, by_hand(unit, states), atol=1e-6, rtol=0)
    cell, expected = torch.zeros(2, 13), []
    for at, x in enumerate(states.unbind(1)):
        forget = torch.sigmoid(unit.forget(x))
        cell = forget * cell + (1 - forget) * unit.input(x) * (at != 2)
        expected.append(cell.clamp(min=0.0))
    torch.testing.assert_close(found, torch.stack(expected, 1), atol=1e-6, rtol=0)
    with override("gate", {unit: torch.zeros(1)}):
        assert not unit(states, states).any()


def test_an_observer_that_comes_late_is_refused():
    unit, states = recurrence(), torch.randn(1, 2, 13)
    past = unit.new_past()
    unit(states, states, None, past=past)
    with observe(unit, lambda *_: None), pytest.raises(ModelError, match="from position 3 on"):
        unit(states[:, :1], states[:, :1], None, past=past)


def test_only_a_decoder_beside_an_encoder_has_it():
    for config in (CausalConfig, TransformerConfig):
        with pytest.raises(ValueError, match="decoder_attention_kind may be it"):
            config(attention_kind="ssru")
