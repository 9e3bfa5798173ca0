"""Pictures to a grid of states: convolutions with group norms and residual connections.

    pixels -> stem (one cell a patch) -> stage -> stage (half as many rows and columns) -> ...

Norms are over groups of channels of one picture, so a picture's states do not depend on which
others are in its batch, and nothing but parameters is learnt (batch norm keeps running means).

Source: He et al. 2016, "Identity mappings in deep residual networks" (norm, bend, convolution);
Wu and He 2018, "Group normalization"; lecture 004.
"""

import math
from collections.abc import Sequence

from torch import nn
from torch.nn import functional as F

from jumok.layers.dropout import Dropout
from jumok.shapes import Float, Tensor, UInt8

NORM_GROUPS = 8

PictureTensor = Float[Tensor, "batch channels height width"]


def scale_pixels(
    pixels: UInt8[Tensor, "batch channels height width"], like: Tensor
) -> Float[Tensor, "batch channels height width"]:
    """Bytes 0 to 255 as numbers from -1 to 1, of the number format of `like`."""
    return pixels.to(like.dtype) / 127.5 - 1.0


class Convolution(nn.Conv2d):
    """A convolution that keeps the size, or divides it by `stride`.

    A size that `stride` does not divide is rounded up. Initialised for a ReLU after it.

    Source: He et al. 2015, "Delving deep into rectifiers", formula 10.
    """

    def __init__(self, inner: int, outer: int, width: int = 3, stride: int = 1) -> None:
        super().__init__(inner, outer, width, stride, padding=width // 2)

    def reset_parameters(self) -> None:
        """Initialises the weights; biases are zero."""
        nn.init.kaiming_normal_(self.weight, nonlinearity="relu")
        assert self.bias is not None
        nn.init.zeros_(self.bias)


def group_norm(channels: int) -> nn.GroupNorm:
    """A norm over as many groups as divide the channels, at most 8."""
    return nn.GroupNorm(math.gcd(channels, NORM_GROUPS), channels)


class ResidualBlock(nn.Module):
    """x + conv(relu(norm(conv(relu(norm(x)))))); at the start of training it is x itself."""

    def __init__(self, channels: int, dropout: Dropout) -> None:
        super().__init__()
        self.first_norm = group_norm(channels)
        self.first = Convolution(channels, channels)
        self.second_norm = group_norm(channels)
        self.dropout = dropout
        self.second = Convolution(channels, channels)
        nn.init.zeros_(self.second.weight)

    def forward(self, picture: PictureTensor) -> PictureTensor:
        inner = self.first(F.relu(self.first_norm(picture)))
        return picture + self.second(self.dropout(F.relu(self.second_norm(inner))))


class Stage(nn.Sequential):
    """Blocks of one size; the first convolution halves rows and columns where `inner` is given.

    Args:
        dropout: what every block drops between its convolutions.
        inner: channels of the stage before; None for the first one, which halves nothing.
    """

    def __init__(
        self, channels: int, blocks: int, dropout: Dropout, inner: int | None = None
    ) -> None:
        halving = [] if inner is None else [_Halving(inner, channels)]
        super().__init__(*halving, *(ResidualBlock(channels, dropout) for _ in range(blocks)))


class _Halving(nn.Module):
    """conv(relu(norm(x))) with a stride of 2."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.norm = group_norm(inner)
        self.convolution = Convolution(inner, outer, stride=2)

    def forward(
        self, picture: PictureTensor
    ) -> Float[Tensor, "batch outer half_height half_width"]:
        return self.convolution(F.relu(self.norm(picture)))


class ConvolutionStack(nn.Module):
    """Pixels to a grid of states.

    Args:
        channels: of each stage; every stage but the first has half the rows and columns of the
            one before.
        patch: pixels a side that become one cell of the first stage; 1 keeps every pixel.

    Attributes:
        stages: one a size; another part may be put between them or into them.
    """

    def __init__(
        self,
        channels: Sequence[int],
        blocks: int,
        dropout: Dropout,
        patch: int = 1,
        colours: int = 3,
    ) -> None:
        super().__init__()
        self.stem = Convolution(colours, channels[0], 2 * patch + 1, patch)
        inner = (None, *channels)
        self.stages = nn.Sequential(
            *(
                Stage(outer, blocks, dropout, before)
                for outer, before in zip(channels, inner, strict=False)
            )
        )
        self.norm = group_norm(channels[-1])

    def forward(
        self, pixels: Float[Tensor, "batch colours rows columns"]
    ) -> Float[Tensor, "batch channels height width"]:
        """The last stage's states, normed and bent."""
        return F.relu(self.norm(self.stages(self.stem(pixels))))
