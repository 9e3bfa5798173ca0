"""Sinusoidal positions: sines and cosines of geometrically growing wavelengths.

    P[t, 2i] = sin(t / 10000^(2i/dim)),  P[t, 2i+1] = cos(t / 10000^(2i/dim))

Source: Vaswani et al. 2017, section 3.5; lecture 001.
"""

import math

import torch
from torch import nn

from jumok.positions.interfaces import PositionSizes
from jumok.shapes import Float, Tensor


def sinusoids(length: int, dim: int) -> Float[Tensor, "{length} {dim}"]:
    """The encoding of positions 0 to length - 1, in float32."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    frequency = torch.exp(torch.arange(0, dim, 2, dtype=torch.float64) * (-math.log(1e4) / dim))
    angle = position * frequency
    table = torch.empty(length, dim, dtype=torch.float64)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle.cos()[:, : dim // 2]
    return table.float()


class SinusoidalPositions(nn.Module):
    """A table of sinusoids without parameters; it is extended for longer inputs."""

    enters = "vectors"
    table: Tensor

    def __init__(self, dim: int, length: int) -> None:
        super().__init__()
        self.width = dim
        self.register_buffer("table", sinusoids(length, dim), persistent=False)

    @classmethod
    def of(cls, sizes: PositionSizes) -> "SinusoidalPositions":
        """For a model of these sizes."""
        return cls(sizes.dim, sizes.length)

    def forward(self, position: int, length: int) -> Float[Tensor, "{length} dim"]:
        """The encodings of `length` positions from `position` on."""
        end = position + length
        if end > self.table.shape[0]:
            longer = sinusoids(2 * end, self.table.shape[1])
            self.table = longer.to(self.table.device, self.table.dtype)
        return self.table[position:end]
