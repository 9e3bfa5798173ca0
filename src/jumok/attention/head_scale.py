"""A learned factor for the output of each head, before the heads are mixed.

Source: Shleifer et al. 2021 (NormFormer), section 2.2 (HeadScale).
"""

import torch
from torch import nn

from jumok.shapes import Float, States, Tensor


class HeadScale(nn.Module):
    """gain_h x; the gains start at 1."""

    def __init__(self, heads: int, *_sizes: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(heads))

    def forward(
        self,
        found: Float[Tensor, "batch heads query value_dim"],
        queries: States,  # noqa: ARG002 - gates need it
    ) -> Float[Tensor, "batch heads query value_dim"]:
        """The heads' outputs, each times its gain."""
        return found * self.gain[:, None, None]
