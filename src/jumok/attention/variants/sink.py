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
from jumok.kernels import native
from jumok.kernels.noise import DropoutMask
from jumok.shapes import Bool, Float, Tensor

FEW = 4
"""Queries up to which the weights are computed plainly: keys and values need not be copied."""


class AttentionSink(nn.Module):
    """The scores of the sink, one for each head; they start at 0.

    Args:
        heads: of queries.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.score = nn.Parameter(torch.zeros(heads))

    def forward(
        self,
        query: Float[Tensor, "batch heads query dim"],
        key: Float[Tensor, "batch kv_heads key dim"],
        value: Float[Tensor, "batch kv_heads key value_dim"],
        allowed: Bool[Tensor, "#batch #heads #query key"] | None,
        bias: Float[Tensor, "#batch #heads #query key"] | None,
        drop: DropoutMask | None,
        scale: float,
    ) -> Float[Tensor, "batch heads query value_dim"]:
        """What `attend_with_weights` gives with this sink, by the fastest path.

        The sink becomes a key without a value. Queries and keys get one dimension more: it is 0 in
        all other keys, 1 in that of the sink, and the sink's score, divided by the scale, in the
        queries. So the kernels for products compute its weight and its gradient.
        """
        if query.shape[2] <= FEW:
            heads = query.shape[1]
            key, value = repeat_heads(key, heads), repeat_heads(value, heads)
            return attend_with_weights(query, key, value, allowed, bias, drop, scale, self.score)[0]
        lanes, dim = native.LANES, query.shape[-1]
        wide = dim + lanes - dim % lanes  # as wide as the kernels want it, and one more at least
        column = (self.score / scale).to(query.dtype)[None, :, None, None]
        column = column.expand(*query.shape[:3], 1)
        query = F.pad(torch.cat((query, column), dim=-1), (0, wide - dim - 1))
        last = F.pad(key.new_ones(1), (dim, wide - dim - 1))
        last = last.expand(*key.shape[:2], 1, wide)
        key = torch.cat((F.pad(key, (0, wide - dim)), last), dim=2)
        value = F.pad(value, (0, 0, 0, 1))
        if allowed is not None:
            allowed = F.pad(allowed, (0, 1), value=True)
        bias = None if bias is None else F.pad(bias, (0, 1))
        return attend(query, key, value, allowed, bias, drop, scale)
