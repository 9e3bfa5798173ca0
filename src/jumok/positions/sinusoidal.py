"""Sinusoidal positions: sines and cosines of geometrically growing wavelengths (`waves`).

Source: Vaswani et al. 2017, section 3.5; lecture 001.
"""

import torch
from torch import nn

from jumok.positions.interfaces import PositionSizes
from jumok.positions.waves import waves
from jumok.shapes import Float, Tensor


def sinusoids(length: int, dim: int) -> Float[Tensor, "{length} {dim}"]:
    """The encoding of positions 0 to length - 1, in float32."""
    table = torch.empty(length, dim)  # first: of too many there is no memory
    return table.copy_(torch.from_numpy(waves(length, dim)))


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
