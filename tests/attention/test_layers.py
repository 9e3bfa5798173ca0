"""The lectures' attention layers, with the lectures' numbers and sums done by hand."""

import math

import pytest
import torch

from jumok.attention.layers import GeneralAttention, ManyHeads, RawAttention, SelfAttention
from jumok.attention.masks import AttentionMask
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.observe import observe
from jumok.attention.scores import DotScore, ScaledDotScore
from jumok.kernels.noise import Noise


def rows(*values: list[float]) -> torch.Tensor:
    """One batch of these vectors."""
    return torch.tensor([list(values)])


def filled(layer: torch.nn.Linear, matrix: list[list[float]]) -> None:
    """Makes the layer multiply by `matrix` from the right, as the lectures write x W."""
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(matrix).T)


def test_dot_is_large_for_vectors_of_one_direction():
    """Lecture 003: A = [2, 3] with B = [4, 5] gives 23, with C = [-5, 2] it gives -4."""
    scores = DotScore()(rows([2.0, 3.0]), rows([4.0, 5.0], [-5.0, 2.0]))
    assert scores.tolist() == [[[23.0, -4.0]]]


def test_a_scaled_dot_is_divided_by_the_square_root_of_the_width():
    score = ScaledDotScore(4)
    query, key = rows([1.0, 2.0, 3.0, 4.0]), rows([5.0, 6.0, 7.0, 8.0])
    assert score(score.queries(query), score.keys(key)).tolist() == [[[35.0]]]  # 70 / 2


def test_thinking_looks_at_itself_by_88_percent():
    """Lecture 002: scores of 112 and 96 by keys of width 64 become 14 and 12; 0.88 and 0.12."""
    query = torch.full((1, 1, 64), 1.0)
    key = torch.cat([torch.full((1, 1, 64), 112 / 64), torch.full((1, 1, 64), 96 / 64)], dim=1)
    value = rows([1.0, 0.0], [0.0, 1.0])
    found = RawAttention(ScaledDotScore(64)).attend(query, key, value)
    assert found[0, 0].tolist() == pytest.approx([0.88, 0.12], abs=0.001)


def test_raw_self_attention_follows_the_first_formula():
    """Lecture 000: y_3 = a_31 x_1 + a_32 x_2 + a_33 x_3 with a_3j = softmax(x_3 . x_j)."""
    inputs = rows([1.0, 0.0], [0.0, 2.0], [1.0, 1.0])
    mask = AttentionMask(causal=True).draw(3, 3, inputs.device)[0]
    found = RawAttention(DotScore())(inputs, inputs, mask)
    e1, e2 = math.e, math.e**2  # x_3 . x_j = 1, 2, 2
    whole = e1 + 2 * e2
    assert found[0, 2].tolist() == pytest.approx([(e1 + e2) / whole, 3 * e2 / whole])
    assert found[0, 0].tolist() == [1.0, 0.0]  # it sees nothing but itself


def test_general_attention_takes_queries_of_the_keys_width_and_gives_the_values_width():
    layer = GeneralAttention(dim=3, key_dim=2, value_dim=5)
    found = layer(torch.zeros(7, 11, 2), torch.randn(7, 13, 3))
    assert found.shape == (7, 11, 5)


def test_general_attention_by_hand():
    layer = GeneralAttention(dim=2, key_dim=1, value_dim=3, score=DotScore())
    filled(layer.key, [[1.0], [-1.0]])
    filled(layer.value, [[1.0, 2.0, 3.0], [0.0, 4.0, 8.0]])
    # keys are 0 and log 3; the query 1 weighs them 1/4 and 3/4; values are x W_V
    inputs = rows([2.0, 2.0], [math.log(3), 0.0])
    found = layer(rows([1.0]), inputs)
    left, right = torch.tensor([2.0, 12.0, 22.0]), math.log(3) * torch.tensor([1.0, 2.0, 3.0])
    assert torch.allclose(found[0, 0], 0.25 * left + 0.75 * right)


def test_self_attention_projects_its_own_queries():
    torch.manual_seed(1)
    layer = SelfAttention(dim=3, key_dim=5, value_dim=7)
    inputs = torch.randn(2, 11, 3)
    query, key, value = (
        inputs @ part.weight.T for part in (layer.query, layer.general.key, layer.general.value)
    )
    weights = torch.softmax(query @ key.transpose(1, 2) / 5**0.5, dim=-1)
    assert torch.allclose(layer(inputs), weights @ value, atol=1e-6)


def test_self_attention_does_not_mind_the_order_of_its_inputs():
    """Lecture 004: attention is permutation invariant; lecture 002: it encodes a set."""
    layer, inputs = SelfAttention(3, 5, 7), torch.randn(1, 11, 3)
    order = torch.randperm(11)
    assert torch.allclose(layer(inputs[:, order]), layer(inputs)[:, order], atol=1e-6)


def test_a_query_that_may_look_at_nothing_finds_zeros():
    inputs = torch.randn(1, 3, 2)
    nothing = torch.zeros(1, 3, 3, dtype=torch.bool)
    assert RawAttention(DotScore())(inputs, inputs, nothing).eq(0).all()


def test_a_fixed_budget_has_as_many_parameters_however_many_heads():
    """Lecture 002: a fixed amount is spread over the heads; full-size heads have more."""

    def size(layer: torch.nn.Module) -> int:
        return sum(parameter.numel() for parameter in layer.parameters())

    assert size(ManyHeads.with_fixed_budget(12, 1)) == 4 * 12**2
    assert size(ManyHeads.with_fixed_budget(12, 6)) == 4 * 12**2
    assert size(ManyHeads.with_full_size_heads(12, 6)) == 6 * 4 * 12**2


@pytest.mark.parametrize("build", [ManyHeads.with_fixed_budget, ManyHeads.with_full_size_heads])
def test_many_heads_are_multi_head_attention_read_slowly(build):
    torch.manual_seed(1)
    slow = build(12, 3)
    key_dim = slow.heads[0].query.out_features
    fast = MultiHeadAttention(12, 3, key_dim, key_dim, Noise())
    with torch.no_grad():
        fast.query.weight.copy_(torch.cat([head.query.weight for head in slow.heads]))
        fast.key.weight.copy_(torch.cat([head.general.key.weight for head in slow.heads]))
        fast.value.weight.copy_(torch.cat([head.general.value.weight for head in slow.heads]))
        fast.output.weight.copy_(slow.output.weight)
    inputs = torch.randn(2, 7, 12)
    mask = AttentionMask(causal=True)
    drawn = mask.draw(7, 7, inputs.device)[0]
    assert torch.allclose(slow(inputs, drawn), fast(inputs, inputs, mask), atol=1e-6)


def test_every_layer_can_be_watched():
    seen = {}
    layer = ManyHeads.with_fixed_budget(6, 2)
    with observe(layer, seen.__setitem__):
        layer(torch.randn(5, 7, 6))
    assert sorted(seen) == ["heads.0.general.attention", "heads.1.general.attention"]
    weights = seen["heads.1.general.attention"].weights
    assert weights.shape == (5, 1, 7, 7)
    assert torch.allclose(weights.sum(-1), torch.ones(5, 1, 7))
    assert seen["heads.0.general.attention"].kind == "scaled-dot"


def test_a_lone_head_can_be_switched_off():
    layer, inputs = RawAttention(DotScore()), torch.randn(5, 7, 6)
    layer.gate = torch.zeros(1)
    assert layer(inputs, inputs).eq(0).all()
