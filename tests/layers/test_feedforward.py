import pytest
import torch
import torch.nn.functional as F
from transformers.activations import ACT2FN

from jumok.kernels.noise import Noise
from jumok.layers.dropout import Dropout
from jumok.layers.feedforward import PlainFeedForward
from tests.parity.torch_weights import roughen


@pytest.mark.parametrize(
    ("activation", "bend"), [("relu", F.relu), ("gelu", F.gelu), ("relu2", ACT2FN["relu2"])]
)
@pytest.mark.parametrize("hidden", [29, 32])  # in torch, and in C
def test_feedforward_is_two_layers_with_a_bend(activation, bend, hidden):
    torch.manual_seed(1)
    layer = roughen(PlainFeedForward(7, hidden, activation, Dropout(0.0, Noise())))
    states = torch.randn(2, 5, 7)
    inner = bend(states @ layer.inner.weight.t() + layer.inner.bias)
    expected = inner @ layer.outer.weight.t() + layer.outer.bias
    torch.testing.assert_close(layer(states), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_feedforward_drops_between_the_layers_while_training(activation):
    """With weights of one, the output counts what was kept: 1 / (1 - 0.5) each."""
    layer = PlainFeedForward(1, 64, activation, Dropout(0.5, Noise()))
    for linear in (layer.inner, layer.outer):
        torch.nn.init.ones_(linear.weight)
    states = torch.full((1, 1, 1), 30.0)  # where gelu is the identity
    kept = float(layer.train()(states).detach()) / 60
    assert kept == pytest.approx(round(kept), abs=1e-4)
    assert 16 < kept < 48
    assert float(layer.eval()(states).detach()) == pytest.approx(64 * 30, rel=1e-5)
