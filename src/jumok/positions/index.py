"""A position as its number, and as its share of the sentence: the two encodings one tries first.

    index:     P[t] = t
    fraction:  P[t] = t / (n - 1),  n positions in the sentence

Neither does. Indexes grow without bound, and a longer sentence holds numbers that training never
saw. The step of a fraction depends on the sentence's length, so that equal distances differ. Both
are here because seeing it is the argument for the encodings that followed.

Source: lecture 001 ("the numbers grow too large", "does not generalise"), lecture 002 (strategies 1
and 2).
"""

import torch
from torch import nn

from jumok.shapes import Float, Int, Tensor


class IndexPositions(nn.Module):
    """The number of the position. In bfloat16 numbers above 256 are rounded to even ones."""

    width = 1

    def forward(self, position: int, length: int) -> Float[Tensor, "{length} 1"]:
        """The numbers of `length` positions from `position` on."""
        return torch.arange(position, position + length, dtype=torch.float32)[:, None]


class FractionPositions(nn.Module):
    """How much of the sentence is over: 0 at its first position, 1 at its last.

    Args:
        length: what replaces the length of a sentence that is still being written, which no
            decoder knows: it counts in shares of the longest one.
    """

    width = 1

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length

    def forward(
        self, position: int, length: int, lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch {length} 1"]:
        """The shares of `length` positions from `position` on, in sentences of these lengths.

        Positions beyond a sentence's end, which are padding, get more than 1.
        """
        whole = torch.tensor([self.length]) if lengths is None else lengths
        place = torch.arange(position, position + length, device=whole.device)
        last = (whole - 1).clamp(min=1)
        return (place[None, :] / last[:, None])[..., None]
