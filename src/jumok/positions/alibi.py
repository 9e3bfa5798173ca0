"""Attention with linear biases (ALiBi): a key's score falls linearly with its distance.

    score(i, j) = q_i . k_j / sqrt(d) - m_h (i - j)                  for j <= i
                  q_i . k_j / sqrt(d) - m_(heads + 1 - h) (j - i)    for j > i
    m_h = 2^(-8 h / heads),  h = 1 ... heads

The slope m_h sets the range of a head. No position is added to any vector, so the model has no
maximum length.

The second line is not in the paper, whose attention is causal: with one slope for both directions
a sentence and its reverse would be the same to an encoder.

Source: Press et al. 2022 (Train short, test long), section 3; its published code for numbers of
heads that are no power of two, and issue 5 there for a slope for each direction.
"""

import torch
from torch import nn

from jumok.positions.constant import Constant
from jumok.positions.interfaces import PositionSizes
from jumok.positions.tables import slopes
from jumok.shapes import Float, Tensor


class AlibiPositions(nn.Module):
    """The biases that are added to the scores of each head."""

    enters = "scores"

    def __init__(self, heads: int) -> None:
        super().__init__()
        self._slopes = Constant(torch.tensor(slopes(heads), device="cpu"))

    @classmethod
    def of(cls, sizes: PositionSizes) -> "AlibiPositions":
        return cls(sizes.heads)

    def forward(
        self,
        query: Float[Tensor, "batch heads query dim"],
        key: Float[Tensor, "batch kv_heads key dim"],
        position: int,
    ) -> Float[Tensor, "1 heads query key"]:
        """The bias in float32; the first query is at `position`, the first key at 0."""
        here = torch.arange(position, position + query.shape[2], device=query.device)
        there = torch.arange(key.shape[2], device=query.device)
        back = here[:, None] - there[None, :]
        slope = self._slopes.on(query.device)[:, None, None]
        return torch.where(back >= 0, -slope * back, slope.flip(0) * back)[None]
