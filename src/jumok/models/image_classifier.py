"""A convolutional network that classifies images, with or without attention.

    pixels -> stem -> stage [-> attention over the pixels] -> ... -> mean of all pixels -> labels

Source: lecture 004, last figure (a convolutional network with self-attention); He et al. 2016.
"""

import torch
import torch.nn.functional as F
from torch import nn

from jumok.attention.convolution import PixelAttention
from jumok.attention.role import Role
from jumok.config.eye import EyeConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.kernels.linear import Linear
from jumok.kernels.noise import Noise
from jumok.layers.convolution import ConvolutionStack, scale_pixels
from jumok.layers.dropout import Dropout
from jumok.models.eye import Eye
from jumok.models.vit import VisionTransformer
from jumok.shapes import Float, Tensor, UInt8


class PixelMixing(nn.Module):
    """x + gate * conv_1x1(relu(conv_1x1(x))): each pixel on its own, none looks at another.

    It replaces attention over pixels to measure what attention contributes. Twice as wide inside,
    it has exactly the parameters of a `PixelAttention` whose heads share the channels:
    4 channels^2 + 3 channels + 1. The gate starts at 0 as well.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.inner = nn.Conv2d(channels, 2 * channels, 1)
        self.outer = nn.Conv2d(2 * channels, channels, 1)
        self.residual_gate = nn.Parameter(torch.zeros(1))

    def forward(
        self, features: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        return features + self.residual_gate * self.outer(F.relu(self.inner(features)))


class ImageClassifier(nn.Module):
    """From images to logits of labels.

    Attributes:
        patches: rows and columns of the patches of a Vision Transformer; None: another network.
        before: the names of its states before those of the patches.
    """

    def __init__(self, config: ImageClassifierConfig, labels: int) -> None:
        super().__init__()
        self.noise = Noise()
        self.dropout = Dropout(config.dropout, self.noise)
        self.cells: Eye | VisionTransformer | None = None
        self.patches: tuple[int, int] | None = None
        self.before: tuple[str, ...] = ()
        if isinstance(config.encoder, EyeConfig):
            self.cells = Eye(config.encoder)
        elif config.encoder is not None:
            self.cells = VisionTransformer(config.encoder, self.noise)
            self.patches, self.before = config.encoder.grid, config.encoder.names_before
        if config.encoder is not None:
            self.output = Linear(config.encoder.width, labels)
            return
        channels = config.channels
        self.stack = ConvolutionStack(
            channels,
            config.blocks,
            Dropout(config.dropout, self.noise),
            config.patch,
            config.colours,
        )
        for number, width in enumerate(channels, start=1):
            stage = self.stack.stages[number - 1]
            assert isinstance(stage, nn.Sequential)
            if number in config.attention_after:
                heads, role = config.attention_heads, Role("image", number - 1)
                dim, drop = width // heads, config.attention_dropout
                stage.append(PixelAttention(width, heads, dim, dim, self.noise, drop, role))
            if number in config.mixing_after:
                stage.append(PixelMixing(width))
        self.output = Linear(channels[-1], labels)

    @property
    def editable(self) -> VisionTransformer | None:
        """Where vectors of patches can be changed; None: the first cells come from convolutions."""
        return self.cells if isinstance(self.cells, VisionTransformer) else None

    def forward(self, pixels: Tensor) -> Float[Tensor, "batch labels"]:
        """The logits.

        Args:
            pixels: (batch colours height width) in bytes, or what the frozen stages of a pretrained
                encoder compute for them.
        """
        return self.output(self.dropout(self.summary(pixels)))

    def summary(self, pixels: Tensor) -> Float[Tensor, "batch width"]:
        """The vector that the labels are read from: that of [CLS], or the mean of all cells."""
        if isinstance(self.cells, VisionTransformer):
            return self.cells(pixels, self.output.weight)[:, 0]
        if self.cells is not None:
            return self.cells(pixels, self.output.weight).mean(dim=1)
        return self.stack(scale_pixels(pixels, like=self.output.weight)).mean(dim=(2, 3))

    @torch.no_grad()
    def probabilities(
        self, pixels: UInt8[Tensor, "batch colours height width"]
    ) -> Float[Tensor, "batch labels"]:
        """The probability of each label; a row sums to 1."""
        return self(pixels).float().softmax(dim=1)
