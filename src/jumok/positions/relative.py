"""Relative positions in buckets: a learned bias on the score for each distance and head.

    score(i, j) = q_i . k_j + table[bucket(j - i), h]

Half of the buckets are for keys before the query and half for those after it; in a decoder, where
no key is after its query, all are for those before. Of these half are of one distance each; further
distances share buckets that grow geometrically up to a largest one, from which on all are alike.
All blocks of a stack share the table.

Source: Raffel et al. 2020 (T5), section 2.1, and its published code.
"""

import torch
from torch import nn

from jumok.positions.constant import Constant
from jumok.positions.interfaces import PositionSizes
from jumok.positions.tables import buckets
from jumok.shapes import Float, Tensor


class RelativePositions(nn.Module):
    """The biases that are added to the scores of each head.

    Args:
        count: the rows of the table.
        farthest: the distance from which on all are alike.
        causal: whether queries see no later keys.
    """

    enters = "scores"

    def __init__(self, heads: int, count: int, farthest: int, *, causal: bool) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(count, heads))
        self._farthest = farthest
        self._buckets = Constant(
            torch.tensor(buckets(count, farthest, causal=causal), device="cpu")
        )

    @classmethod
    def of(cls, sizes: PositionSizes) -> "RelativePositions":
        return cls(sizes.heads, sizes.buckets, sizes.distance, causal=sizes.causal)

    def forward(
        self,
        query: Float[Tensor, "batch heads query dim"],
        key: Float[Tensor, "batch kv_heads key dim"],
        position: int,
    ) -> Float[Tensor, "1 heads query key"]:
        """The bias; the first query is at `position`, the first key at 0."""
        here = torch.arange(position, position + query.shape[2], device=query.device)
        there = torch.arange(key.shape[2], device=query.device)
        ahead = (there[None, :] - here[:, None]).clamp(-self._farthest, self._farthest)
        bucket = self._buckets.on(query.device)[ahead + self._farthest]
        return self.table[bucket].permute(2, 0, 1)[None]
