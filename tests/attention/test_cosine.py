"""Cosine scores, by hand, in Transformers and in RNNs."""

import math

import pytest
import torch
import torch.nn.functional as F

from jumok.attention.cosine import CosineScore
from jumok.attention.interfaces import HeadParts
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.observe import Attention, observe
from jumok.attention.scored import ScoredAttention
from jumok.kernels.noise import Noise
from tests.kernels.twins import assert_same_gradients
from tests.parity.torch_weights import roughen


def test_scores_by_hand():
    """cos((3, 4), (4, 3)) = 24 / 25, cos((3, 4), (-6, -8)) = -1; the temperature begins at 1/10."""
    score = CosineScore(2, 2, 1)
    query, key = torch.tensor([[[3.0, 4.0]]]), torch.tensor([[[4.0, 3.0], [-6.0, -8.0]]])
    found = score(score.queries(query), score.keys(key))[0, 0].tolist()
    assert found == pytest.approx([9.6, -10.0], abs=1e-5)


def test_the_temperature_is_learned_and_has_a_floor():
    score = CosineScore(2, 2, 3)
    with torch.no_grad():
        score.sharpness.copy_(torch.tensor([0.0, math.log(7.0), 99.0]))
    unit = torch.tensor([1.0, 0.0]).expand(5, 3, 1, 2)  # five sentences, three heads
    found = score(score.queries(unit), score.keys(unit))
    expected = torch.tensor([1.0, 7.0, 100.0]).expand(5, 3)
    torch.testing.assert_close(found[:, :, 0, 0], expected, rtol=1e-5, atol=0)
    found[:, :2].sum().backward()
    assert score.sharpness.grad.tolist() == pytest.approx([5.0, 35.0, 0.0])


@pytest.mark.parametrize(("dim", "head_dim"), [(13, 7), (48, 16)])  # in torch, and in C
def test_heads_attend_by_cosines_gradients_too(dim, head_dim):
    torch.manual_seed(1)
    score = CosineScore(head_dim, head_dim, 3)
    attention = roughen(
        MultiHeadAttention(dim, 3, head_dim, head_dim, Noise(), parts=HeadParts(score=score))
    )
    states = torch.randn(2, 5, dim).requires_grad_()
    query, key, value = (
        layer(states).unflatten(2, (3, head_dim)).transpose(1, 2)
        for layer in (attention.query, attention.key, attention.value)
    )
    cosines = F.cosine_similarity(query[:, :, :, None], key[:, :, None], dim=-1)
    scores = cosines * score.sharpness.exp()[:, None, None]
    expected = attention.output((scores.softmax(-1) @ value).transpose(1, 2).flatten(2))
    found, seen = attention(states, states), []
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert_same_gradients(found, expected, (states, score.sharpness), atol=5e-5, rtol=1e-4)
    with observe(attention, lambda _, heard: seen.append(heard)):
        torch.testing.assert_close(attention(states, states), expected, atol=1e-5, rtol=0)
    (heard,) = seen
    assert isinstance(heard, Attention)
    assert heard.kind == "cosine"
    recomputed = heard.scale * heard.query @ heard.key.transpose(2, 3)
    torch.testing.assert_close(recomputed, scores, atol=1e-4, rtol=0)


def test_an_rnn_attends_by_cosines():
    torch.manual_seed(1)
    query, memory = torch.randn(2, 1, 5), torch.randn(2, 7, 5)
    attention = ScoredAttention(CosineScore(5, 5, 1), Noise())
    found, weights = attention(query, attention.keys(memory), memory)
    expected = (10 * F.cosine_similarity(query, memory, dim=-1)).softmax(-1)[:, None]
    torch.testing.assert_close(weights, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(found, expected @ memory, atol=1e-5, rtol=0)
