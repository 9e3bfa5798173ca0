"""The gated feed-forward layer, by hand and by the formulas of Shazeer 2020."""

import pytest
import torch
import torch.nn.functional as F

from jumok.kernels.noise import Noise
from jumok.layers.dropout import Dropout
from jumok.layers.feedforward import ACTIVATIONS, GatedFeedForward
from tests.parity.torch_weights import roughen


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
def test_it_is_the_formula(activation, formula, bias):
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
    assert sorted(ACTIVATIONS) == ["gelu", "relu", "relu2", "silu"]
