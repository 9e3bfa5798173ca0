"""Builds the parts of every stack of blocks from its config, by their names in `jumok/parts.py`.

The encoder-decoder, the causal and the masked language model use the same parts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from jumok.attention.interfaces import HeadParts, HeadProcess
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.role import Part, Role
from jumok.config.stack import StackConfig
from jumok.kernels.noise import Noise
from jumok.layers.block import Block, Stack
from jumok.layers.dropout import Dropout
from jumok.layers.embedding import Embedding
from jumok.layers.positions import AddedPositions, ConcatenatedPositions, Positions
from jumok.layers.residual import PostNorm, PreNorm
from jumok.parts import resolve
from jumok.positions.interfaces import Entrance, PositionSizes


@dataclass(frozen=True)
class BlockBuilder:
    """Builds the parts that `config` describes, all with the same noise."""

    config: StackConfig
    noise: Noise

    def embedding(
        self, part: Part, table: nn.Parameter, norm: nn.Module | None = None
    ) -> Embedding:
        """Tokens to vectors with positions, then dropout; `norm` comes before the dropout."""
        config = self.config
        dropout = Dropout(config.dropout, self.noise)
        return Embedding(
            table, self._positions(), dropout, self.noise, config.word_dropout, norm, part
        )

    def norm(self) -> nn.Module:
        """A norm of the stream."""
        norm: nn.Module = resolve("norm", self.config.norm_kind)(
            self.config.dim, self.config.norm_epsilon
        )
        return norm

    def first_norm(self) -> nn.Module:
        """The norm before the first block; the identity in post-norm models."""
        return self.norm() if self.config.norm == "pre" else nn.Identity()

    def stack(self, part: Part, layers: int, *, cross: bool = False) -> Stack:
        """The blocks of an encoder or of a language model; of a decoder with a Memory if `cross`.

        Args:
            part: that of the self-attention.
        """
        return Stack(self._block(part, layer, cross) for layer in range(layers))

    def _block(self, part: Part, layer: int, cross: bool) -> Block:
        config = self.config
        feedforward = resolve("feedforward", config.feedforward_kind)(
            config.dim,
            config.feedforward,
            config.activation,
            Dropout(config.feedforward_dropout, self.noise),
            config.bias,
        )
        return Block(
            self._attention(Role(part, layer), positions=True, window=config.window_of(layer)),
            # the positions of the Memory and of the target have different origins
            self._attention(Role("cross", layer), positions=False) if cross else None,
            feedforward,
            self._residual(),
        )

    @property
    def _head_dim(self) -> int:
        return self.config.head_dim or self.config.dim // self.config.heads

    def _attention(
        self, role: Role, *, positions: bool, window: int | None = None
    ) -> MultiHeadAttention:
        config, head_dim = self.config, self._head_dim
        value_dim = config.value_dim or head_dim
        rotation = self._encoding("heads") if positions else None
        turn = [] if rotation is None else [rotation]
        output = [resolve("output_process", name) for name in config.process_output]
        return MultiHeadAttention(
            config.dim,
            config.heads,
            head_dim,
            value_dim,
            self.noise,
            config.attention_dropout,
            config.kv_heads,
            config.bias,
            HeadParts(
                resolve("score", config.score)(head_dim, head_dim, config.heads),
                [*self._processes(), *turn],
                [*self._processes(), *turn],
                [process(config.heads, value_dim) for process in output],
                self._encoding("scores") if positions else None,
                window,
            ),
            role,
        )

    def _processes(self) -> list[HeadProcess]:
        """The processes of queries, or of keys: each has its own."""
        config = self.config
        kinds = [resolve("head_process", name) for name in config.process_heads]
        return [kind(self._head_dim, config.norm_epsilon) for kind in kinds]

    def _residual(self) -> Callable[[], PreNorm]:
        kind = PreNorm if self.config.norm == "pre" else PostNorm
        return lambda: kind(self.norm(), Dropout(self.config.dropout, self.noise))

    def _encoding(self, enters: Entrance) -> Any:
        """The encoding of positions, if it enters there; otherwise None."""
        config = self.config
        kind = None if config.positions == "none" else resolve("positions", config.positions)
        if kind is None or kind.enters != enters:
            return None
        length, base = config.max_length, config.rotary_base
        return kind.of(PositionSizes(config.dim, config.heads, self._head_dim, length, base))

    def _positions(self) -> Positions | None:
        encoding = self._encoding("vectors")
        if encoding is None:
            return None
        if self.config.positions_join == "concatenate":
            return ConcatenatedPositions(encoding, self.config.dim)
        return AddedPositions(encoding)
