"""Dropout and ReLU in C against their readable twins."""

import math

import pytest
import torch
import torch.nn.functional as F

from jumok.kernels.activation import dropout, relu_dropout, silu_gate, silu_gate_plainly
from jumok.kernels.noise import DropoutMask
from tests.kernels.twins import assert_twins

DTYPES = [torch.float32, torch.bfloat16]
MASK = DropoutMask(0.3, 12345)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(13, 16), (2, 3, 5, 32), (7, 13)])
@pytest.mark.parametrize("drop", [None, MASK], ids=["whole", "dropped"])
def test_relu_dropout_agrees_with_twin(shape, drop, dtype):
    torch.manual_seed(1)

    def slow(states):
        return F.relu(states) if drop is None else drop.apply(F.relu(states))

    # relu_dropout overwrites what it is given, so it is given something of its own
    assert_twins(lambda x: relu_dropout(x * 1, drop), slow, [torch.randn(shape)], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(13, 16), (7, 13)])
def test_dropout_agrees_with_twin(shape, dtype):
    torch.manual_seed(1)
    assert_twins(lambda x: dropout(x, MASK), MASK.apply, [torch.randn(shape)], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(13, 16), (2, 3, 5, 32), (7, 13)])
@pytest.mark.parametrize("drop", [None, MASK], ids=["whole", "dropped"])
def test_gate_of_silu_agrees_with_twin(shape, drop, dtype):
    torch.manual_seed(1)
    assert_twins(
        lambda gate, inner: silu_gate(gate, inner, drop),
        lambda gate, inner: silu_gate_plainly(gate, inner, drop),
        [torch.randn(shape) * 4, torch.randn(shape)],
        dtype,
    )


def test_gate_of_silu_by_hand():
    """silu(0) = 0; silu(log 3) = log 3 times 3/4."""
    gate = torch.tensor([0.0, math.log(3)]).repeat(8)
    gated = silu_gate(gate, torch.full((16,), 4.0), None)
    torch.testing.assert_close(gated[:2], torch.tensor([0.0, 3 * math.log(3)]))


def test_dropout_of_nothing_is_the_states_themselves():
    states = torch.randn(3, 16)
    assert dropout(states, None) is states


def test_kernels_read_strided_states_in_the_order_of_their_axes():
    torch.manual_seed(1)
    states = torch.randn(16, 13)
    turned = states.t()
    expected = MASK.apply(turned.contiguous())
    assert torch.equal(dropout(turned, MASK), expected)
    assert torch.equal(relu_dropout(turned.clone(), MASK), F.relu(expected))
    slice_ = states.clone()[:, :8]
    expected = MASK.apply(F.relu(slice_))
    assert torch.equal(relu_dropout(slice_, MASK), expected)


@pytest.mark.parametrize("drop", [None, MASK], ids=["whole", "dropped"])
def test_relu_does_not_hide_what_is_not_a_number(drop):
    states = torch.full((16,), math.nan)
    assert relu_dropout(states, drop).isnan().any()
