"""The sentence everything is built on, against torch and against the lectures' own figures."""

import math

import pytest
import torch
import torch.nn.functional as F

from jumok.attention import fused
from jumok.attention.core import (
    attend,
    attend_with_weights,
    merge_heads,
    repeat_heads,
    split_heads,
)
from jumok.attention.masks import AttentionMask
from jumok.kernels.noise import DropoutMask
from tests.kernels.twins import assert_same_gradients

CPU = torch.device("cpu")


def drawn(allowed: torch.Tensor | None) -> AttentionMask | None:
    return None if allowed is None else AttentionMask(matrix=allowed)


PATHS = {
    "fast": lambda q, k, v, allowed=None, bias=None, drop=None: attend(
        q, k, v, drawn(allowed), bias, drop
    ),
    "readable": lambda *arguments: attend_with_weights(*arguments)[0],
    # what a GPU runs; on a CPU it can be called, if not reached
    "fused": lambda q, k, v, allowed=None, bias=None: fused.attend(q, k, v, drawn(allowed), bias),
}
every_path = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
every_width = pytest.mark.parametrize(("dim", "value_dim"), [(7, 11), (16, 48)])


def tensors(queries: int, keys: int, dim: int, value_dim: int) -> list[torch.Tensor]:
    torch.manual_seed(1)
    shapes = [(2, 3, queries, dim), (2, 3, keys, dim), (2, 3, keys, value_dim)]
    return [torch.randn(shape).requires_grad_() for shape in shapes]


def allowed_of(queries: int, keys: int) -> torch.Tensor:
    """Each query may attend to about two thirds of the keys, and to one key at least."""
    return torch.arange(2 * queries * keys).mul(7).remainder(11).view(2, 1, queries, keys) < 7


@every_path
@every_width
@pytest.mark.parametrize("masked", [False, True])
def test_attend_agrees_with_torch_gradients_too(path, dim, value_dim, masked):
    inputs = tensors(5, 13, dim, value_dim)
    allowed = allowed_of(5, 13) if masked else None
    found = path(*inputs, allowed)
    expected = F.scaled_dot_product_attention(*inputs, attn_mask=allowed)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    assert_same_gradients(found, expected, inputs, atol=2e-6)


@every_path
def test_attend_adds_the_bias_to_the_scaled_scores(path):
    query, key, value = tensors(5, 13, 7, 11)
    bias = torch.arange(3.0 * 5 * 13).sin().view(1, 3, 5, 13)
    allowed = allowed_of(5, 13)
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key) / math.sqrt(7) + bias
    weights = torch.where(allowed, scores.exp(), 0.0)
    expected = weights / weights.sum(-1, keepdim=True) @ value
    found = path(query, key, value, allowed, bias)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


@every_width
def test_the_scale_is_a_factor_of_the_products(dim, value_dim):
    query, key, value = tensors(5, 13, dim, value_dim)
    expected = F.scaled_dot_product_attention(query, key, value, scale=0.7)
    for found in (
        attend(query, key, value, scale=0.7),
        attend_with_weights(query, key, value, scale=0.7)[0],
        fused.attend(query, key, value, None, None, 0.7),
    ):
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
        assert_same_gradients(found, expected, (query, key, value), atol=3e-6)
    with torch.no_grad():  # a step of decoding
        step = attend(query[:, :, :1], key, value, scale=0.7)
    torch.testing.assert_close(step, expected[:, :, :1], atol=1e-6, rtol=0)


SHARED_MASKS = {
    "none": None,
    "causal": AttentionMask(causal=True),
    "causal window": AttentionMask(causal=True, window=2),
    "window": AttentionMask(window=3),
    "rows": drawn(allowed_of(5, 13)),
    "keys": drawn(allowed_of(1, 13)),
    "heads": drawn(torch.arange(2 * 6 * 5 * 13).mul(7).remainder(11).view(2, 6, 5, 13) < 7),
    "real and causal": AttentionMask(causal=True, real=allowed_of(1, 13)[:, 0, 0]),
}


