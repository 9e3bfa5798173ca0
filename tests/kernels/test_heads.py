"""What queries and keys are put through, against its readable twins in torch."""

import pytest
import torch
import torch.nn.functional as F

from jumok.kernels import heads
from jumok.positions.rotary import RotaryPositions, turn_plainly
from tests.kernels.twins import assert_twins

DTYPES = [torch.float32, torch.bfloat16]
SHAPES = [(1, 1, 1, 16), (2, 4, 5, 32), (3, 2, 7, 48), (2, 1, 3, 272)]


def split(states: torch.Tensor) -> torch.Tensor:
    """(batch heads length dim) as it comes out of a projection: heads side by side."""
    return states.transpose(1, 2).contiguous().transpose(1, 2)


def angles(length: int, dim: int) -> torch.Tensor:
    return torch.arange(length * dim // 2).view(length, dim // 2) * 0.3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_rms_norm_agrees_with_twin(shape, dtype):
    torch.manual_seed(1)
    assert_twins(
        lambda states, gain: heads.rms_norm(split(states), gain, 1e-5),
        lambda states, gain: F.rms_norm(states, states.shape[-1:], gain, 1e-5),
        [torch.randn(shape) * 3 + 1, torch.randn(shape[-1])],
        dtype,
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_turn_agrees_with_twin(shape, dtype):
    torch.manual_seed(1)
    angle = angles(*shape[2:])
    assert_twins(
        lambda states: heads.turn(split(states), angle.cos(), angle.sin()),
        lambda states: turn_plainly(states, angle.cos(), angle.sin()),
        [torch.randn(shape)],
        dtype,
    )


def test_kernels_read_a_part_of_wider_states():
    """Heads that were cut out of one projection of queries, keys and values."""
    torch.manual_seed(1)
    wide = torch.randn(2, 3, 5, 64)
    part, gain, angle = wide[..., 16:48], torch.randn(32), angles(5, 32)
    normed, turned = heads.rms_norm(part, gain, 1e-5), heads.turn(part, angle.cos(), angle.sin())
    torch.testing.assert_close(normed, F.rms_norm(part, (32,), gain, 1e-5))
    torch.testing.assert_close(turned, turn_plainly(part, angle.cos(), angle.sin()))


def test_gradients_of_every_layout_are_those_of_the_twin():
    """A slope that is expanded, and one that lies transposed."""
    torch.manual_seed(1)
    angle, gain = angles(16, 16), torch.randn(16)
    for slope in (torch.ones(()).expand(2, 3, 16, 16), torch.randn(2, 3, 16, 16).mT):
        for fast, slow in (
            (lambda x: heads.turn(x, angle.cos(), angle.sin()),
             lambda x: turn_plainly(x, angle.cos(), angle.sin())),
            (lambda x: heads.rms_norm(x, gain, 1e-5), lambda x: F.rms_norm(x, (16,), gain, 1e-5)),
        ):  # fmt: skip
            states = torch.randn(2, 3, 16, 16, requires_grad=True)
            (mine,) = torch.autograd.grad(fast(states), states, slope)
            (other,) = torch.autograd.grad(slow(states), states, slope)
            torch.testing.assert_close(mine, other, atol=2e-6, rtol=1e-5)


def test_a_quarter_turn_by_hand():
    """(1, 2) turned by 90 degrees is (-2, 1)."""
    states = torch.tensor([1.0, 2.0]).repeat(8).view(1, 1, 1, 16)
    turned = heads.turn(states, torch.zeros(1, 8), torch.ones(1, 8))
    assert turned.flatten().tolist() == [-2.0, 1.0] * 8


def test_rotary_positions_are_turned_by_the_kernel(monkeypatch):
    called = []
    turn = heads.turn
    monkeypatch.setattr(heads, "turn", lambda *given: called.append(1) or turn(*given))
    RotaryPositions(32)(torch.randn(1, 2, 3, 32), 4)
    assert called


def test_other_widths_take_the_twin():
    assert not heads.serves(torch.randn(1, 1, 2, 6))
    assert not heads.serves(torch.randn(1, 1, 2, 16).double())
    assert not heads.serves(torch.randn(1, 1, 0, 16))
    assert not heads.serves(torch.randn(1, 1, 16, 2).transpose(2, 3).expand(1, 1, 2, 16))
