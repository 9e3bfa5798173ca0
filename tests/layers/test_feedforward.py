"""Feed-forward layers, by hand and by their formulas; gated: Shazeer 2020."""

import pytest
import torch
import torch.nn.functional as F
from transformers.activations import ACT2FN

from jumok.kernels.noise import Noise
from jumok.layers.dropout import Dropout
from jumok.layers.feedforward import ACTIVATIONS, GatedFeedForward, PlainFeedForward
from tests.parity.torch_weights import roughen


@pytest.mark.parametrize(
    ("activation", "bend"),
    [
        ("relu", F.relu),
        ("gelu", F.gelu),
        ("gelu_tanh", ACT2FN["gelu_new"]),
        ("relu2", ACT2FN["relu2"]),
    ],
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


def gated(activation: str, bias: bool = True, p: float = 0.0) -> GatedFeedForward:
    torch.manual_seed(1)
    return roughen(GatedFeedForward(7, 11, activation, Dropout(p, Noise()), bias))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("activation", "formula"),
    [
        ("silu", lambda x: x * torch.sigmoid(x)),
        ("gelu", F.gelu),
        ("relu", lambda x: x.clamp(min=0)),
    ],
)
def test_the_gated_layer_is_the_formula(activation, formula, bias):
    """(f(x W_g) * x W_1) W_2, in the paper without biases."""
    layer, states = gated(activation, bias), torch.randn(2, 5, 7)
    weights = dict(layer.named_parameters())
    assert sorted(weights) == sorted(
        f"{name}.{part}"
        for name in ("gate", "inner", "outer")
        for part in (("weight", "bias") if bias else ("weight",))
    )

    def through(name: str, x: torch.Tensor) -> torch.Tensor:
        return x @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", 0.0)

    expected = through("outer", formula(through("gate", states)) * through("inner", states))
    torch.testing.assert_close(layer(states), expected, atol=1e-6, rtol=0)


def test_swiglu_by_hand():
    """x = 2, gate 1, inner 3, outer 5: silu(2) = 2 / (1 + e^-2); silu(2) * 6 * 5."""
    layer = GatedFeedForward(1, 1, "silu", Dropout(0.0, Noise()), bias=False)
    with torch.no_grad():
        for part, value in ((layer.gate, 1.0), (layer.inner, 3.0), (layer.outer, 5.0)):
            part.weight.fill_(value)
    expected = 30 * 2 / (1 + 2.718281828**-2)
    assert layer(torch.tensor([[[2.0]]])).item() == pytest.approx(expected, rel=1e-6)


def test_dropout_is_of_the_gated_activations_while_training():
    layer, states = gated("silu", p=0.5).train(), torch.randn(2, 5, 7)
    assert not torch.allclose(layer(states), layer.eval()(states))
    assert torch.equal(layer(states), layer(states))


def test_every_activation_has_a_name():
    assert sorted(ACTIVATIONS) == ["gelu", "gelu_tanh", "relu", "relu2", "silu"]
