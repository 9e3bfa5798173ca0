"""The formula that everything else is built on: a weighted sum of values.

    attend(Q, K, V) = softmax(scale Q K^T + bias) V,  scale = 1 / sqrt(d_k)

`attend` takes the path that was measured fastest on the device; `attend_with_weights` is its
readable twin and also returns the weights. A test checks that both agree, in gradients too.

Source: Vaswani et al. 2017, section 3.2.1; lectures 000 and 003; shared keys: Ainslie et al. 2023
(grouped queries).
"""

import math

import torch

from jumok.attention import fused
from jumok.attention.masks import AttentionMask
from jumok.kernels import attention as kernel
from jumok.kernels.noise import DropoutMask
from jumok.shapes import Bool, Float, Tensor


def attend(
    query: Float[Tensor, "batch heads query dim"],
    key: Float[Tensor, "batch kv_heads key dim"],
    value: Float[Tensor, "batch kv_heads key value_dim"],
    allowed: AttentionMask | None = None,
    bias: Float[Tensor, "#batch #heads #query key"] | None = None,
    drop: DropoutMask | None = None,
    scale: float | None = None,
) -> Float[Tensor, "batch heads query value_dim"]:
    """Each query's weighted sum of the values.

    Args:
        key, value: may have fewer heads than the queries: each of them then serves as many
            adjacent heads of queries as `repeat_heads` would repeat it.
        allowed: what each query may attend to; None allows all. A query that may attend to
            nothing gets zeros.
        bias: added to the scaled scores (ALiBi); None adds nothing.
        drop: which weights to drop while training; None drops none.
        scale: the factor of the products; None: 1 / sqrt(dim).
    """
    queries = query.shape[2]
    first = 0 if allowed is None else allowed.first_key(queries, key.shape[2])
    if allowed is not None and (first or queries == 1) and drop is None:  # a step of decoding
        key, value, allowed = key[:, :, first:], value[:, :, first:], allowed.after(first, queries)
        bias = None if bias is None else bias[..., first:]
    if query.device.type != "cpu":
        outputs = fused.in_sentences(query, key, value, allowed, bias, drop, scale)
        if outputs is not None:
            return outputs
        if drop is None:
            return fused.attend(query, key, value, allowed, bias, scale)
    if key.shape[1] != query.shape[1]:
        return _grouped(query, key, value, allowed, bias, drop, scale)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    keys = key.shape[2]
    learnt = bias is not None and bias.requires_grad
    if not learnt and kernel.serves(query, key, value):
        ranges = others = None
        if allowed is not None:
            ranges = allowed.ranges(queries, keys, query.device)
            others = allowed.forbidden_keys()
        return kernel.attend(query, key, value, ranges, others, bias, drop, scale)
    drawn = None if allowed is None else allowed.draw(queries, keys, query.device)
    return attend_with_weights(query, key, value, drawn, bias, drop, scale)[0]


def attend_with_weights(
    query: Float[Tensor, "batch heads query dim"],
    key: Float[Tensor, "batch heads key dim"],
    value: Float[Tensor, "batch heads key value_dim"],
    allowed: Bool[Tensor, "#batch #heads #query key"] | None = None,
    bias: Float[Tensor, "#batch #heads #query key"] | None = None,
    drop: DropoutMask | None = None,
    scale: float | None = None,
    sink: Float[Tensor, " heads"] | None = None,
) -> tuple[Float[Tensor, "batch heads query value_dim"], Float[Tensor, "batch heads query key"]]:
    """The readable twin of `attend`; also returns the weights, before dropout.

    Each row of them sums to 1; with a sink, to 1 together with the sink's.
    """
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return attend_by_scores(query @ key.transpose(-2, -1) * scale, value, allowed, bias, drop, sink)


def attend_by_scores(
    scores: Float[Tensor, "batch heads query key"],
    value: Float[Tensor, "batch heads key value_dim"],
    allowed: Bool[Tensor, "#batch #heads #query key"] | None = None,
    bias: Float[Tensor, "#batch #heads #query key"] | None = None,
    drop: DropoutMask | None = None,
    sink: Float[Tensor, " heads"] | None = None,
) -> tuple[Float[Tensor, "batch heads query value_dim"], Float[Tensor, "batch heads query key"]]:
    """The weighted sums and the weights of any scores, not only of products.

    Args:
        sink: the score of a first key without a value (`attention/variants/sink.py`); None: there
            is none.

    The largest score is subtracted before the exponential (as torch's softmax does), so a score
    of 710, where exp overflows float64, is as harmless as any other.
    """
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    if sink is not None:
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -math.inf)
        column = sink.to(scores.dtype)[:, None, None].expand(*scores.shape[:-1], 1)
        wide = torch.cat((column, scores), dim=-1).softmax(dim=-1).to(value.dtype)
        kept = wide if drop is None else drop.apply(wide)
        return kept[..., 1:] @ value, wide[..., 1:]
    weights = softmax_of_allowed(scores, allowed).to(value.dtype)
    kept = weights if drop is None else drop.apply(weights)
    return kept @ value, weights


def softmax_of_allowed(
    scores: Float[Tensor, "*axes query key"], allowed: Bool[Tensor, "*#axes #query key"] | None
) -> Float[Tensor, "*axes query key"]:
    """The softmax over the allowed keys; a query that may attend to nothing gets zeros."""
    if allowed is None:
        return scores.softmax(dim=-1)
    # softmax of a row of -inf is NaN
    weights = scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)
    return weights.masked_fill(~allowed, 0.0)


def _grouped(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    allowed: AttentionMask | None,
    bias: Tensor | None,
    drop: DropoutMask | None,
    scale: float | None,
) -> Tensor:
    """The queries of all heads that share a key become those of one head: no key is copied."""
    heads, queries = query.shape[1:3]
    group = heads // key.shape[1]

    def folded(rows: Tensor) -> Tensor:
        """(#batch #heads #query _) to (#batch #kv_heads group*query _)."""
        whole = rows.expand(-1, group if rows.shape[1] == 1 else heads, queries, -1)
        return whole.reshape(rows.shape[0], -1, group * queries, rows.shape[3])

    if allowed is not None:
        allowed = allowed.folded(heads, key.shape[1])
    bias = None if bias is None else folded(bias)
    outputs = attend(folded(query), key, value, allowed, bias, drop, scale)
    return outputs.unflatten(2, (group, queries)).flatten(1, 2)


def repeat_heads(
    states: Float[Tensor, "batch kv_heads length dim"], heads: int
) -> Float[Tensor, "batch {heads} length dim"]:
    """Each head as often in a row as there are queries' heads that share it."""
    if states.shape[1] == heads:
        return states
    return states.repeat_interleave(heads // states.shape[1], dim=1)


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
