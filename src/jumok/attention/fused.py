"""Attention by fused kernels, as GPUs run it: they get the kind of mask, not a matrix.

Sentences of up to 128 positions are trained by jumok's own kernel (`in_sentences`), which also
drops weights. Everything else is torch's:

| mask                              | kernel                         | what it gets            |
|-----------------------------------|--------------------------------|-------------------------|
| none; padding                     | scaled_dot_product_attention   | nothing; a row of bytes |
| look-ahead                        | scaled_dot_product_attention   | `is_causal`             |
| documents with offsets, windows   | varlen_attn (`varlen.py`)      | offsets and window      |
| documents or windows, otherwise   | flex_attention                 | ranges of keys          |
| a matrix, or a bias on the scores | scaled_dot_product_attention   | the matrix              |

A matrix is drawn only in the last case, and where flex_attention cannot be used: on a CPU it has no
backward pass.

Source: Dao 2023 (FlashAttention-2); Dong et al. 2024 (flex attention).
"""

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F

from jumok.attention import varlen
from jumok.attention.masks import AttentionMask
from jumok.kernels.card import serving
from jumok.kernels.noise import DropoutMask
from jumok.shapes import Float, Int, Tensor

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

    from jumok.kernels.card.attention import AllowedKeys


Kernel = Callable[..., Tensor]


def in_sentences(
    query: Float[Tensor, "batch heads query dim"],
    key: Float[Tensor, "batch kv_heads key dim"],
    value: Float[Tensor, "batch kv_heads key value_dim"],
    mask: AttentionMask | None,
    bias: Float[Tensor, "#batch #heads #query key"] | None,
    drop: DropoutMask | None,
    scale: float | None,
) -> Float[Tensor, "batch heads query value_dim"] | None:
    """Each query's weighted sum of the values, by the kernel for training on sentences; None: it
    does not serve them.
    """
    learning = torch.is_grad_enabled() and query.requires_grad
    if not learning or bias is not None or not serving.serves(query):
        return None
    if mask is not None and (mask.matrix is not None or mask.copies > 1):
        return None
    from jumok.kernels.card import attention as sentences

    allowed = sentences.EVERYTHING if mask is None else _allowed_keys(mask, query, key)
    if not sentences.serves(query, key, value, allowed.longest):
        return None
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return sentences.attend(query, key, value, scale, allowed, drop)


def _allowed_keys(mask: AttentionMask, query: Tensor, key: Tensor) -> "AllowedKeys":
    """The mask as the kernel for sentences takes it."""
    from jumok.kernels.card.attention import AllowedKeys

    if mask.documents is None:
        return AllowedKeys(mask.causal, mask.window, real=mask.real)
    offsets = offsets_of(mask, query, key)
    if offsets is None or mask.real is not None:
        ranges = mask.ranges(query.shape[2], key.shape[2], query.device)
        return AllowedKeys(ranges=ranges, real=mask.real)
    return AllowedKeys(mask.causal, mask.window, offsets=offsets[0], longest=offsets[1])


