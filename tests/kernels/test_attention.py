"""The attention kernel against its readable twin, and against torch's own."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from jumok.attention.core import attend_with_weights, merge_heads, split_heads
from jumok.attention.masks import AttentionMask, Documents
from jumok.kernels import attention as kernel
from jumok.kernels.noise import DropoutMask
from tests.kernels.twins import TOLERANCE, assert_twins

BATCH, HEADS = 2, 3
LENGTHS = [(1, 1), (1, 13), (13, 1), (13, 17), (16, 16), (17, 33), (33, 16), (5, 31), (70, 70)]
DIMS = [(16, 16), (32, 16), (16, 48), (64, 32)]
DTYPES = [torch.float32, torch.bfloat16]


def some(*shape: int) -> torch.Tensor:
    """About two thirds allowed; the last row allows nothing, so that this case is always there."""
    allowed = torch.arange(math.prod(shape)).mul(7).remainder(11).view(shape) < 7
    allowed.view(-1, shape[-1])[-1] = False
    return allowed


def packed(queries: int, keys: int) -> torch.Tensor:
    """Sentences of eleven side by side: most keys lie outside what a block of 16 queries sees."""
    of_query, of_key = torch.arange(queries) // 11, torch.arange(keys) // 11
    return (of_query[:, None] == of_key)[None, None] & causal(queries, keys)


def causal(queries: int, keys: int) -> torch.Tensor:
    return torch.ones(1, 1, queries, keys, dtype=torch.bool).tril(keys - queries)


MASKS = {
    "none": lambda q, k: None,
    "whole": lambda q, k: some(BATCH, HEADS, q, k),
    "one for all heads": lambda q, k: some(BATCH, 1, q, k),
    "one for all sentences": lambda q, k: some(1, HEADS, q, k),
    "padding": lambda q, k: some(BATCH, 1, 1, k),
    "heads": lambda q, k: some(1, HEADS, 1, k),
    "one row": lambda q, k: some(1, 1, 1, k),
    "causal": causal,
    "packed": packed,
    "a mask a head, packed": lambda q, k: torch.cat([packed(q, k), ~packed(q, k), packed(q, k)], 1),
    "strided": lambda q, k: some(BATCH, 1, k, q).transpose(2, 3),
    "nothing allowed": lambda q, k: torch.zeros(1, 1, 1, k, dtype=torch.bool),
}


def tensors(queries: int, keys: int, dim: int, value_dim: int) -> list[torch.Tensor]:
    torch.manual_seed(1)
    return [
        torch.randn(BATCH, HEADS, queries, dim),
        torch.randn(BATCH, HEADS, keys, dim),
        torch.randn(BATCH, HEADS, keys, value_dim),
    ]


def assert_kernel_is_its_twin(inputs, allowed, drop, dtype, bias=None):
    assert kernel.serves(*[tensor.to(dtype) for tensor in inputs])
    assert_twins(
        lambda q, k, v: kernel.attend(q, k, v, None, allowed, bias, drop),
        lambda q, k, v: attend_with_weights(q, k, v, allowed, bias, drop)[0],
        inputs,
        dtype,
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("drop", [None, DropoutMask(0.3, 12345)], ids=["whole", "dropped"])
@pytest.mark.parametrize("mask", MASKS)
def test_kernel_agrees_with_twin_at_all_lengths_under_any_mask(mask, drop, dtype):
    for queries, keys in LENGTHS:
        allowed = MASKS[mask](queries, keys)
        assert_kernel_is_its_twin(tensors(queries, keys, 16, 32), allowed, drop, dtype)


BIASES = {
    "a head": lambda q, k: torch.randn(1, HEADS, q, k),
    "whole": lambda q, k: torch.randn(BATCH, HEADS, q, k),
    "one row": lambda q, k: torch.randn(1, 1, 1, k),
    "strided": lambda q, k: torch.randn(1, HEADS, k, q).transpose(2, 3),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mask", ["none", "whole", "causal", "nothing allowed"])
@pytest.mark.parametrize("bias", BIASES)
def test_kernel_agrees_with_twin_under_a_bias(bias, mask, dtype):
    drop = DropoutMask(0.3, 12345)
    for queries, keys in LENGTHS:
        inputs = tensors(queries, keys, 16, 32)
        allowed, added = MASKS[mask](queries, keys), BIASES[bias](queries, keys)
        assert_kernel_is_its_twin(inputs, allowed, drop, dtype, added)
        with torch.no_grad():  # few queries: the path of decoding
            found = kernel.attend(*inputs, None, allowed, added)
        expected = attend_with_weights(*inputs, allowed, added)[0]
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mask", MASKS)
def test_kernel_agrees_with_twin_where_nothing_is_learned(mask, dtype):
    """As in decoding: few queries, no gradient."""
    for queries, keys in itertools.product((1, 3, 5), (1, 13, 16, 33)):
        allowed = MASKS[mask](queries, keys)
        inputs = [tensor.to(dtype) for tensor in tensors(queries, keys, 32, 16)]
        with torch.no_grad():
            found = kernel.attend(*inputs, None, allowed).float()
        expected = attend_with_weights(*[tensor.float() for tensor in inputs], allowed)[0]
        limit = TOLERANCE[dtype] * max(float(expected.abs().max()), 1e-3)
        torch.testing.assert_close(found, expected, atol=limit, rtol=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("dim", "value_dim"), DIMS)
def test_kernel_agrees_with_twin_at_all_head_sizes(dim, value_dim, dtype):
    inputs = tensors(13, 19, dim, value_dim)
    assert_kernel_is_its_twin(inputs, some(BATCH, 1, 13, 19), DropoutMask(0.1, 7), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_kernel_reads_and_writes_strided_heads(dtype):
    """One projection holds queries, keys and values side by side, and is cut into heads."""

    def heads(joint: torch.Tensor) -> list[torch.Tensor]:
        return [split_heads(part, HEADS) for part in joint.split([48, 48, 96], dim=-1)]

    def fast(joint):
        return merge_heads(kernel.attend(*heads(joint), None, causal(17, 17)))

    def slow(joint):
        return merge_heads(attend_with_weights(*heads(joint), causal(17, 17))[0])

    torch.manual_seed(1)
    assert_twins(fast, slow, [torch.randn(BATCH, 17, 192)], dtype)


def test_kernel_reads_the_front_of_a_roomier_cache():
    query, key, value = tensors(1, 33, 16, 16)
    front = key[:, :, :13], value[:, :, :13]
    assert not front[0].is_contiguous()
    expected = attend_with_weights(query, *front)[0]
    torch.testing.assert_close(kernel.attend(query, *front), expected, atol=1e-6, rtol=0)


def test_kernel_agrees_with_torch_and_its_gradients():
    allowed = some(BATCH, 1, 13, 17)
    assert_twins(
        lambda q, k, v: kernel.attend(q, k, v, None, allowed),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=allowed),
        tensors(13, 17, 16, 16),
        torch.float32,
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_kernel_gives_zeros_and_no_gradient_where_nothing_is_allowed(dtype):
    query, key, value = (x.to(dtype).requires_grad_() for x in tensors(13, 17, 16, 16))
    found = kernel.attend(query, key, value, None, torch.zeros(1, 1, 1, 17, dtype=torch.bool))
    found.float().sum().backward()
    with torch.no_grad():
        step = kernel.attend(
            query[:, :, :1], key, value, None, torch.zeros(1, 1, 1, 17, dtype=torch.bool)
        )
    for nothing in (found, query.grad, key.grad, value.grad, step):
        assert not nothing.any()


@pytest.mark.parametrize("queries", [1, 5])
def test_kernel_survives_scores_beyond_exp(queries):
    """Scores of 2840 / 4 = 710, where exp overflows even float64, and of 709."""
    query = torch.ones(1, 1, queries, 16)
    key = torch.stack((torch.full((16,), 177.5), torch.full((16,), 177.25)))[None, None]
    found = kernel.attend(query, key, torch.eye(2, 16)[None, None])[0, 0, 0]
    share = 1 / (1 + math.exp(-1))
    torch.testing.assert_close(found[:2], torch.tensor([share, 1 - share]), atol=1e-6, rtol=0)


@pytest.mark.parametrize("queries", [1, 5])
def test_kernel_does_not_hide_a_query_that_is_not_a_number(queries):
    query, key, value = tensors(queries, 13, 16, 16)
    query[1, 2, -1, 4] = math.nan
    found = kernel.attend(query, key, value)
    assert found[1, 2, -1].isnan().all()
    assert found.isnan().sum() == 16


def test_kernel_leaves_to_torch_what_it_cannot_read():
    query, key, value = tensors(5, 13, 16, 16)
    assert kernel.serves(query, key, value)
    assert not kernel.serves(query.double(), key.double(), value.double())
    assert not kernel.serves(query, key.bfloat16(), value)
    assert not kernel.serves(query[..., :13], key[..., :13], value)
    assert not kernel.serves(query, key, value[..., :13])
    assert not kernel.serves(query, key[:, :, :0], value[:, :, :0])
    assert not kernel.serves(query[:0], key[:0], value[:0])
    assert not kernel.serves(query.transpose(2, 3), key, value)
    long = torch.empty(1, 1, kernel.LONGEST + 1, 16)
    assert not kernel.serves(query, long, long)


def two_sided(queries: int, keys: int) -> AttentionMask:
    """Rows of documents, each of another division, and a window."""
    del queries
    lengths = torch.stack((torch.arange(keys) // 7, (torch.arange(keys) + 3) // 19))
    return AttentionMask(window=4, documents=Documents(lengths))


KINDS = {
    "causal": lambda q, k: AttentionMask(causal=True),
    "causal window": lambda q, k: AttentionMask(causal=True, window=5),
    "window": lambda q, k: AttentionMask(window=3),
    "real and window": lambda q, k: AttentionMask(
        causal=True, window=9, real=torch.arange(k) < torch.tensor([[k // 2], [k]])
    ),
    "real": lambda q, k: AttentionMask(real=torch.arange(k) < torch.tensor([[0], [k]])),
    "matrix and causal": lambda q, k: AttentionMask(causal=True, matrix=some(BATCH, HEADS, q, k)),
    "documents": lambda q, k: two_sided(q, k) if q == k else AttentionMask(window=40),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_kernel_by_ranges_agrees_with_its_twin_under_the_drawn_matrix(kind, dtype):
    drop = DropoutMask(0.3, 12345)
    for queries, keys in [*LENGTHS, (3, 33), (2, 5)]:
        mask, inputs = KINDS[kind](queries, keys), tensors(queries, keys, 16, 32)
        matrix = mask.draw(queries, keys, torch.device("cpu"))
        ranges, others = mask.ranges(queries, keys, matrix.device), mask.forbidden_keys()
        assert_twins(
            lambda q, k, v: kernel.attend(q, k, v, ranges, others, None, drop),  # noqa: B023
            lambda q, k, v: attend_with_weights(q, k, v, matrix, None, drop)[0],  # noqa: B023
            inputs,
            dtype,
        )
        with torch.no_grad():  # few queries: the path of decoding
            found = kernel.attend(*inputs, ranges, others)
        expected = attend_with_weights(*inputs, matrix)[0]
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ranges_and_a_matrix_of_the_same_keys_give_the_same_bits(dtype):
    window = AttentionMask(causal=True, window=9)
    for mask in (AttentionMask(causal=True), two_sided(70, 70), window):
        inputs = [each.to(dtype).requires_grad_() for each in tensors(70, 70, 16, 32)]
        matrix = mask.draw(70, 70, torch.device("cpu"))
        found = [
            kernel.attend(*inputs, mask.ranges(70, 70, matrix.device)),
            kernel.attend(*inputs, None, matrix),
        ]
        assert torch.equal(*found)
        slopes = [torch.autograd.grad(each.float().sin().sum(), inputs) for each in found]
        assert all(map(torch.equal, *slopes))
