"""Attention sinks: a learned number for each head is one more score, whose key has no value.

    weight(i, j) = exp(s_ij) / (exp(sink_h) + sum over k of exp(s_ik))

A head that finds nothing gives its weight to the sink, instead of to a position that it does not
need. The weights over the keys therefore sum to less than 1; the rest is the sink's.

Source: Miller 2023, "Attention is off by one" (with the number 0); Xiao et al. 2024 (StreamingLLM),
section 3.3; OpenAI 2025, gpt-oss model card, section 2.2 (learned, for each head).
"""

import torch
import torch.nn.functional as F
from torch import nn

from jumok.attention.core import attend, attend_with_weights, repeat_heads
from jumok.attention.masks import AttentionMask
from jumok.kernels import native
from jumok.kernels.noise import DropoutMask
from jumok.shapes import Float, Tensor

PLAIN_UP_TO = 4
"""Queries up to which the weights are computed plainly: keys and values need not be copied."""


class AttentionSink(nn.Module):
    """The scores of the sink, one for each head; they start at 0."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.score = nn.Parameter(torch.zeros(heads))

    def forward(
        self,
        query: Float[Tensor, "batch heads query dim"],
        key: Float[Tensor, "batch kv_heads key dim"],
        value: Float[Tensor, "batch kv_heads key value_dim"],
        allowed: AttentionMask | None,
        bias: Float[Tensor, "#batch #heads #query key"] | None,
        drop: DropoutMask | None,
        scale: float,
    ) -> Float[Tensor, "batch heads query value_dim"]:
        """What `attend_with_weights` gives with this sink, by the fastest path.

        The sink becomes a key without a value, before all others, so that each query may still
        attend to the keys up to its own. Queries and keys get one dimension more: it is 0 in
        all other keys, 1 in that of the sink, and the sink's score, divided by the scale, in the
        queries. So the kernels for products compute its weight and its gradient.
        """
        if query.shape[2] <= PLAIN_UP_TO:
            heads = query.shape[1]
            key, value = repeat_heads(key, heads), repeat_heads(value, heads)
            drawn = (
                None if allowed is None else allowed.draw(query.shape[2], key.shape[2], key.device)
            )
            return attend_with_weights(query, key, value, drawn, bias, drop, scale, self.score)[0]
        lanes, dim = native.LANES, query.shape[-1]
        wide = dim + lanes - dim % lanes  # as wide as the kernels want it, and one more at least
        column = (self.score / scale).to(query.dtype)[None, :, None, None]
        column = column.expand(*query.shape[:3], 1)
        query = F.pad(torch.cat((query, column), dim=-1), (0, wide - dim - 1))
        sink = F.pad(key.new_ones(1), (dim, wide - dim - 1))
        sink = sink.expand(*key.shape[:2], 1, wide)
        mask = None if allowed is None else _with_sink(allowed, query.shape[2], key)
        key = torch.cat((sink, F.pad(key, (0, wide - dim))), dim=2)
        value = F.pad(value, (0, 0, 1, 0))
        bias = None if bias is None else F.pad(bias, (1, 0))
        return attend(query, key, value, mask, bias, drop, scale)


def _with_sink(
    allowed: AttentionMask, queries: int, key: Float[Tensor, "batch heads key dim"]
) -> AttentionMask:
    """The mask with the sink as the first key, which every query may attend to."""
    if allowed.window is None and allowed.documents is None and allowed.matrix is None:
        real = None if allowed.real is None else F.pad(allowed.real, (1, 0), value=True)
        return AttentionMask(causal=allowed.causal, real=real, copies=allowed.copies)
    drawn = allowed.draw(queries, key.shape[2], key.device)
    return AttentionMask(matrix=F.pad(drawn, (1, 0), value=True))
