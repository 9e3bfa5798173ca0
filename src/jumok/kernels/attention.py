"""Attention over short sequences on a CPU, without copies of heads or masks.

Its readable twin is `jumok.attention.core.attend_with_weights`. torch's fused CPU kernel takes 6
to 12 times as long for the backward pass in bfloat16 at the lengths of sentences.
"""

import ctypes

import torch
import torch.nn.functional as F

from jumok.kernels import native
from jumok.kernels.context import Context
from jumok.kernels.noise import DropoutMask
from jumok.shapes import Bool, Float, Int, Tensor

LONGEST = 1024
"""Keys beyond which the products are large enough for torch's own kernels."""

FEW = 4
"""Queries up to which it does not pay to copy the keys."""


def serves(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether `attend` takes these tensors."""
    return (
        query.shape[-1] % native.LANES == 0
        and value.shape[-1] % native.LANES == 0
        and 0 < key.shape[-2] <= LONGEST
        and query.numel() > 0
        and all(tensor.stride(-1) == 1 for tensor in (query, key, value))
        and native.serves(query, key, value)
    )


def attend(
    query: Float[Tensor, "batch heads query dim"],
    key: Float[Tensor, "batch heads key dim"],
    value: Float[Tensor, "batch heads key value_dim"],
    ranges: Int[Tensor, "#batch query 2"] | None = None,
    allowed: Bool[Tensor, "#batch #heads #query key"] | None = None,
    bias: Float[Tensor, "#batch #heads #query key"] | None = None,
    drop: DropoutMask | None = None,
    scale: float | None = None,
) -> Float[Tensor, "batch heads query value_dim"]:
    """softmax(scale query key^T + bias) value; the heads are concatenated in memory.

    No gradient flows to `bias`.

    Args:
        ranges: of each query the first key that it may attend to, and their end, for all heads;
            int32, and neither is below 0 or beyond the last key. None: all keys.
        allowed: which keys of its range a query may attend to; None: all.
        scale: None: 1 / sqrt(dim).
    """
    scale = query.shape[-1] ** -0.5 if scale is None else float(scale)
    learning = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
    if query.shape[2] <= FEW and drop is None and not learning:
        return _step(query, key, value, ranges, allowed, bias, scale)
    return _Attention.apply(query, key, value, ranges, allowed, bias, drop, scale)


def _step(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    ranges: Tensor | None,
    allowed: Tensor | None,
    bias: Tensor | None,
    scale: float,
) -> Tensor:
    """A step of decoding: keys and values are read in place, and no weights are kept."""
    outputs = side_by_side(query, value.shape[-1])
    allowed, bias = _expanded(allowed, query, key), _whole_rows(bias, query, key)
    native.call(
        "attention_step", query.dtype, query, key, value, outputs, *_spans(ranges), allowed, bias,
        sizes_of(query, value), strides_of(query, key, value, outputs, allowed, bias), scale,
    )  # fmt: skip
    return outputs


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        ranges: Tensor | None,
        allowed: Tensor | None,
        bias: Tensor | None,
        drop: DropoutMask | None,
        scale: float,
    ) -> Tensor:
        batch, heads, queries, _ = query.shape
        keys, value_dim = value.shape[-2:]
        outputs = side_by_side(query, value_dim)
        width = -(-keys // native.LANES) * native.LANES
        weights = query.new_empty(batch, heads, queries, width)
        blocks = -(-queries // native.LANES)
        reach = torch.empty(batch, heads, blocks, 2, dtype=torch.int32)
        allowed, bias = _expanded(allowed, query, key), _whole_rows(bias, query, key)
        native.call(
            "attention_forward", query.dtype, query, key, value, outputs, weights, reach,
            *_spans(ranges), allowed, bias, sizes_of(query, value),
            strides_of(query, key, value, outputs, allowed, bias), scale, *native.numbers(drop),
        )  # fmt: skip
        ctx.save_for_backward(query, key, value, weights, reach)
        ctx.drop, ctx.scale = drop, scale
        return outputs

    @staticmethod
    def backward(ctx: Context, d_outputs: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, weights, reach = ctx.saved_tensors
        if d_outputs.stride(-1) != 1:
            d_outputs = d_outputs.contiguous()
        slopes = [side_by_side(tensor, tensor.shape[-1]) for tensor in (query, key, value)]
        native.call(
            "attention_backward", query.dtype, query, key, value, weights, reach, d_outputs,
            *slopes, sizes_of(query, value), strides_of(query, key, value, d_outputs, *slopes),
            ctx.scale, *native.numbers(ctx.drop),
        )  # fmt: skip
        return (*slopes, None, None, None, None, None)


def side_by_side(like: Float[Tensor, "batch heads length _"], dim: int) -> Tensor:
    """Memory for (batch heads length dim) in which merging the heads is a view."""
    batch, heads, length, _ = like.shape
    return like.new_empty(batch, length, heads, dim).transpose(1, 2)


def sizes_of(
    query: Float[Tensor, "batch heads query dim"], value: Float[Tensor, "batch heads key value_dim"]
) -> ctypes.Array[ctypes.c_int64]:
    """The `Sizes` of vectors.h."""
    batch, heads, queries, dim = query.shape
    return (ctypes.c_int64 * 6)(batch, heads, queries, *value.shape[-2:-1], dim, value.shape[-1])


def strides_of(*tensors: Tensor | None) -> ctypes.Array[ctypes.c_int64]:
    """The `Strides` of each tensor in a row; None is left out."""
    flat = [stride for tensor in tensors if tensor is not None for stride in tensor.stride()[:3]]
    return (ctypes.c_int64 * len(flat))(*flat)


def _spans(ranges: Tensor | None) -> tuple[Tensor | None, int]:
    """The ranges, and how far those of one sentence are from those of the next."""
    if ranges is None:
        return None, 0
    assert ranges.dtype == torch.int32
    assert ranges.is_contiguous()
    return ranges, 0 if ranges.shape[0] == 1 else ranges.shape[1]


def _expanded(allowed: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
    """The mask in the shape of the scores; only its last axis is ever copied."""
    if allowed is None:
        return None
    allowed = allowed.expand(*query.shape[:3], key.shape[2])
    return allowed if allowed.stride(-1) == 1 else allowed.contiguous()


def _whole_rows(bias: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
    """The bias in float32 and in the shape of the scores, its rows as wide as the kernel reads."""
    if bias is None:
        return None
    keys = key.shape[2]
    wide = F.pad(bias.float(), (0, -keys % native.LANES)).contiguous()
    return wide.expand(*query.shape[:3], wide.shape[-1])
