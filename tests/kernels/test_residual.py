"""Residual connection, dropout and norm in one pass, against its readable twin."""

import pytest
import torch
from torch import nn

from jumok.kernels.noise import DropoutMask
from jumok.kernels.residual import add_norm, add_norm_plainly, knows
from tests.kernels.twins import assert_twins

DTYPES = [torch.float32, torch.bfloat16]


def states(dim: int) -> list[torch.Tensor]:
    torch.manual_seed(1)
    return [
        torch.randn(3, 7, dim) * 2 + 5,
        torch.randn(3, 7, dim),
        torch.randn(dim),
        torch.randn(dim),
    ]


def norm_of(gain: torch.Tensor, bias: torch.Tensor) -> nn.LayerNorm:
    """A layer norm whose gain and bias are these very tensors, so that they get gradients."""
    norm = nn.LayerNorm(len(gain))
    del norm.weight, norm.bias
    norm.weight, norm.bias = gain, bias
    return norm


def rms_norm_of(gain: torch.Tensor) -> nn.RMSNorm:
    """The same of an RMS norm."""
    norm = nn.RMSNorm(len(gain), eps=1e-5)
    del norm.weight
    norm.weight = gain
    return norm


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("drop", [None, DropoutMask(0.3, 12345)], ids=["whole", "dropped"])
@pytest.mark.parametrize(
    ("norm", "dim"),
    [
        *((norm_of, dim) for dim in (16, 48, 272, 13)),
        *((rms_norm_of, dim) for dim in (16, 48, 272)),
    ],
)
def test_add_norm_agrees_with_twin(norm, dim, drop, dtype):
    if (dim, dtype) == (13, torch.bfloat16):
        pytest.skip("no kernel at 13, and torch's own norm rounds as it likes")
    assert_twins(
        lambda stream, update, *affine: add_norm(stream, update, norm(*affine), drop),
        lambda stream, update, *affine: add_norm_plainly(stream, update, norm(*affine), drop),
        states(dim)[: 3 if norm is rms_norm_of else 4],
        dtype,
    )


def test_a_norm_that_the_kernel_does_not_have_is_not_taken_for_one():
    """A layer norm without a bias is not an RMS norm, and gains or an epsilon may be missing."""
    assert knows(nn.LayerNorm(16))
    assert knows(nn.RMSNorm(16, eps=1e-5))
    assert not knows(nn.LayerNorm(16, bias=False))
    assert not knows(nn.LayerNorm(16, elementwise_affine=False))
    assert not knows(nn.RMSNorm(16))
    assert not knows(nn.RMSNorm(16, eps=1e-5, elementwise_affine=False))


@pytest.mark.parametrize("part", [0, 1], ids=["stream", "normed"])
def test_add_norm_takes_the_gradient_of_one_output_alone(part):
    assert_twins(
        lambda stream, update, *affine: (
            add_norm(stream, update, norm_of(*affine), None)[part]
            + 0 * sum(tensor.sum() for tensor in affine)
        ),
        lambda stream, update, *affine: (
            add_norm_plainly(stream, update, norm_of(*affine), None)[part]
            + 0 * sum(tensor.sum() for tensor in affine)
        ),
        states(48),
        torch.float32,
    )


def test_add_norm_reads_strided_states():
    stream, update, gain, bias = states(48)
    turned = stream.transpose(0, 1).contiguous().transpose(0, 1)
    assert not turned.is_contiguous()
    ours = add_norm(turned, update.expand(3, 7, 48), norm_of(gain, bias), None)
    theirs = add_norm_plainly(stream, update, norm_of(gain, bias), None)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=0)


def test_add_norm_gives_mean_0_and_deviation_1_before_gain_and_bias():
    """The lecture's normalisation: (x - mean) / deviation."""
    stream, update, _, _ = states(48)
    _, normed = add_norm(stream, update, nn.LayerNorm(48), None)
    torch.testing.assert_close(normed.mean(-1), torch.zeros(3, 7), atol=1e-6, rtol=0)
    deviation = normed.std(-1, unbiased=False)
    torch.testing.assert_close(deviation, torch.ones(3, 7), atol=1e-4, rtol=0)


def test_add_norm_of_four_numbers_by_hand():
    """(1, 3, 5, 7) four times over: mean 4, variance (9 + 1 + 1 + 9) / 4 = 5."""
    stream = torch.tensor([0.0, 1, 2, 3]).repeat(4)[None, None]
    update = torch.tensor([1.0, 2, 3, 4]).repeat(4)[None, None]
    total, normed = add_norm(stream, update, nn.LayerNorm(16, eps=0.0), None)
    assert total[0, 0, :4].tolist() == [1, 3, 5, 7]
    by_hand = torch.tensor([-3.0, -1, 1, 3]) / 5**0.5
    torch.testing.assert_close(normed[0, 0, :4], by_hand, atol=1e-6, rtol=0)
