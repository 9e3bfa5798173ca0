"""Sinusoidal positions: sines and cosines of geometrically growing wavelengths (`waves`).

Cells of a grid have the sinusoids of their row, joined with those of their column.

Source: Vaswani et al. 2017, section 3.5; lecture 001; inclusive: the code of that paper
(Tensor2Tensor), and with it Marian and fairseq; grids: Parmar et al. 2018, "Image Transformer",
section 3.1.
"""

import torch
from torch import nn

from jumok.positions.interfaces import PositionSizes
from jumok.positions.tables import waves
from jumok.shapes import Float, Tensor


def sinusoids(length: int, dim: int, *, inclusive: bool = False) -> Float[Tensor, "{length} {dim}"]:
    """The encoding of positions 0 to length - 1, in float32."""
    return torch.from_numpy(waves(length, dim, inclusive=inclusive))


class SinusoidalPositions(nn.Module):
    """A table of sinusoids without parameters; it is extended for longer inputs."""

    enters = "vectors"
    inclusive = False
    table: Tensor

    def __init__(self, dim: int, length: int) -> None:
        super().__init__()
        self.width = dim
        self.register_buffer("table", self._rows(length), persistent=False)

    @classmethod
    def of(cls, sizes: PositionSizes) -> "SinusoidalPositions":
        return cls(sizes.dim, sizes.length)

    def forward(self, position: int, length: int) -> Float[Tensor, "{length} dim"]:
        end = position + length
        if end > self.table.shape[0]:
            self.table = self._rows(2 * end).to(self.table.device, self.table.dtype)
        return self.table[position:end]

    def _rows(self, length: int) -> Float[Tensor, "{length} dim"]:
        return sinusoids(length, self.width, inclusive=self.inclusive)


class InclusiveSinusoidalPositions(SinusoidalPositions):
    """Sinusoids whose last wavelength is 10000 times the first."""

    inclusive = True


class GridPositions(nn.Module):
    """One vector for each cell of the flattened grid, row by row.

    Args:
        dim: that of the vectors; a multiple of 4. The first half encodes the row, the second half
            the column.
    """

    table: Tensor

    def __init__(self, dim: int, rows: int, columns: int) -> None:
        super().__init__()
        row, column = sinusoids(rows, dim // 2), sinusoids(columns, dim // 2)
        table = torch.cat([row.repeat_interleave(columns, 0), column.repeat(rows, 1)], dim=1)
        self.register_buffer("table", table, persistent=False)

    def forward(self, like: Tensor) -> Float[Tensor, "cells dim"]:
        """All positions, in the number format of `like`."""
        return self.table.to(like.dtype)
