import math

import torch

from jumok.kernels.linear import Linear


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
