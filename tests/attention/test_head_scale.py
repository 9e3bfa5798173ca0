"""A factor for each head's output."""

import torch

from jumok.attention.interfaces import HeadParts
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.variants.output_processes import HeadScale
from jumok.kernels.noise import Noise
from tests.parity.torch_weights import roughen


def test_a_factor_multiplies_its_head_before_the_heads_are_mixed():
    """It may as well multiply the head's columns of the output projection."""
    torch.manual_seed(1)
    scale = HeadScale(3, 5)
    attention = roughen(
        MultiHeadAttention(13, 3, 8, 5, Noise(), parts=HeadParts(process_output=[scale]))
    )
    states = torch.randn(2, 7, 13)
    found = attention(states, states)
    gains = scale.gain.detach().clone()
    with torch.no_grad():
        scale.gain.fill_(1.0)
        assert not torch.allclose(attention(states, states), found, atol=1e-3)
        attention.output.weight.mul_(gains.repeat_interleave(5))
    torch.testing.assert_close(attention(states, states), found, atol=1e-5, rtol=0)


def test_it_starts_as_if_it_were_not_there():
    found = torch.randn(2, 3, 7, 5)
    assert torch.equal(HeadScale(3, 5)(found, torch.randn(2, 7, 13)), found)
