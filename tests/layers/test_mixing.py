"""The stand-in for attention over pixels."""

import torch

from jumok.attention.convolution import PixelAttention
from jumok.kernels.noise import Noise
from jumok.models.image_classifier import PixelMixing


def test_a_mixing_block_has_exactly_the_parameters_of_attention():
    def size(layer):
        return sum(parameter.numel() for parameter in layer.parameters())

    for channels, heads in ((12, 3), (64, 4), (7, 1)):
        dim = channels // heads
        attention = PixelAttention(channels, heads, dim, dim, Noise())
        assert size(PixelMixing(channels)) == size(attention) == 4 * channels**2 + 3 * channels + 1


def test_a_pixel_hears_nothing_of_the_others():
    layer = PixelMixing(5)
    with torch.no_grad():
        layer.residual_gate.fill_(1.0)
    before = torch.randn(2, 5, 3, 7)
    after = before.clone()
    after[:, :, 1, 4] += 1.0
    changed = (layer(after) - layer(before)).abs().sum(1) > 0
    assert changed[:, 1, 4].all()
    assert changed.sum() == 2


def test_a_closed_gate_means_identity():
    features = torch.randn(2, 5, 3, 7)
    assert torch.equal(PixelMixing(5)(features), features)
