"""Attention over sentences on a GPU: all scores of a head are in one program, in both passes.

The kernels of torch are made for long texts. Up to 128 positions a program reads queries, keys and
values once, computes the scores again for the gradient, and adds up without atomics, so two runs
have the same bits. It drops weights by the masks of `jumok.kernels.noise`, which torch's cannot.

The readable twin is `jumok.attention.core.attend_with_weights`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from jumok.kernels.attention import side_by_side
from jumok.kernels.card import serving
from jumok.kernels.card.dropout import mask_numbers, stays
from jumok.kernels.context import Context
from jumok.kernels.noise import DropoutMask
from jumok.shapes import Bool, Float, Int, Tensor

if TYPE_CHECKING:

    class AttentionContext(Context):
        """What the backward pass needs besides.

        Attributes:
            allowed: what queries may attend to.
        """

        allowed: "AllowedKeys"
else:
    AttentionContext = Context

LONGEST_ROW = 128
"""Queries and keys."""
WIDEST_HEAD = 128
"""Elements of a vector."""
LENGTHS = ("queries", "keys")
"""Numbers of which Triton makes no kernels of their own: batches have many lengths."""


def serves(
    query: Tensor, key: Tensor, value: Tensor, longest: tuple[int, int] | None = None
) -> bool:
    """Whether `attend` takes these tensors.

    Args:
        longest: positions of the longest document, of queries and of keys; None: rows are whole.
    """
    lengths = longest or (query.shape[2], key.shape[2])
    return (
        min(lengths) > 0
        and max(lengths) <= LONGEST_ROW
        and query.numel() > 0
        and max(query.shape[3], value.shape[3]) <= WIDEST_HEAD
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
def _put(start, row_stride, rows, dim, outputs, height: tl.constexpr, width: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.arange(0, height)
    column = tl.arange(0, width)
    inside = (row < rows)[:, None] & (column < dim)[None, :]
    place = start + row[:, None] * row_stride + column[None, :]
    tl.store(place, outputs.to(start.dtype.element_ty), mask=inside)


@triton.jit
def _document_place(asked, offered, document, queries, keys):  # type: ignore[no-untyped-def]
    """Where a document is: the row, its first query and key in it, and how many there are."""
    first = tl.load(asked + document)
    queried = tl.load(asked + document + 1) - first
    of_keys = tl.load(offered + document)
    there = tl.load(offered + document + 1) - of_keys
    row = first // queries
    return row.to(tl.int64), first - row * queries, queried, of_keys - row * keys, there


@triton.jit
def _tile_weights(  # type: ignore[no-untyped-def]
    query, key, ranges, real, batch, queries, keys, window, scale,
    tall: tl.constexpr, wide: tl.constexpr, causal: tl.constexpr, windowed: tl.constexpr,
    ranged: tl.constexpr, padded: tl.constexpr, exact: tl.constexpr,
):  # fmt: skip
    """The weights of a head in float32, 0 where a query may not attend to a key."""
    asks = tl.arange(0, tall)
    there = tl.arange(0, wide)
    allowed = (asks < queries)[:, None] & (there < keys)[None, :]
    apart = (asks + keys - queries)[:, None] - there[None, :]
    if causal:
        allowed = allowed & (apart >= 0)
    if windowed:
        allowed = allowed & (apart < window) & (apart > -window)
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
def _stay(row, column, keys, threshold, seed, tall: tl.constexpr, wide: tl.constexpr):  # type: ignore[no-untyped-def]
    """Which weights are kept.

    row: that of the first query in the weights of all heads, one below the other.
    """
    rows = row + tl.arange(0, tall)
    return stays(rows[:, None] * keys + column + tl.arange(0, wide)[None, :], threshold, seed)


@triton.jit(do_not_specialize=LENGTHS)
def _attention_forward(  # type: ignore[no-untyped-def]
    query, key, value, outputs, asked, offered, ranges, real, threshold, seed, factor, scale,
    window, heads, group, queries, keys, dim, value_dim,
    query_b, query_h, query_l, key_b, key_h, key_l, value_b, value_h, value_l,
    outputs_b, outputs_h, outputs_l,
    tall: tl.constexpr, wide: tl.constexpr, width: tl.constexpr, value_width: tl.constexpr,
    causal: tl.constexpr, windowed: tl.constexpr, packed: tl.constexpr, ranged: tl.constexpr,
    padded: tl.constexpr, exact: tl.constexpr, drops: tl.constexpr, held: tl.constexpr,
):  # fmt: skip
    number = tl.program_id(0)
    batch = (number // heads).to(tl.int64)
    head = number % heads
    shared = head // group
    first, queried, start, there = 0, queries, 0, keys
    if packed:
        batch, first, queried, start, there = _document_place(asked, offered, batch, queries, keys)
    place = query + batch * query_b + head * query_h + first * query_l
    q = _tile(place, query_l, queried, dim, tall, width)
    place = key + batch * key_b + shared * key_h + start * key_l
    k = _tile(place, key_l, there, dim, wide, width)
    place = value + batch * value_b + shared * value_h + start * value_l
    v = _tile(place, value_l, there, value_dim, wide, value_width)
    weights = _tile_weights(
        q, k, ranges, real, batch, queried, there, window, scale, tall, wide, causal, windowed,
        ranged, padded, exact,
    )  # fmt: skip
    if held:
        seed = tl.load(seed)
    if drops:
        row = (batch * heads + head) * queries + first
        stay = _stay(row, start, keys, threshold, seed, tall, wide)
        weights = tl.where(stay, weights * factor, 0.0)
    sums = tl.dot(weights.to(v.dtype), v, input_precision=exact)
    place = outputs + batch * outputs_b + head * outputs_h + first * outputs_l
    _put(place, outputs_l, queried, value_dim, sums, tall, value_width)


@triton.jit(do_not_specialize=LENGTHS)
def _attention_backward(  # type: ignore[no-untyped-def]
    query, key, value, d_outputs, d_query, d_key, d_value, asked, offered, ranges, real,
    threshold, seed, factor, scale, window, heads, kv_heads, queries, keys, dim, value_dim,
    query_b, query_h, query_l, key_b, key_h, key_l, value_b, value_h, value_l,
    outputs_b, outputs_h, outputs_l, d_query_b, d_query_h, d_query_l,
    d_key_b, d_key_h, d_key_l, d_value_b, d_value_h, d_value_l, group: tl.constexpr,
    tall: tl.constexpr, wide: tl.constexpr, width: tl.constexpr, value_width: tl.constexpr,
    causal: tl.constexpr, windowed: tl.constexpr, packed: tl.constexpr, ranged: tl.constexpr,
    padded: tl.constexpr, exact: tl.constexpr, drops: tl.constexpr, held: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    batch = (program // kv_heads).to(tl.int64)
    shared = program % kv_heads
    first, queried, start, there = 0, queries, 0, keys
    if packed:
        batch, first, queried, start, there = _document_place(asked, offered, batch, queries, keys)
    place = key + batch * key_b + shared * key_h + start * key_l
    k = _tile(place, key_l, there, dim, wide, width)
    place = value + batch * value_b + shared * value_h + start * value_l
    v = _tile(place, value_l, there, value_dim, wide, value_width)
    of_key = tl.zeros([wide, width], tl.float32)
    of_value = tl.zeros([wide, value_width], tl.float32)
    if held:
        seed = tl.load(seed)
    for each in range(group):
        head = shared * group + each
        place = query + batch * query_b + head * query_h + first * query_l
        q = _tile(place, query_l, queried, dim, tall, width)
        place = d_outputs + batch * outputs_b + head * outputs_h + first * outputs_l
        slope = _tile(place, outputs_l, queried, value_dim, tall, value_width)
        weights = _tile_weights(
            q, k, ranges, real, batch, queried, there, window, scale, tall, wide, causal, windowed,
            ranged, padded, exact,
        )  # fmt: skip
        back = tl.dot(slope, tl.trans(v), input_precision=exact)
        dropped = weights
        if drops:
            row = (batch * heads + head) * queries + first
            stay = _stay(row, start, keys, threshold, seed, tall, wide)
            dropped = tl.where(stay, weights * factor, 0.0)
            back = tl.where(stay, back * factor, 0.0)
        of_value += tl.dot(tl.trans(dropped.to(v.dtype)), slope, input_precision=exact)
        mean = tl.sum(weights * back, axis=1)
        of_scores = (weights * (back - mean[:, None]) * scale).to(k.dtype)
        of_key += tl.dot(tl.trans(of_scores), q, input_precision=exact)
        of_query = tl.dot(of_scores, k, input_precision=exact)
        place = d_query + batch * d_query_b + head * d_query_h + first * d_query_l
        _put(place, d_query_l, queried, dim, of_query, tall, width)
    place = d_key + batch * d_key_b + shared * d_key_h + start * d_key_l
    _put(place, d_key_l, there, dim, of_key, wide, width)
    place = d_value + batch * d_value_b + shared * d_value_h + start * d_value_l
    _put(place, d_value_l, there, value_dim, of_value, wide, value_width)


@dataclass(frozen=True)
class AllowedKeys:
    """What queries may attend to.

    Attributes:
        causal: no keys after the query; the last query is at the last key.
        window: keys fewer positions away than this; None: all.
        ranges: of each query the first key, and the end of its keys; int32.
        real: the keys that are no padding.
        offsets: where documents begin that share rows, of the queries and of the keys, counted over
            all rows, and at the end the number of all positions; int32. Together they are whole
            rows. A query attends to its own document.
        longest: positions of the longest document, of queries and of keys.
    """

    causal: bool = False
    window: int | None = None
    ranges: Int[Tensor, "batch query 2"] | None = None
    real: Bool[Tensor, "batch key"] | None = None
    offsets: tuple[Int[Tensor, " slots"], Int[Tensor, " slots"]] | None = None
    longest: tuple[int, int] | None = None


EVERYTHING = AllowedKeys()


def attend(
    query: Float[Tensor, "batch heads query dim"],
    key: Float[Tensor, "batch kv_heads key dim"],
    value: Float[Tensor, "batch kv_heads key value_dim"],
    scale: float,
    allowed: AllowedKeys = EVERYTHING,
    drop: DropoutMask | None = None,
) -> Float[Tensor, "batch heads query value_dim"]:
    """softmax(scale query key^T) value; the heads are concatenated in memory."""
    outputs: Tensor = _SentenceAttention.apply(query, key, value, scale, allowed, drop)
    return outputs


class _SentenceAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: AttentionContext,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        scale: float,
        allowed: AllowedKeys,
        drop: DropoutMask | None,
    ) -> Tensor:
        _, heads, queries, dim = query.shape
        outputs = side_by_side(query, value.shape[3])
        ctx.save_for_backward(query, key, value)
        ctx.drop, ctx.scale, ctx.allowed = drop, scale, allowed
        with torch.cuda.device_of(query):
            _attention_forward[(_count_texts(query, allowed) * heads,)](
                query, key, value, outputs, *_held(query, allowed), *mask_numbers(drop), scale,
                allowed.window or 0, heads, heads // key.shape[1], queries, key.shape[2], dim,
                value.shape[3], *_strides(query, key, value, outputs),
                **_constants(query, value, allowed, drop),
            )  # fmt: skip
        return outputs

    @staticmethod
    def backward(ctx: AttentionContext, d_outputs: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value = ctx.saved_tensors
        allowed = ctx.allowed
        _, heads, queries, dim = query.shape
        kv_heads, keys = key.shape[1:3]
        if d_outputs.stride(-1) != 1:
            d_outputs = d_outputs.contiguous()
        slopes = [side_by_side(each, each.shape[-1]) for each in (query, key, value)]
        with torch.cuda.device_of(query):
            _attention_backward[(_count_texts(query, allowed) * kv_heads,)](
                query, key, value, d_outputs, *slopes, *_held(query, allowed),
                *mask_numbers(ctx.drop), ctx.scale, allowed.window or 0, heads, kv_heads, queries,
                keys, dim, value.shape[3], *_strides(query, key, value, d_outputs, *slopes),
                group=heads // kv_heads,
                **_constants(query, value, allowed, ctx.drop),
            )  # fmt: skip
        return (*slopes, None, None, None)


def _count_texts(query: Tensor, allowed: AllowedKeys) -> int:
    """Rows, or documents that share rows; the last ones may be empty."""
    return query.shape[0] if allowed.offsets is None else len(allowed.offsets[0]) - 1


def _held(query: Tensor, allowed: AllowedKeys) -> list[Tensor]:
    """Offsets, ranges and real keys; something else where there are none, which is not read."""
    batch, _, queries, _ = query.shape
    asked, offered = allowed.offsets or (query, query)
    ranges, real = allowed.ranges, allowed.real
    ranges = query if ranges is None else ranges.expand(batch, queries, 2).contiguous()
    real = query if real is None else real.expand(batch, -1).contiguous()
    return [asked, offered, ranges, real]


def _strides(*tensors: Tensor) -> list[int]:
    return [stride for tensor in tensors for stride in tensor.stride()[:3]]


def _constants(
    query: Tensor, value: Tensor, allowed: AllowedKeys, drop: DropoutMask | None
) -> dict[str, object]:
    """What the kernels are compiled for."""
    lengths = allowed.longest or (query.shape[2], value.shape[2])
    tall, wide, width, value_width = (
        max(16, triton.next_power_of_2(size))  # the least that tl.dot multiplies
        for size in (*lengths, query.shape[3], value.shape[3])
    )
    return {
        "tall": tall,
        "wide": wide,
        "width": width,
        "value_width": value_width,
        "causal": allowed.causal,
        "windowed": allowed.window is not None,
        "packed": allowed.offsets is not None,
        "ranged": allowed.ranges is not None,
        "padded": allowed.real is not None,
        "exact": "ieee" if query.dtype == torch.float32 else "tf32",  # of float32 alone
        "drops": drop is not None,
        "held": drop is not None and isinstance(drop.seed, Tensor),
        # The fewest with which no register of the backward pass is spilled (ptxas, sm_90).
        "num_warps": max(1, min(8, tall * wide // 256)),
    }
