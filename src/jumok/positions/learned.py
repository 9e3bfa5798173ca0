"""One learned vector a position. Source: Gehring et al. 2017, section 3.1; lecture 001."""

import torch
from torch import nn

from jumok.errors import ModelError
from jumok.shapes import Float, Tensor


class LearnedPositions(nn.Module):
    """A table of vectors, as long as the longest sentence the model will ever see."""

    def __init__(self, dim: int, length: int) -> None:
        super().__init__()
        self.width = dim
        self.table = nn.Parameter(torch.empty(length, dim).normal_(std=dim**-0.5))

    def forward(self, position: int, length: int) -> Float[Tensor, "{length} dim"]:
        """The vectors of `length` positions from `position` on.

        Raises:
            ModelError: the table ends before.
        """
        end = position + length
        check_reach(end, self.table.shape[0], "learned")
        return self.table[position:end]


def check_reach(needed: int, reach: int, kind: str) -> None:
    """Refuses positions that an encoding does not have.

    Raises:
        ModelError: more are needed than there are.
    """
    if needed > reach:
        raise ModelError(
            f"the sentence is longer than the {kind} positions reach.",
            expected=f"at most {reach} positions (model.max_length)",
            got=str(needed),
            do="shorten it, or train with a larger model.max_length or another encoding",
        )
