"""Attention with linear biases: a key's score falls with its distance, and nothing else is said.

    score(i, j) = q_i . k_j / sqrt(d) - m_h (i - j)                  for j <= i
                  q_i . k_j / sqrt(d) - m_(heads + 1 - h) (j - i)    for j > i
    m_h = 2^(-8 h / heads),  h = 1 ... heads

Heads see far or near by their slope m_h. No position is added to any vector, so nothing in the
model has a length it was made for.

The paper is about causal attention, where j never exceeds i, and its first line is all there is.
The second is for encoders, and ours: with one slope for both directions a sentence and its reverse
would be the same to an encoder, so a head that sees far to the left sees near to the right.

Source: Press et al. 2022 (Train short, test long), section 3; the slopes where the number of heads
is no power of two are those of its published code, whose authors name slopes of their own for each
direction as a way for encoders (attention_with_linear_biases, issue 5).
"""

import torch
from torch import nn

from jumok.shapes import Float, Tensor


def slopes(heads: int) -> list[float]:
    """How much each head minds distance: for 8 heads 1/2, 1/4, ..., 1/256.

    Where `heads` is no power of two: those of the power of two below, and then every other one of
    the power of two above.
    """
    power = 1 << (heads.bit_length() - 1)
    even = [2.0 ** (-8.0 * h / power) for h in range(1, power + 1)]
    if power == heads:
        return even
    return even + slopes(2 * power)[0::2][: heads - power]


class AlibiPositions(nn.Module):
    """What is added to the scores of each head."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        # no buffer: the module's .to(bfloat16) must not round what distances are multiplied by
        self._slopes = torch.tensor(slopes(heads))

    def forward(
        self,
        query: Float[Tensor, "batch heads query dim"],
        key: Float[Tensor, "batch heads key dim"],
        position: int,
    ) -> Float[Tensor, "1 heads query key"]:
        """The bias in float32, for queries of which the first is at `position`; keys start at
        0.
        """
        here = torch.arange(position, position + query.shape[2], device=query.device)
        there = torch.arange(key.shape[2], device=query.device)
        back = here[:, None] - there[None, :]
        slope = self._slopes.to(query.device)[:, None, None]
        return torch.where(back >= 0, -slope * back, slope.flip(0) * back)[None]
