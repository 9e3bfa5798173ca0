"""Self-attention over the pixels of a feature map, as a block of a convolutional network.

    q, k, v = 1x1 convolutions of x,  each pixel a vector
    y = x + gate * conv_1x1([attend(q_1, k_1, v_1) ... attend(q_h, k_h, v_h)])

The gate starts at 0, so that a network begins as one without this block.

Source: Zhang et al. 2019, "Self-Attention Generative Adversarial Networks", section 3;
lecture 004, last figure.
"""

import torch
from torch import nn

from jumok.attention.core import attend, attend_with_weights
from jumok.attention.observe import Attention, Observable
from jumok.attention.role import Role
from jumok.kernels.noise import Noise
from jumok.shapes import Float, Tensor


class PixelAttention(Observable):
    """Self-attention of every pixel to every pixel. Pixels are numbered row by row.

    The key has no bias: it would add the same number to all scores of a query, which does not
    change the softmax.

    Attributes:
        residual_gate: the factor of the attention's output before it is added to the features; (1).

    Args:
        head_dim: width of one head's query and key.
        value_dim: width of one head's value.
    """

    def __init__(
        self,
        channels: int,
        heads: int,
        head_dim: int,
        value_dim: int,
        noise: Noise,
        dropout: float = 0.0,
        role: Role | None = None,
    ) -> None:
        super().__init__()
        self.role = role
        self.heads = heads
        self.query = nn.Conv2d(channels, heads * head_dim, 1)
        self.key = nn.Conv2d(channels, heads * head_dim, 1, bias=False)
        self.value = nn.Conv2d(channels, heads * value_dim, 1)
        self.output = nn.Conv2d(heads * value_dim, channels, 1)
        self.residual_gate = nn.Parameter(torch.zeros(1))
        self.noise = noise
        self.dropout = dropout

    def forward(
        self, features: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        """The features plus the gated output of the attention."""
        query, key, value = (
            self._pixels(convolution(features))
            for convolution in (self.query, self.key, self.value)
        )
        drop = self.noise.mask(self.dropout) if self.training and self.dropout else None
        scale = query.shape[-1] ** -0.5
        if self.observers or self.edit is not None:
            outputs, weights = attend_with_weights(query, key, value, drop=drop, scale=scale)
            if self.edit is not None:
                weights = self.edited(weights)
                outputs = weights @ value
            for observer in self.observers:
                observer(Attention(query, key, value, weights, "convolution", scale))
        else:
            outputs = attend(query, key, value, drop=drop, scale=scale)
        grid = self.gated(outputs).transpose(2, 3).flatten(1, 2).unflatten(2, features.shape[2:])
        return features + self.residual_gate * self.output(grid)

    def _pixels(
        self, grid: Float[Tensor, "batch channels height columns"]
    ) -> Float[Tensor, "batch heads pixels dim"]:
        """The channels cut into heads, and each head's pixels in one axis."""
        return grid.flatten(2).unflatten(1, (self.heads, -1)).transpose(2, 3).contiguous()
