"""Norms of queries and keys, by hand."""

import pytest
import torch

from jumok.attention.core import split_heads
from jumok.attention.interfaces import HeadParts
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.observe import Attention, observe
from jumok.attention.qk_norm import QueryKeyNorm
from jumok.kernels.noise import Noise
from tests.parity.torch_weights import roughen


def test_each_vector_is_divided_by_its_root_mean_square():
    """rms(3, 4) = sqrt(12.5), rms(0, 2) = sqrt(2); with a gain of (1, 2)."""
    norm = QueryKeyNorm(2, 1e-12)
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([1.0, 2.0]))
    found = norm(torch.tensor([[[[3.0, 4.0], [0.0, 2.0]]]]), 5)[0, 0].tolist()
    assert found[0] == pytest.approx([3 / 12.5**0.5, 8 / 12.5**0.5])
    assert found[1] == pytest.approx([0, 4 / 2**0.5])


def test_scores_do_not_depend_on_the_length_of_queries_and_keys():
    torch.manual_seed(1)
    sides = QueryKeyNorm(8, 1e-9), QueryKeyNorm(8, 1e-9)
    parts = HeadParts(process_queries=sides[:1], process_keys=sides[1:])
    attention = roughen(MultiHeadAttention(13, 3, 8, 8, Noise(), bias=False, parts=parts))
    states, seen = torch.randn(2, 5, 13), []
    before = attention(states, states)
    with torch.no_grad():
        attention.query.weight.mul_(17.0)
        attention.key.weight.mul_(0.2)
    torch.testing.assert_close(attention(states, states), before, atol=1e-5, rtol=0)
    with observe(attention, lambda _, heard: seen.append(heard)):
        attention(states, states)
    (heard,) = seen
    assert isinstance(heard, Attention)
    raw = split_heads(attention.query(states), 3)
    unit = raw / raw.square().mean(-1, keepdim=True).sqrt()
    torch.testing.assert_close(heard.query, unit * sides[0].weight, atol=1e-5, rtol=1e-5)
