"""Cosine scores: only the directions of query and key count, not their lengths.

    score(q, k) = cos(q, k) / temperature,  temperature = exp(-sharpness) >= 0.01

The sharpness is learned, one for each head, and starts at log 10.

Source: Liu et al. 2022 (Swin Transformer V2), section 3.2, and its published code.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from jumok.shapes import Float, Tensor
from jumok.specs import SHARPEST


class CosineScore(nn.Module):
    """A product of unit vectors; the queries carry the temperature.

    Args:
        dim, memory_dim: of queries and keys, which are equal.
        heads: the number of temperatures; 1 in RNNs.
    """

    kind = "cosine"
    scale = 1.0
    energy = None

    def __init__(self, dim: int, memory_dim: int, heads: int) -> None:
        super().__init__()
        assert dim == memory_dim
        self.sharpness = nn.Parameter(torch.full((heads,), math.log(10.0)))

    def queries(self, states: Float[Tensor, "*axes query dim"]) -> Float[Tensor, "*axes query dim"]:
        factor = self.sharpness.clamp(max=SHARPEST).exp()
        return F.normalize(states, dim=-1) * factor[:, None, None]

    def keys(self, memory: Float[Tensor, "*axes key dim"]) -> Float[Tensor, "*axes key dim"]:
        return F.normalize(memory, dim=-1)

    def forward(
        self, query: Float[Tensor, "*axes query dim"], key: Float[Tensor, "*axes key dim"]
    ) -> Float[Tensor, "*axes query key"]:
        return query @ key.transpose(-2, -1)
