"""Positions as numbers, and as fractions of the sentence: the two simplest encodings.

    index:     P[t] = t
    fraction:  P[t] = t / (n - 1),  n positions in the sentence

Both are here because their faults motivate the other encodings: a longer sentence has indexes that
were not in training, and the step of a fraction depends on the sentence's length.

Source: lecture 001 ("the numbers grow too large", "does not generalise"), lecture 002 (strategies 1
and 2).
"""

import torch
from torch import nn

from jumok.positions.interfaces import PositionSizes
from jumok.shapes import Float, Int, Tensor


class IndexPositions(nn.Module):
    """The number of the position. In bfloat16 numbers above 256 are rounded to even ones."""

    enters = "vectors"
    width = 1

    @classmethod
    def of(cls, _sizes: PositionSizes) -> "IndexPositions":
        return cls()

    def forward(self, position: int, length: int) -> Float[Tensor, "{length} 1"]:
        return torch.arange(position, position + length, dtype=torch.float32)[:, None]


class FractionPositions(nn.Module):
    """The position as a fraction of the sentence: 0 at its first position, 1 at its last.

    Args:
        length: the assumed length of a sentence in a decoder, where it is not known: that of the
            longest sentence.
    """

    enters = "vectors"
    width = 1

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length

    @classmethod
    def of(cls, sizes: PositionSizes) -> "FractionPositions":
        return cls(sizes.length)

    def forward(
        self, position: int, length: int, lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch {length} 1"]:
        """The fractions of `length` positions from `position` on, in sentences of these lengths.

        Positions beyond a sentence's end, which are padding, get more than 1.
        """
        whole = torch.tensor([self.length]) if lengths is None else lengths
        place = torch.arange(position, position + length, device=whole.device)
        last = (whole - 1).clamp(min=1)
        return (place[None, :] / last[:, None])[..., None]

    def inside(
        self, indexes: Int[Tensor, "batch length"], lengths: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length 1"]:
        """The fractions of positions that have these indexes in sentences of these lengths."""
        return (indexes / (lengths - 1).clamp(min=1))[..., None]
