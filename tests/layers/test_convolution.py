"""Convolutions against torch's own operations, and what a grid may depend on."""

import math

import pytest
import torch
import torch.nn.functional as F

from jumok.kernels.noise import Noise
from jumok.layers.convolution import (
    Convolution,
    ConvolutionStack,
    ResidualBlock,
    Stage,
    group_norm,
    scale_pixels,
)
from jumok.layers.dropout import Dropout
from tests.parity.torch_weights import roughen


def dropout(p: float = 0.0) -> Dropout:
    return Dropout(p, Noise())


def test_scale_pixels_reaches_from_minus_one_to_one():
    pixels = torch.tensor([0, 255, 51], dtype=torch.uint8).view(1, 1, 1, 3)
    found = scale_pixels(pixels, torch.zeros(1)).flatten()
    assert found.tolist() == pytest.approx([-1.0, 1.0, -0.6])


def test_scale_pixels_takes_the_number_format_of_the_weights():
    pixels = torch.zeros(1, 3, 2, 2, dtype=torch.uint8)
    assert scale_pixels(pixels, torch.zeros(1, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_a_convolution_of_ones_counts_its_neighbours():
    convolution = Convolution(1, 1)
    torch.nn.init.ones_(convolution.weight)
    found = convolution(torch.ones(1, 1, 3, 3))
    assert found.flatten().tolist() == [4, 6, 4, 6, 9, 6, 4, 6, 4]


@pytest.mark.parametrize(("stride", "size", "expected"), [(1, 7, 7), (2, 8, 4), (4, 12, 3)])
def test_a_convolution_divides_the_size_by_its_stride(stride, size, expected):
    found = Convolution(3, 5, 2 * stride + 1, stride)(torch.zeros(1, 3, size, size))
    assert found.shape == (1, 5, expected, expected)


def test_convolution_weights_keep_the_scale_of_what_comes_in():
    torch.manual_seed(1)
    weight = Convolution(64, 128).weight
    assert float(weight.detach().std()) == pytest.approx(math.sqrt(2 / (64 * 9)), rel=0.02)


@pytest.mark.parametrize(("channels", "groups"), [(64, 8), (12, 4), (7, 1)])
def test_group_norm_takes_as_many_groups_as_divide(channels, groups):
    assert group_norm(channels).num_groups == groups


def test_a_residual_block_is_the_identity_at_first():
    picture = torch.randn(2, 8, 5, 3)
    torch.testing.assert_close(ResidualBlock(8, dropout())(picture), picture)


def test_a_residual_block_is_what_its_formula_says():
    block = roughen(ResidualBlock(12, dropout()))
    picture = torch.randn(2, 12, 5, 3)
    named = dict(block.named_parameters())

    def norm(states: torch.Tensor, name: str) -> torch.Tensor:
        groups = states.view(2, 4, 3, 5, 3)
        mean = groups.mean((2, 3, 4), keepdim=True)
        variance = groups.var((2, 3, 4), unbiased=False, keepdim=True)
        normed = ((groups - mean) / (variance + 1e-5).sqrt()).view_as(states)
        weight, bias = named[f"{name}.weight"], named[f"{name}.bias"]
        return normed * weight[:, None, None] + bias[:, None, None]

    def convolved(states: torch.Tensor, name: str) -> torch.Tensor:
        return F.conv2d(states, named[f"{name}.weight"], named[f"{name}.bias"], padding=1)

    inner = convolved(norm(picture, "first_norm").relu(), "first")
    expected = picture + convolved(norm(inner, "second_norm").relu(), "second")
    torch.testing.assert_close(block(picture), expected, atol=1e-4, rtol=1e-4)


def test_a_stage_with_a_stage_before_it_halves_rows_and_columns():
    assert Stage(8, 2, dropout(), 5)(torch.zeros(2, 5, 6, 10)).shape == (2, 8, 3, 5)
    assert Stage(8, 2, dropout())(torch.zeros(2, 8, 6, 10)).shape == (2, 8, 6, 10)


@pytest.mark.parametrize(("patch", "grid"), [(1, (12, 20)), (4, (3, 5))])
def test_the_stack_gives_a_grid_of_the_pictures_shape(patch, grid):
    stack = ConvolutionStack([8, 16], 1, dropout(), patch)
    assert stack(torch.zeros(2, 3, 24, 40)).shape == (2, 16, *grid)


def test_a_pictures_grid_does_not_depend_on_the_others():
    stack = roughen(ConvolutionStack([8, 16], 1, dropout())).eval()
    pictures = torch.rand(3, 3, 8, 8)
    torch.testing.assert_close(stack(pictures)[1:2], stack(pictures[1:2]), atol=1e-5, rtol=1e-5)


def test_dropout_masks_come_from_the_noise():
    noise = Noise()
    stack = roughen(ConvolutionStack([8], 1, Dropout(0.5, noise))).train()
    pictures = torch.rand(2, 3, 8, 8)
    found = []
    for key in (1, 1, 2):
        noise.rekey(key)
        found.append(stack(pictures))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_all_that_is_learnt_are_parameters():
    """Averages and bundles hold parameters only."""
    assert list(ConvolutionStack([8, 16], 1, dropout()).buffers()) == []
