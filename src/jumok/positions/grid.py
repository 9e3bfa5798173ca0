"""The position encoding of cells in a grid: sinusoids of the row, joined with those of the column.

Source: Parmar et al. 2018, "Image Transformer", section 3.1; Vaswani et al. 2017, section 3.5.
"""

import torch
from torch import nn

from jumok.positions.sinusoidal import sinusoids
from jumok.shapes import Float, Tensor


class GridPositions(nn.Module):
    """One vector for each cell of the flattened grid, row by row.

    Args:
        dim: that of the vectors; a multiple of 4. The first half encodes the row, the second half
            the column.
    """

    table: Tensor

    def __init__(self, dim: int, rows: int, columns: int) -> None:
        super().__init__()
        table, half = torch.empty(rows, columns, dim), dim // 2
        table[..., :half] = sinusoids(rows, half)[:, None]
        table[..., half:] = sinusoids(columns, half)
        self.register_buffer("table", table.flatten(0, 1), persistent=False)

    def forward(self, like: Tensor) -> Float[Tensor, "cells dim"]:
        """All positions, in the number format of `like`."""
        return self.table.to(like.dtype)
