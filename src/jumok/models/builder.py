"""Builds the parts of every stack of blocks from its config.

The encoder-decoder, the causal and the masked language model use the same parts.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from jumok.attention.multihead import MultiHeadAttention
from jumok.config.stack import StackConfig
from jumok.kernels.noise import Noise
from jumok.layers.block import Block
from jumok.layers.dropout import Dropout
from jumok.layers.embedding import Embedding
from jumok.layers.feedforward import FeedForward
from jumok.layers.positions import AddedPositions, ConcatenatedPositions, Positions
from jumok.layers.residual import PostNorm, PreNorm
from jumok.positions.alibi import AlibiPositions
from jumok.positions.catalog import ENCODINGS, make_encoding
from jumok.positions.rotary import RotaryPositions


@dataclass(frozen=True)
class BlockBuilder:
    """Builds the parts that `config` describes, all with the same noise."""

    config: StackConfig
    noise: Noise

    def embedding(self, table: nn.Parameter, norm: nn.Module | None = None) -> Embedding:
        """Tokens to vectors with positions, then dropout; `norm` comes before the dropout."""
        config = self.config
        dropout = Dropout(config.dropout, self.noise)
        return Embedding(table, self._positions(), dropout, self.noise, config.word_dropout, norm)

    def first_norm(self) -> nn.Module:
        """The norm before the first block; the identity in post-norm models."""
        return nn.LayerNorm(self.config.dim) if self.config.norm == "pre" else nn.Identity()

    def block(self, cross: bool) -> Block:
        """One layer of an encoder or of a language model; of a decoder if `cross`."""
        config = self.config
        feedforward = FeedForward(
            config.dim,
            config.feedforward,
            config.activation,
            Dropout(config.feedforward_dropout, self.noise),
        )
        return Block(
            self._attention(positions=config.positions),
            # the positions of the Memory and of the target have different origins
            self._attention(positions="none") if cross else None,
            feedforward,
            self._residual(),
        )

    def _attention(self, positions: str) -> MultiHeadAttention:
        config = self.config
        head_dim = config.head_dim or config.dim // config.heads
        return MultiHeadAttention(
            config.dim,
            config.heads,
            head_dim,
            config.value_dim or head_dim,
            self.noise,
            config.attention_dropout,
            RotaryPositions(head_dim) if positions == "rotary" else None,
            AlibiPositions(config.heads) if positions == "alibi" else None,
        )

    def _residual(self) -> Callable[[], PreNorm]:
        kind = PreNorm if self.config.norm == "pre" else PostNorm
        return lambda: kind(self.config.dim, Dropout(self.config.dropout, self.noise))

    def _positions(self) -> Positions | None:
        config = self.config
        if config.positions not in ENCODINGS:
            return None
        encoding = make_encoding(config.positions, config.dim, config.max_length)
        if config.positions_join == "concatenate":
            return ConcatenatedPositions(encoding, config.dim)
        return AddedPositions(encoding)