@every_width
@pytest.mark.parametrize("mask", SHARED_MASKS)
@pytest.mark.parametrize("kv_heads", [1, 2, 3])
def test_shared_keys_are_repeated_keys_gradients_and_dropout_too(kv_heads, mask, dim, value_dim):
    """6 heads of queries; each key serves 6, 3 or 2 of them, which are adjacent."""
    torch.manual_seed(1)
    shapes = [(2, 6, 5, dim), (2, kv_heads, 13, dim), (2, kv_heads, 13, value_dim)]
    query, key, value = (torch.randn(shape).requires_grad_() for shape in shapes)
    bias, drop = torch.arange(6.0 * 5 * 13).sin().view(1, 6, 5, 13), DropoutMask(0.3, 12345)
    said = SHARED_MASKS[mask]
    found = attend(query, key, value, said, bias, drop, 0.7)
    repeated = (part[:, torch.arange(6) // (6 // kv_heads)] for part in (key, value))
    matrix = None if said is None else said.draw(5, 13, CPU)
    expected, _ = attend_with_weights(query, *repeated, matrix, bias, drop, 0.7)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    assert torch.equal(repeat_heads(key, 6), key[:, torch.arange(6) // (6 // kv_heads)])
    assert_same_gradients(found, expected, (query, key, value), atol=1e-5)


@every_path
@every_width
def test_query_that_may_attend_to_nothing_gets_zeros(path, dim, value_dim):
    inputs = tensors(5, 13, dim, value_dim)
    allowed = allowed_of(5, 13)
    allowed[1, :, 2] = False
    found = path(*inputs, allowed)
    assert not found[1, :, 2].any()
    assert found[1, :, 1].any()
    for gradient in torch.autograd.grad(found.sum(), inputs):
        assert gradient.isfinite().all()
    assert not torch.autograd.grad(path(*inputs, allowed)[1, :, 2].sum(), inputs[0])[0].any()


@every_width
def test_paths_drop_the_same_weights(dim, value_dim):
    inputs = tensors(5, 13, dim, value_dim)
    drop = DropoutMask(0.3, 12345)
    fast = PATHS["fast"](*inputs, allowed_of(5, 13), drop=drop)
    slow, weights = attend_with_weights(*inputs, allowed_of(5, 13), drop=drop)
    torch.testing.assert_close(fast, slow, atol=1e-6, rtol=0)
    torch.testing.assert_close(slow, drop.apply(weights) @ inputs[2], atol=1e-6, rtol=0)


def test_each_row_of_weights_sums_to_1_before_dropout():
    allowed = allowed_of(5, 13)
    allowed[1, :, 2] = False
    _, weights = attend_with_weights(*tensors(5, 13, 7, 11), allowed, drop=DropoutMask(0.9, 3))
    sums = torch.ones(2, 3, 5)
    sums[1, :, 2] = 0
    torch.testing.assert_close(weights.sum(-1), sums, atol=1e-6, rtol=0)
    assert not weights.masked_select(~allowed).any()


def test_lecture_scores_14_and_12_give_weights_88_and_12():
    """Lecture 002: "Thinking" is 88 % compatible with itself and 12 % with "Machines".

    The scores are 112 and 96 before they are divided by sqrt(64) = 8.
    """
    query = torch.ones(1, 1, 1, 64)
    key = torch.stack((torch.full((64,), 112 / 64), torch.full((64,), 96 / 64)))[None, None]
    values = torch.zeros(1, 1, 2, 16)
    values[0, 0, 0, 0] = values[0, 0, 1, 1] = 1.0  # z1 = 0.88 v1 + 0.12 v2
    found, weights = attend_with_weights(query, key, values)
    assert [round(weight, 2) for weight in weights.flatten().tolist()] == [0.88, 0.12]
    assert [round(part, 2) for part in found.flatten().tolist()[:3]] == [0.88, 0.12, 0.0]
    torch.testing.assert_close(attend(query, key, values), found, atol=1e-6, rtol=0)
    assert float(weights[0, 0, 0, 0]) == pytest.approx(1 / (1 + math.exp(-2)), abs=1e-6)


def test_lecture_dot_products_are_23_and_minus_4():
    """Lecture 003: [2, 3].[4, 5] = 23, [2, 3].[-5, 2] = -4.

    A third key of zeros scores 0, so log(weight / its weight) * sqrt(2) is the dot product.
    """
    query = torch.tensor([2.0, 3.0], dtype=torch.float64)[None, None, None]
    key = torch.tensor([[4.0, 5.0], [-5.0, 2.0], [0.0, 0.0]], dtype=torch.float64)[None, None]
    _, weights = attend_with_weights(query, key, key)
    likely, unlikely, nothing = weights.flatten()
    assert float((likely / nothing).log() * math.sqrt(2)) == pytest.approx(23)
    assert float((unlikely / nothing).log() * math.sqrt(2)) == pytest.approx(-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@every_path
def test_lecture_exp_710_overflows_and_attention_does_not(path, dtype):
    """Lecture 000: exp(710) overflows float64. The scores are 16 * 179 / 4 = 716, and 712."""
    assert torch.tensor(710.0, dtype=torch.float64).exp().isinf()
    query = torch.ones(1, 1, 1, 16, dtype=dtype)
    key = torch.tensor([179, 178], dtype=dtype)[:, None].repeat(1, 16)[None, None]
    found = path(query, key, torch.eye(2, 16, dtype=dtype)[None, None])[0, 0, 0, :2]
    share = 1 / (1 + math.exp(-4))
    expected = torch.tensor([share, 1 - share], dtype=dtype)
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=0)


def test_split_heads_cuts_the_last_axis_and_merge_heads_mends_it():
    states = torch.arange(2 * 3 * 10).view(2, 3, 10).float()
    heads = split_heads(states, 5)
    assert heads.shape == (2, 5, 3, 2)
    assert heads[1, 4, 2].tolist() == states[1, 2, 8:].tolist()
    assert heads.data_ptr() == states.data_ptr()
    assert torch.equal(merge_heads(heads), states)
