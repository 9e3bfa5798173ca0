"""The formula that everything else is built on: a weighted sum of values.

    attend(Q, K, V) = softmax(Q K^T / sqrt(d_k) + bias) V

`attend` takes the path that was measured fastest on the device; `attend_with_weights` is its
readable twin and also returns the weights. A test checks that both agree, in gradients too.

Source: Vaswani et al. 2017, section 3.2.1; lectures 000 and 003.
"""

import math

import torch
import torch.nn.functional as F

from jumok.kernels import attention as kernel
from jumok.kernels.noise import DropoutMask
from jumok.shapes import Bool, Float, Tensor


def attend(
    query: Float[Tensor, "batch heads query dim"],
    key: Float[Tensor, "batch heads key dim"],
    value: Float[Tensor, "batch heads key value_dim"],
    allowed: Bool[Tensor, "#batch #heads #query key"] | None = None,
    bias: Float[Tensor, "#batch #heads #query key"] | None = None,
    drop: DropoutMask | None = None,
) -> Float[Tensor, "batch heads query value_dim"]:
    """Each query's weighted sum of the values.

    Args:
        allowed: True where a query may attend; None allows all. A query that may attend to
            nothing gets zeros.
        bias: added to the scaled scores (ALiBi); None adds nothing.
        drop: which weights to drop while training; None drops none.
    """
    learnt = bias is not None and bias.requires_grad
    if not learnt and kernel.serves(query, key, value):
        return kernel.attend(query, key, value, allowed, bias, drop)
    if query.is_cuda and drop is None:
        return _fused(query, key, value, allowed, bias)
    return attend_with_weights(query, key, value, allowed, bias, drop)[0]


def attend_with_weights(
    query: Float[Tensor, "batch heads query dim"],
    key: Float[Tensor, "batch heads key dim"],
    value: Float[Tensor, "batch heads key value_dim"],
    allowed: Bool[Tensor, "#batch #heads #query key"] | None = None,
    bias: Float[Tensor, "#batch #heads #query key"] | None = None,
    drop: DropoutMask | None = None,
) -> tuple[Float[Tensor, "batch heads query value_dim"], Float[Tensor, "batch heads query key"]]:
    """The readable twin of `attend`: also returns the weights, before dropout; each row sums to 1.

    The largest score is subtracted before the exponential (as torch's softmax does), so a score
    of 710, where exp overflows float64, is as harmless as any other.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -math.inf)
    weights = scores.softmax(dim=-1)
    if allowed is not None:
        # softmax of a row of -inf is NaN; such a query attends to nothing
        weights = weights.masked_fill(~allowed, 0.0)
    kept = weights if drop is None else drop.apply(weights)
    return kept @ value, weights


def _fused(
    query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None, bias: Tensor | None
) -> Tensor:
    """torch's fused kernel; its boolean mask also means True = may attend."""
    mask = allowed
    if bias is not None:
        bias = bias.to(query.dtype)
        mask = bias if allowed is None else bias.masked_fill(~allowed, -math.inf)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def split_heads(
    states: Float[Tensor, "batch length width"], heads: int
) -> Float[Tensor, "batch {heads} length width//{heads}"]:
    """Cuts the last axis into heads; a view, nothing is copied."""
    return states.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge_heads(
    states: Float[Tensor, "batch heads length dim"],
) -> Float[Tensor, "batch length heads*dim"]:
    """Concatenates the heads; a view if `attend` wrote them that way."""
    return states.transpose(1, 2).flatten(2)


def causal(queries: int, keys: int, device: torch.device) -> Bool[Tensor, "1 1 {queries} {keys}"]:
    """The look-ahead mask, aligned to the end of the keys: the last query attends to every key."""
    mask = torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)
    return mask[None, None]
