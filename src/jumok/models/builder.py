"""Builds the parts of every stack of blocks from its config, by their names in `jumok/parts.py`.

The encoder-decoder, the causal and the masked language model use the same parts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from jumok.attention.interfaces import (
    HeadParts,
    HeadProcess,
    OutputProcess,
    ScoreBias,
    ScoreFunction,
)
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.role import Part, Role
from jumok.attention.variants.sink import AttentionSink
from jumok.attention.variants.soft_cap import SoftCapScore
from jumok.attention.variants.ssru import SimpleRecurrence
from jumok.attention.variants.value_residual import ValueResidual
from jumok.config.stack import StackConfig
from jumok.kernels.noise import Noise
from jumok.layers.block import Block, Stack
from jumok.layers.dropout import Dropout
from jumok.layers.embedding import Embedding
from jumok.layers.experts import MixtureOfExperts
from jumok.layers.interfaces import FeedForward
from jumok.layers.positions import AddedPositions, ConcatenatedPositions, Positions
from jumok.layers.residual import BesideNorm, PostNorm, PreNorm
from jumok.parts import builder_of
from jumok.positions.interfaces import PositionSizes
from jumok.specs import Entrance


@dataclass(frozen=True)
class BlockBuilder:
    """Builds the parts that `config` describes, all with the same noise.

    Attributes:
        parallel: whether a feed-forward layer reads the stream as the attention before it did.
    """

    config: StackConfig
    noise: Noise
    parallel: bool = False

    def embedding(self, part: Part, table: nn.Parameter) -> Embedding:
        """Tokens to vectors with positions, their norm where there is one, then dropout."""
        config = self.config
        norm = self.norm() if config.embedding_norm else None
        dropout = Dropout(config.dropout, self.noise)
        return Embedding(
            table, self._positions(part), dropout, self.noise, config.word_dropout, norm, part,
            config.embedding_factor,
        )  # fmt: skip

    def norm(self) -> nn.Module:
        """A norm of the stream."""
        norm: nn.Module = builder_of("norm", self.config.norm_kind)(
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
        bias = self._encoding("scores", part)
        return Stack(self._block(part, layer, cross, bias) for layer in range(layers))

    def _block(self, part: Part, layer: int, cross: bool, bias: ScoreBias | None) -> Block:
        config = self.config
        feedforward: FeedForward = self._feedforward()
        if config.experts is not None:
            feedforward = MixtureOfExperts(
                config.dim,
                self._feedforward,
                config.experts,
                config.experts_used,
                config.experts_balance,
            )
        return Block(
            self._self_attention(Role(part, layer), bias),
            self._cross_attention(Role("cross", layer)) if cross else None,
            feedforward,
            self._residual(),
            self._residual(BesideNorm) if self.parallel else None,
        )

    def _feedforward(self) -> FeedForward:
        config = self.config
        made: FeedForward = builder_of("feedforward", config.feedforward_kind)(
            config.dim,
            config.feedforward,
            config.activation,
            Dropout(config.feedforward_dropout, self.noise),
            config.bias,
        )
        return made

    def _self_attention(
        self, role: Role, bias: ScoreBias | None
    ) -> MultiHeadAttention | SimpleRecurrence:
        config = self.config
        rotation = self._encoding("heads", role.part)
        turn = [] if rotation is None else [rotation]
        parts = HeadParts(
            self._score(),
            [*self._processes(), *turn],
            [*self._processes(), *turn],
            self._output_processes(),
            bias,
            AttentionSink(config.heads) if config.sinks else None,
            ValueResidual(role.layer) if config.value_residual else None,
            config.window_of(role.layer),
        )
        kind = builder_of("attention", config.attention_kind)
        attention: MultiHeadAttention | SimpleRecurrence = kind.of(
            self.config.sizes, parts, self.noise, config.attention_dropout, role
        )
        return attention

    def _cross_attention(self, role: Role) -> MultiHeadAttention:
        """Without positions: those of the Memory and of the target have different origins."""
        parts = HeadParts(
            self._score(), self._processes(), self._processes(), self._output_processes()
        )
        dropout = self.config.attention_dropout
        return MultiHeadAttention.of(self.config.sizes, parts, self.noise, dropout, role)

    def _output_processes(self) -> list[OutputProcess]:
        sizes = self.config.sizes
        kinds = [builder_of("output_process", name) for name in self.config.process_output]
        return [kind(sizes.heads, sizes.value_dim, sizes.dim) for kind in kinds]

    def _score(self) -> ScoreFunction:
        config, head_dim = self.config, self.config.sizes.head_dim
        score: ScoreFunction = builder_of("score", config.score)(head_dim, head_dim, config.heads)
        return score if config.score_cap is None else SoftCapScore(score, config.score_cap)

    def _processes(self) -> list[HeadProcess]:
        """The processes of queries, or of keys: each has its own."""
        config = self.config
        kinds = [builder_of("head_process", name) for name in config.process_heads]
        return [kind(config.sizes.head_dim, config.norm_epsilon) for kind in kinds]

    def _residual(self, kind: type[PreNorm] | None = None) -> Callable[[], PreNorm]:
        kind = kind or (PreNorm if self.config.norm == "pre" else PostNorm)
        return lambda: kind(self.norm(), Dropout(self.config.dropout, self.noise))

    def _encoding(self, enters: Entrance, part: Part) -> Any:
        """The encoding of positions, if it enters there; otherwise None."""
        config = self.config
        kind = None if config.positions == "none" else builder_of("positions", config.positions)
        if kind is None or kind.enters != enters:
            return None
        return kind.of(
            PositionSizes(
                config.dim,
                config.heads,
                config.sizes.rotary_dim,
                config.max_length,
                config.rotary_base,
                config.rotary_scaling,
                part == "decoder",
                config.relative_buckets,
                config.relative_distance,
            )
        )

    def _positions(self, part: Part) -> Positions | None:
        encoding = self._encoding("vectors", part)
        if encoding is None:
            return None
        if self.config.positions_join == "concatenate":
            return ConcatenatedPositions(encoding, self.config.dim)
        return AddedPositions(encoding)