def attend(
    query: Float[Tensor, "batch heads query dim"],
    key: Float[Tensor, "batch kv_heads key dim"],
    value: Float[Tensor, "batch kv_heads key value_dim"],
    mask: AttentionMask | None = None,
    bias: Float[Tensor, "#batch #heads #query key"] | None = None,
    scale: float | None = None,
) -> Float[Tensor, "batch heads query value_dim"]:
    """Each query's weighted sum of the values; the arguments are those of `core.attend`."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    shared = key.shape[1] != query.shape[1]
    kernel: Kernel = functools.partial(F.scaled_dot_product_attention, scale=scale)
    if shared:
        kernel = functools.partial(kernel, enable_gqa=True)
    if bias is None and (mask is None or _looks_ahead_alone(mask)):
        return _by_kind(kernel, query, key, value, mask)
    if bias is None and mask is not None and mask.matrix is None and mask.has_ranges:
        outputs = _in_documents(query, key, value, mask, scale)
        if outputs is not None:
            return outputs
        if query.is_cuda:
            return by_flex(query, key, value, mask, scale)
    drawn = None if mask is None else _matrix(mask, query, key)
    if bias is not None:
        bias = bias.to(query.dtype)
        drawn = bias if drawn is None else bias.masked_fill(~drawn, -math.inf)
    return kernel(query, key, value, attn_mask=drawn)


def _looks_ahead_alone(mask: AttentionMask) -> bool:
    """Whether the mask is the look-ahead mask, and nothing else."""
    others = mask.real, mask.documents, mask.matrix, mask.window
    return mask.causal and mask.copies == 1 and all(each is None for each in others)


def _by_kind(
    kernel: Kernel, query: Tensor, key: Tensor, value: Tensor, mask: AttentionMask | None
) -> Tensor:
    queries, keys = query.shape[2], key.shape[2]
    if mask is None or (queries == 1 and keys):
        return kernel(query, key, value)
    if queries == keys:
        return kernel(query, key, value, is_causal=True)
    # is_causal would align the first query with the first key
    from torch.nn.attention import bias as torch_bias

    return kernel(query, key, value, attn_mask=torch_bias.causal_lower_right(queries, keys))


def _matrix(mask: AttentionMask, query: Tensor, key: Tensor) -> Tensor | None:
    """What has to be drawn."""
    if mask.has_ranges:
        return mask.draw(query.shape[2], key.shape[2], query.device)
    return mask.forbidden_keys()


def _in_documents(
    query: Tensor, key: Tensor, value: Tensor, mask: AttentionMask, scale: float
) -> Tensor | None:
    """By the kernel that gets the offsets of documents; None: it does not serve them."""
    left = -1 if mask.window is None else mask.window - 1
    sides = (left, 0 if mask.causal else left)
    if mask.real is not None or mask.copies > 1 or not varlen.serves(query, value, sides):
        return None
    offsets = offsets_of(mask, query, key)
    if offsets is None:
        return None
    return varlen.attend(query, key, value, *offsets, sides, scale)


def offsets_of(
    mask: AttentionMask, query: Tensor, key: Tensor
) -> tuple[tuple[Int[Tensor, " slots"], Int[Tensor, " slots"]], tuple[int, int]] | None:
    """Where documents begin, of queries and of keys, and how long the longest ones are.

    Without documents each row is one. None: the mask has documents, but not their offsets.
    """
    if mask.documents is None:
        rows = torch.arange(query.shape[0] + 1, dtype=torch.int32, device=query.device)
        sizes = query.shape[2], key.shape[2]
        return (rows * sizes[0], rows * sizes[1]), sizes
    of_queries, of_keys = mask.documents, mask.key_documents or mask.documents
    if of_queries.offsets is None or of_keys.offsets is None:
        return None
    longest = of_queries.longest or query.shape[2], of_keys.longest or key.shape[2]
    return (of_queries.offsets, of_keys.offsets), longest


def by_flex(
    query: Float[Tensor, "batch heads query dim"],
    key: Float[Tensor, "batch kv_heads key dim"],
    value: Float[Tensor, "batch kv_heads key value_dim"],
    mask: AttentionMask,
    scale: float,
) -> Float[Tensor, "batch heads query value_dim"]:
    """By flex_attention, from the ranges of keys and a row of real keys; no gradient on a CPU."""
    kernel: Kernel = _compiled_flex() if query.is_cuda else _flex_attention()
    blocks = _blocks(mask, query, key.shape[2])
    shared = key.shape[1] != query.shape[1]
    return kernel(query, key, value, block_mask=blocks, scale=scale, enable_gqa=shared)


def _blocks(mask: AttentionMask, query: Tensor, keys: int) -> "BlockMask":
    """The mask as flex_attention reads it: which blocks of keys there are for which queries."""
    batch, _, queries, _ = query.shape
    ranges, real = mask.ranges(queries, keys, query.device), mask.real
    assert ranges is not None
    shared = len(ranges) == 1 and (real is None or len(real) == 1)  # by the rows of the batch
    first, end = ranges.expand(batch, queries, 2).unbind(-1)
    # lambdas, because flex_attention counts the arguments, which checked functions hide
    parts: list[Kernel] = [
        lambda row, _head, asks, key: (first[row, asks] <= key) & (key < end[row, asks])
    ]
    if real is not None:
        padded = real.expand(batch, keys)
        parts.append(lambda row, _head, _asks, key: padded[row, key])
    from torch.nn.attention import flex_attention as flex

    allowed, rows = flex.and_masks(*parts), None if shared else batch
    return flex.create_block_mask(allowed, rows, None, queries, keys, device=query.device)


@functools.cache
def _compiled_flex() -> Kernel:
    """flex_attention is fast only as a compiled kernel: without that it draws all scores."""
    kernel: Kernel = torch.compile(_flex_attention(), dynamic=False)
    return kernel


def _flex_attention() -> Any:
    """torch's function, whose type has overloads."""
    from torch.nn.attention import flex_attention as flex

    return flex.flex_attention
