"""One learned vector a position. Source: Gehring et al. 2017, section 3.1; lecture 001."""

import torch
from torch import nn

from jumok.errors import ModelError
from jumok.positions.interfaces import PositionSizes
from jumok.shapes import Float, Tensor


class LearnedPositions(nn.Module):
    """A table of vectors, one for each position up to the maximum length."""

    enters = "vectors"

    def __init__(self, dim: int, length: int) -> None:
        super().__init__()
        self.width = dim
        self.table = nn.Parameter(torch.empty(length, dim).normal_(std=dim**-0.5))

    @classmethod
    def of(cls, sizes: PositionSizes) -> "LearnedPositions":
        return cls(sizes.dim, sizes.length)

    def forward(self, position: int, length: int) -> Float[Tensor, "{length} dim"]:
        """The vectors of `length` positions from `position` on.

        Raises:
            ModelError: the table is too short.
        """
        end = position + length
        check_reach(end, self.table.shape[0], "learned")
        return self.table[position:end]


def check_reach(needed: int, reach: int, kind: str) -> None:
    """Checks that an encoding has enough positions.

    Raises:
        ModelError: more are needed than it has.
    """
    if needed > reach:
        raise ModelError(
            f"the sentence is longer than the number of {kind} positions.",
            expected=f"at most {reach} positions (model.max_length)",
            got=str(needed),
            do="shorten it, or train with a larger model.max_length or another encoding",
        )
