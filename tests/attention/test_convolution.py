"""Attention over pixels, against torch's own convolutions and attention."""

import pytest
import torch
import torch.nn.functional as F

from jumok.attention.convolution import PixelAttention
from jumok.attention.observe import observe
from jumok.kernels.noise import Noise


def block(channels: int = 12, heads: int = 3, head_dim: int = 5, value_dim: int = 7):
    torch.manual_seed(1)
    return PixelAttention(channels, heads, head_dim, value_dim, Noise())


def opened(layer: PixelAttention, gate: float) -> PixelAttention:
    with torch.no_grad():
        layer.residual_gate.fill_(gate)
    return layer


def test_a_closed_gate_means_identity():
    features = torch.randn(2, 12, 3, 5)
    assert torch.equal(block()(features), features)


def test_a_closed_gate_still_learns():
    layer = block()
    layer(torch.randn(2, 12, 3, 5)).square().sum().backward()
    assert layer.residual_gate.grad.abs() > 0
    assert layer.value.weight.grad.eq(0).all()


def test_pixel_attention_equals_torchs_convolutions_and_attention():
    layer, features = opened(block(), 0.5), torch.randn(2, 12, 4, 6)

    def heads(convolution, dim):
        bias = convolution.bias
        grid = F.conv2d(features, convolution.weight, bias)  # batch heads*dim rows columns
        return grid.reshape(2, 3, dim, 24).permute(0, 1, 3, 2)

    found = F.scaled_dot_product_attention(
        heads(layer.query, 5), heads(layer.key, 5), heads(layer.value, 7)
    )
    grid = found.permute(0, 1, 3, 2).reshape(2, 21, 4, 6)
    expected = features + 0.5 * F.conv2d(grid, layer.output.weight, layer.output.bias)
    assert torch.allclose(layer(features), expected, atol=1e-6)


def test_pixel_attention_equals_the_papers_block():
    """Zhang et al. 2019, section 3: one head, f = W_f x, g = W_g x, no scale, o = W_v(sum b h)."""
    layer = opened(block(8, 1, 4, 4), 2.0)
    features = torch.randn(1, 8, 3, 3)
    x = features.flatten(2)[0]  # channels pixels

    def by(convolution):
        bias = 0 if convolution.bias is None else convolution.bias[:, None]
        return convolution.weight[:, :, 0, 0] @ x + bias

    g, f, h = by(layer.query) / 4**0.5, by(layer.key), by(layer.value)
    looks = torch.softmax(g.T @ f, dim=1)  # how much pixel j (row) looks at pixel i
    o = layer.output.weight[:, :, 0, 0] @ (h @ looks.T) + layer.output.bias[:, None]
    assert torch.allclose(layer(features)[0].flatten(1), x + 2.0 * o, atol=1e-6)


def test_weights_are_seen_and_each_row_sums_to_one():
    seen = []
    layer, features = opened(block(), 1.0), torch.randn(2, 12, 3, 5)
    unwatched = layer(features)
    with observe(layer, lambda site, attention: seen.append(attention)):
        watched = layer(features)
    assert torch.allclose(watched, unwatched, atol=1e-6)
    (attention,) = seen
    assert attention.weights.shape == (2, 3, 15, 15)
    assert torch.allclose(attention.weights.sum(-1), torch.ones(2, 3, 15))
    assert attention.query.shape == (2, 3, 15, 5)
    assert attention.value.shape == (2, 3, 15, 7)
    assert attention.kind == "convolution"


def test_pixels_are_numbered_row_by_row():
    """A value of one pixel alone arrives, and the key that answers is pixel 2 x 5 + 3 = 13."""
    layer = opened(block(1, 1, 1, 1), 1.0)
    with torch.no_grad():
        for convolution in (layer.query, layer.key, layer.value, layer.output):
            convolution.weight.fill_(1.0)
            if convolution.bias is not None:
                convolution.bias.zero_()
    features = torch.zeros(1, 1, 4, 5)
    features[0, 0, 2, 3] = 9.0
    seen = []
    with observe(layer, lambda site, attention: seen.append(attention.weights)):
        layer(features)
    assert seen[0][0, 0, 13].argmax() == 13
    assert float(seen[0][0, 0, 13, 13].detach()) == pytest.approx(1.0)
    assert seen[0][0, 0, 0].tolist() == pytest.approx([1 / 20] * 20)


def test_a_bias_of_the_key_would_change_nothing():
    layer, features = opened(block(), 1.0), torch.randn(2, 12, 3, 5)
    expected = layer(features)
    without, layer.key = layer.key, torch.nn.Conv2d(12, 15, 1)
    layer.key.weight = without.weight
    assert torch.allclose(layer(features), expected, atol=1e-5)


def test_a_head_that_is_switched_off_adds_nothing():
    layer, features = opened(block(), 1.0), torch.randn(2, 12, 3, 5)
    layer.gate = torch.tensor([1.0, 0.0, 1.0])
    gated = layer(features)
    layer.gate = None
    with torch.no_grad():
        layer.output.weight[:, 7:14] = 0.0  # what the second of three heads of width 7 says
    assert torch.allclose(gated, layer(features), atol=1e-6)
