"""Binary position encoding: every element has a frequency of its own, as in the sinusoidal one.

    P[t, i] = floor(t / 2^i) mod 2

It is bounded and unique, but not continuous like sinusoids: the neighbours 7 and 8 differ in four
bits, 0 and 8 in one.

Source: lecture 002 ("binary values waste space").
"""

import torch
from torch import nn

from jumok.positions.interfaces import PositionSizes
from jumok.positions.learned import check_reach
from jumok.shapes import Float, Tensor
from jumok.specs import BinaryPositionSpec


class BinaryPositions(nn.Module):
    """The bits of the position's number, the fastest first.

    Args:
        length: the number of positions to distinguish; it is rounded up to a power of two.
    """

    enters = "vectors"

    def __init__(self, length: int) -> None:
        super().__init__()
        self.width = BinaryPositionSpec().width(0, length)

    @classmethod
    def of(cls, sizes: PositionSizes) -> "BinaryPositions":
        return cls(sizes.length)

    def forward(self, position: int, length: int) -> Float[Tensor, "{length} bits"]:
        """The bits of `length` positions from `position` on.

        Raises:
            ModelError: the bits do not suffice, so that codes would repeat.
        """
        check_reach(position + length, 2**self.width, "binary")
        place = torch.arange(position, position + length)
        return (place[:, None] >> torch.arange(self.width) & 1).float()
