"""A block with sizes of its own for every axis."""

from torch import nn

from jumok.attention.multihead import MultiHeadAttention
from jumok.kernels.noise import Noise
from jumok.layers.block import Block
from jumok.layers.dropout import Dropout
from jumok.layers.feedforward import PlainFeedForward
from jumok.layers.residual import PostNorm, PreNorm

HIDDEN = 29


def block(dim: int, heads: int, norm: type[PreNorm], activation: str, cross: bool) -> Block:
    noise = Noise()
    nothing = Dropout(0.0, noise)

    def attention() -> MultiHeadAttention:
        return MultiHeadAttention(dim, heads, dim // heads, dim // heads, noise)

    return Block(
        attention(),
        attention() if cross else None,
        PlainFeedForward(dim, HIDDEN, activation, nothing),
        lambda: norm(nn.LayerNorm(dim), nothing),
    )


def torch_layer(
    dim: int, heads: int, norm: type[PreNorm], activation: str, cross: bool
) -> nn.TransformerEncoderLayer | nn.TransformerDecoderLayer:
    kind = nn.TransformerDecoderLayer if cross else nn.TransformerEncoderLayer
    first = norm is not PostNorm
    return kind(dim, heads, HIDDEN, 0.0, activation, batch_first=True, norm_first=first)
