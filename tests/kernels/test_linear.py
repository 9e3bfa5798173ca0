import math

import pytest
import torch
from torch import nn

from jumok.kernels.linear import Linear, Projection


def test_weights_start_within_xaviers_bound_and_biases_at_zero():
    layer = Linear(150, 50)
    bound = math.sqrt(6 / 200)
    assert 0.99 * bound < layer.weight.abs().max() <= bound  # 7,500 draws reach close to it
    assert not layer.bias.any()


def test_linear_is_torchs():
    layer = Linear(5, 7)
    states = torch.randn(2, 3, 5)
    expected = torch.einsum("bld,od->blo", states, layer.weight) + layer.bias
    torch.testing.assert_close(layer(states), expected)


def test_linear_without_a_bias_has_none():
    layer, states = Linear(5, 7, bias=False), torch.randn(2, 3, 5)
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    expected = torch.einsum("bld,od->blo", states, layer.weight)
    torch.testing.assert_close(layer(states), expected)


def test_projection_is_the_dot_product_with_each_row_of_its_table():
    table = nn.Parameter(torch.randn(7, 5))
    states = torch.randn(2, 3, 5)
    torch.testing.assert_close(Projection(table)(states), states @ table.t())


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [(3, 13), (64, 1), (1, 67)])
def test_rows_of_zeros_change_neither_a_product_nor_its_gradients(rows, bias):
    states = torch.randn(*rows, 32).bfloat16()
    slope = torch.randn(*rows, 48).bfloat16()
    layer = Linear(32, 48, bias).bfloat16()
    plain = nn.Linear(32, 48, bias).bfloat16()
    plain.load_state_dict(layer.state_dict())
    found, expected = states.clone().requires_grad_(), states.clone().requires_grad_()
    layer(found).backward(slope)
    plain(expected).backward(slope)
    torch.testing.assert_close(layer(states), plain(states))
    torch.testing.assert_close(found.grad, expected.grad)
    torch.testing.assert_close(layer.weight.grad, plain.weight.grad, rtol=2e-2, atol=2e-2)
    if bias:
        torch.testing.assert_close(layer.bias.grad, plain.bias.grad, rtol=2e-2, atol=6e-2)
