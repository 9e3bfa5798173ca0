"""What replaces attention over pixels to measure what attention contributes."""

import torch
import torch.nn.functional as F
from torch import nn

from jumok.shapes import Float, Tensor


class PixelMixing(nn.Module):
    """x + gate * conv_1x1(relu(conv_1x1(x))): each pixel on its own, none looks at another.

    Twice as wide inside, it has exactly the parameters of a `PixelAttention` whose heads share
    the channels: 4 channels^2 + 3 channels + 1. The gate starts at 0 as well.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.inner = nn.Conv2d(channels, 2 * channels, 1)
        self.outer = nn.Conv2d(2 * channels, channels, 1)
        self.residual_gate = nn.Parameter(torch.zeros(1))

    def forward(
        self, features: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        """The features, and what was made of each pixel."""
        return features + self.residual_gate * self.outer(F.relu(self.inner(features)))
