"""Attention over sentences on a GPU: all scores of a head are in one program, in both passes.

The kernels of torch are made for long texts. Up to 128 positions a program reads queries, keys and
values once, computes the scores again for the gradient, and adds up without atomics, so two runs
have the same bits. It drops weights by the masks of `jumok.kernels.noise`, which torch's cannot.

The readable twin is `jumok.attention.core.attend_with_weights`.
"""

import torch
import triton
import triton.language as tl

from jumok.kernels.attention import side_by_side
from jumok.kernels.card import serving
from jumok.kernels.card.dropout import kept
from jumok.kernels.card.norm import numbers
from jumok.kernels.context import Context
from jumok.kernels.noise import DropoutMask
from jumok.shapes import Bool, Float, Int, Tensor

LONGEST = 128
"""Queries and keys."""
WIDEST = 128
"""Elements of a vector."""
LENGTHS = ("queries", "keys")
"""Numbers of which Triton makes no kernels of their own: batches have many lengths."""


def serves(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether `attend` takes these tensors."""
    return (
        0 < query.shape[2] <= LONGEST
        and 0 < key.shape[2] <= LONGEST
        and max(query.shape[3], value.shape[3]) <= WIDEST
        and all(tensor.stride(-1) == 1 for tensor in (query, key, value))
        and serving.serves(query)
    )


@triton.jit
def _tile(start, row_stride, rows, dim, height: tl.constexpr, width: tl.constexpr):  # type: ignore[no-untyped-def]
    """The vectors of a head, with zeros around them."""
    row = tl.arange(0, height)
    column = tl.arange(0, width)
    inside = (row < rows)[:, None] & (column < dim)[None, :]
    value = tl.load(start + row[:, None] * row_stride + column[None, :], mask=inside)
    return tl.where(inside, value, tl.zeros([height, width], value.dtype))


@triton.jit
def _put(start, row_stride, rows, dim, found, height: tl.constexpr, width: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.arange(0, height)
    column = tl.arange(0, width)
    inside = (row < rows)[:, None] & (column < dim)[None, :]
    place = start + row[:, None] * row_stride + column[None, :]
    tl.store(place, found.to(start.dtype.element_ty), mask=inside)


@triton.jit
def _weights(  # type: ignore[no-untyped-def]
    query, key, ranges, real, batch, queries, keys, scale,
    tall: tl.constexpr, wide: tl.constexpr,
    causal: tl.constexpr, ranged: tl.constexpr, padded: tl.constexpr, exact: tl.constexpr,
):  # fmt: skip
    """The weights of a head in float32, 0 where a query may not attend to a key."""
    asks = tl.arange(0, tall)
    there = tl.arange(0, wide)
    allowed = (asks < queries)[:, None] & (there < keys)[None, :]
    if causal:
        allowed = allowed & (there[None, :] <= (asks + keys - queries)[:, None])
    if ranged:
        limits = ranges + (batch * queries + asks) * 2
        first = tl.load(limits, mask=asks < queries)
        end = tl.load(limits + 1, mask=asks < queries)
        allowed = allowed & (there[None, :] >= first[:, None]) & (there[None, :] < end[:, None])
    if padded:
        is_real = tl.load(real + batch * keys + there, mask=there < keys)
        allowed = allowed & (is_real != 0)[None, :]
    scores = tl.dot(query, tl.trans(key), input_precision=exact) * scale
    scores = tl.where(allowed, scores, -float("inf"))
    peak = tl.max(scores, axis=1)
    peak = tl.where(peak == -float("inf"), 0.0, peak)
    powers = tl.exp(scores - peak[:, None])
    total = tl.sum(powers, axis=1)
    return powers / tl.where(total == 0.0, 1.0, total)[:, None]


@triton.jit
def _stay(number, queries, keys, threshold, seed, tall: tl.constexpr, wide: tl.constexpr):  # type: ignore[no-untyped-def]
    """Which weights of head `number`, counted over the batch, are kept."""
    row = number.to(tl.int64) * queries + tl.arange(0, tall)
    return kept(row[:, None] * keys + tl.arange(0, wide)[None, :], threshold, seed)


@triton.jit(do_not_specialize=LENGTHS)
def _forward(  # type: ignore[no-untyped-def]
    query, key, value, found, ranges, real, threshold, seed, factor, scale,
    heads, group, queries, keys, dim, value_dim,
    query_b, query_h, query_l, key_b, key_h, key_l, value_b, value_h, value_l,
    found_b, found_h, found_l,
    tall: tl.constexpr, wide: tl.constexpr, width: tl.constexpr, value_width: tl.constexpr,
    causal: tl.constexpr, ranged: tl.constexpr, padded: tl.constexpr, exact: tl.constexpr,
    drops: tl.constexpr, held: tl.constexpr,
):  # fmt: skip
    number = tl.program_id(0)
    batch = (number // heads).to(tl.int64)
    head = number % heads
    shared = head // group
    q = _tile(query + batch * query_b + head * query_h, query_l, queries, dim, tall, width)
    k = _tile(key + batch * key_b + shared * key_h, key_l, keys, dim, wide, width)
    v = _tile(
        value + batch * value_b + shared * value_h, value_l, keys, value_dim, wide, value_width
    )
    weights = _weights(
        q, k, ranges, real, batch, queries, keys, scale, tall, wide, causal, ranged, padded, exact
    )
    if held:
        seed = tl.load(seed)
    if drops:
        stay = _stay(number, queries, keys, threshold, seed, tall, wide)
        weights = tl.where(stay, weights * factor, 0.0)
    sums = tl.dot(weights.to(v.dtype), v, input_precision=exact)
    start = found + batch * found_b + head * found_h
    _put(start, found_l, queries, value_dim, sums, tall, value_width)


@triton.jit(do_not_specialize=LENGTHS)
def _backward(  # type: ignore[no-untyped-def]
    query, key, value, d_found, d_query, d_key, d_value, ranges, real,
    threshold, seed, factor, scale, heads, kv_heads, queries, keys, dim, value_dim,
    query_b, query_h, query_l, key_b, key_h, key_l, value_b, value_h, value_l,
    found_b, found_h, found_l, d_query_b, d_query_h, d_query_l,
    d_key_b, d_key_h, d_key_l, d_value_b, d_value_h, d_value_l, group: tl.constexpr,
    tall: tl.constexpr, wide: tl.constexpr, width: tl.constexpr, value_width: tl.constexpr,
    causal: tl.constexpr, ranged: tl.constexpr, padded: tl.constexpr, exact: tl.constexpr,
    drops: tl.constexpr, held: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    batch = (program // kv_heads).to(tl.int64)
    shared = program % kv_heads
    k = _tile(key + batch * key_b + shared * key_h, key_l, keys, dim, wide, width)
    v = _tile(
        value + batch * value_b + shared * value_h, value_l, keys, value_dim, wide, value_width
    )
    of_key = tl.zeros([wide, width], tl.float32)
    of_value = tl.zeros([wide, value_width], tl.float32)
    if held:
        seed = tl.load(seed)
    for each in range(group):
        head = shared * group + each
        q = _tile(query + batch * query_b + head * query_h, query_l, queries, dim, tall, width)
        start = d_found + batch * found_b + head * found_h
        slope = _tile(start, found_l, queries, value_dim, tall, value_width)
        weights = _weights(
            q, k, ranges, real, batch, queries, keys, scale, tall, wide,
            causal, ranged, padded, exact,
        )  # fmt: skip
        back = tl.dot(slope, tl.trans(v), input_precision=exact)
        dropped = weights
        if drops:
            stay = _stay(batch * heads + head, queries, keys, threshold, seed, tall, wide)
            dropped = tl.where(stay, weights * factor, 0.0)
            back = tl.where(stay, back * factor, 0.0)
        of_value += tl.dot(tl.trans(dropped.to(v.dtype)), slope, input_precision=exact)
        mean = tl.sum(weights * back, axis=1)
        of_scores = (weights * (back - mean[:, None]) * scale).to(k.dtype)
        of_key += tl.dot(tl.trans(of_scores), q, input_precision=exact)
        of_query = tl.dot(of_scores, k, input_precision=exact)
        start = d_query + batch * d_query_b + head * d_query_h
        _put(start, d_query_l, queries, dim, of_query, tall, width)
    start = d_key + batch * d_key_b + shared * d_key_h
    _put(start, d_key_l, keys, dim, of_key, wide, width)
    start = d_value + batch * d_value_b + shared * d_value_h
    _put(start, d_value_l, keys, value_dim, of_value, wide, value_width)


def attend(
    query: Float[Tensor, "batch heads query dim"],
    key: Float[Tensor, "batch kv_heads key dim"],
    value: Float[Tensor, "batch kv_heads key value_dim"],
    scale: float,
    causal: bool = False,
    ranges: Int[Tensor, "#batch query 2"] | None = None,
    real: Bool[Tensor, "batch key"] | None = None,
    drop: DropoutMask | None = None,
) -> Float[Tensor, "batch heads query value_dim"]:
    """softmax(scale query key^T) value; the heads are concatenated in memory.

    Args:
        causal: each query attends to the keys up to its own position; the last one is at the last
            key.
        ranges: of each query the first key that it may attend to, and their end.
        real: the keys that are no padding.
    """
    batch, _, queries, _ = query.shape
    if ranges is not None:
        ranges = ranges.expand(batch, queries, 2).contiguous()
    if real is not None:
        real = real.expand(batch, key.shape[2]).contiguous()
    found: Tensor = _Attention.apply(query, key, value, scale, causal, ranges, real, drop)
    return found


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        scale: float,
        causal: bool,
        ranges: Tensor | None,
        real: Tensor | None,
        drop: DropoutMask | None,
    ) -> Tensor:
        batch, heads, queries, dim = query.shape
        found = side_by_side(query, value.shape[3])
        ctx.save_for_backward(query, key, value, ranges, real)
        ctx.drop, ctx.scale, ctx.causal = drop, scale, causal
        with torch.cuda.device_of(query):
            _forward[(batch * heads,)](
                query, key, value, found, query if ranges is None else ranges,
                query if real is None else real, *numbers(drop), scale,
                heads, heads // key.shape[1], queries, key.shape[2], dim, value.shape[3],
                *_strides(query, key, value, found),
                **_known(query, value, causal, ranges, real, drop),
            )  # fmt: skip
        return found

    @staticmethod
    def backward(ctx: Context, d_found: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, ranges, real = ctx.saved_tensors
        batch, heads, queries, dim = query.shape
        kv_heads, keys = key.shape[1:3]
        if d_found.stride(-1) != 1:
            d_found = d_found.contiguous()
        slopes = [side_by_side(each, each.shape[-1]) for each in (query, key, value)]
        with torch.cuda.device_of(query):
            _backward[(batch * kv_heads,)](
                query, key, value, d_found, *slopes, query if ranges is None else ranges,
                query if real is None else real, *numbers(ctx.drop), ctx.scale,
                heads, kv_heads, queries, keys, dim, value.shape[3],
                *_strides(query, key, value, d_found, *slopes), group=heads // kv_heads,
                **_known(query, value, ctx.causal, ranges, real, ctx.drop),
            )  # fmt: skip
        return (*slopes, None, None, None, None, None)


def _strides(*tensors: Tensor) -> list[int]:
    return [stride for tensor in tensors for stride in tensor.stride()[:3]]


def _known(
    query: Tensor,
    value: Tensor,
    causal: bool,
    ranges: Tensor | None,
    real: Tensor | None,
    drop: DropoutMask | None,
) -> dict[str, object]:
    """What the kernels are compiled for."""
    tall, wide, width, value_width = (
        max(16, triton.next_power_of_2(size))  # the least that tl.dot multiplies
        for size in (query.shape[2], value.shape[2], query.shape[3], value.shape[3])
    )
    return {
        "tall": tall,
        "wide": wide,
        "width": width,
        "value_width": value_width,
        "causal": causal,
        "ranged": ranges is not None,
        "padded": real is not None,
        "exact": "ieee" if query.dtype == torch.float32 else "tf32",  # of float32 alone
        "drops": drop is not None,
        "held": drop is not None and isinstance(drop.seed, Tensor),
        "num_warps": max(1, min(8, tall * wide // 256)),
    }
