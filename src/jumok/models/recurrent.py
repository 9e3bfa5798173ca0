"""Sequence to sequence with RNNs: an encoder that writes a Memory, and a decoder that reads it.

Without attention the Memory is one vector, the encoder's last state: the fixed context vector for
sentences of any length. With attention it has one vector for each word.

Source: Sutskever et al. 2014; Bahdanau et al. 2015; lectures 000, 001 and 004.
"""

from dataclasses import dataclass

from torch import nn

from jumok.attention.events import observable
from jumok.attention.interfaces import ScoreFunction
from jumok.attention.role import Part, Role
from jumok.attention.scored import ScoredAttention
from jumok.attention.scores import CoverageScore
from jumok.config.recurrent import RecurrentConfig
from jumok.kernels.linear import Linear, Projection
from jumok.kernels.noise import Noise
from jumok.layers.dropout import Dropout
from jumok.layers.embedding import Embedding, embedding_table
from jumok.layers.recurrent import CELLS, Cell, CellStack, RecurrentLayer
from jumok.models.memory import Memory, SequenceToSequence
from jumok.models.recurrent_decoder import (
    BahdanauDecoder,
    ContextDecoder,
    DecoderParts,
    FeedingDecoder,
    GatedDecoder,
    GNMTDecoder,
    LuongDecoder,
    RecurrentDecoder,
)
from jumok.parts import builder_of
from jumok.shapes import Allowed, Float, Int, Tensor


class RecurrentModel(SequenceToSequence):
    """Encoder and decoder, with one vocabulary."""

    def __init__(self, config: RecurrentConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.noise = Noise()
        parts = RecurrentParts(config, self.noise)
        size = vocabulary_size, config.embedding
        table = embedding_table(*size)
        source_table = table if config.tied == "all" else embedding_table(*size)
        output = embedding_table(*size) if config.tied == "none" else table
        self.one_vector = config.attention == "none"
        self.encoder = parts.encoder(source_table)
        self.decoder = parts.decoder(table, output)

    @observable
    def encode(self, tokens: Int[Tensor, "batch source"], allowed: Allowed | None = None) -> Memory:
        """Reads the source once. `allowed` is True where a token is real; None where all are."""
        if not self.one_vector:
            return Memory(self.encoder(tokens, allowed), allowed)
        lengths = tokens.new_full(tokens.shape[:1], tokens.shape[1])
        if allowed is not None:
            lengths = allowed.sum(dim=1)
        return Memory(self.encoder.last(tokens, allowed)[:, None], lengths=lengths)


class RecurrentEncoder(nn.Module):
    """Layers of RNNs, each of which reads the states of the one below."""

    def __init__(
        self, embedding: Embedding, readers: list[RecurrentLayer], dropout: Dropout
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.readers = nn.ModuleList(readers)
        self.dropout = dropout

    def forward(
        self, tokens: Int[Tensor, "batch source"], allowed: Allowed | None = None
    ) -> Float[Tensor, "batch source dim"]:
        states = self.embedding(tokens)
        for reader in self.readers:
            states = self.dropout(reader(states, allowed))
        return states

    def last(
        self, tokens: Int[Tensor, "batch source"], allowed: Allowed | None = None
    ) -> Float[Tensor, "batch dim"]:
        """One vector for each sentence: the last states of both directions."""
        top = self.readers[-1]
        assert isinstance(top, RecurrentLayer)
        return top.last(self(tokens, allowed), allowed)


@dataclass(frozen=True)
class RecurrentParts:
    """Builds the parts that `config` describes, all with the same noise."""

    config: RecurrentConfig
    noise: Noise

    def encoder(self, table: nn.Parameter) -> RecurrentEncoder:
        """The layers that read the source."""
        config = self.config
        widths = [config.embedding, *[config.dim] * (config.encoder_layers - 1)]
        readers = [self._reader(width) for width in widths]
        return RecurrentEncoder(self._embedding("encoder", table), readers, self._dropout())

    def decoder(self, table: nn.Parameter, output: nn.Parameter) -> RecurrentDecoder:
        """The decoder, with or without attention over a Memory of its own width."""
        config = self.config
        word, state = config.embedding, config.dim
        memory = state  # the encoder writes vectors of the decoder's width
        if config.attention == "none":
            if config.context == "first-state":
                return RecurrentDecoder(self._decoder_parts(table, output, word, state))
            parts = self._decoder_parts(table, output, word + memory, state + memory + word)
            return ContextDecoder(parts)
        attention = ScoredAttention(
            self._score(), self.noise, config.attention_dropout, Role("cross")
        )
        if config.order == "bahdanau":
            parts = self._decoder_parts(table, output, word + memory, state + memory + word)
            if config.gate:
                return GatedDecoder(parts, attention, config.coverage, Linear(state, 1))
            return BahdanauDecoder(parts, attention, config.coverage)
        if config.input_feeding:
            parts = self._decoder_parts(table, output, word + word, state + memory)
            return FeedingDecoder(parts, attention, config.coverage)
        if config.order == "gnmt":
            parts = self._decoder_parts(table, output, word, state + memory, above=state + memory)
            return GNMTDecoder(parts, attention, config.coverage)
        parts = self._decoder_parts(table, output, word, state + memory)
        return LuongDecoder(parts, attention, config.coverage)

    def _decoder_parts(
        self,
        table: nn.Parameter,
        output: nn.Parameter,
        read: int,
        known: int,
        above: int | None = None,
    ) -> DecoderParts:
        """The parts by their widths.

        Args:
            read: that of the lowest layer's input.
            known: that of the readout's input.
            above: that of the other layers' inputs; None: that of a layer's state.
        """
        config = self.config
        widths = [read, *[above or config.dim] * (config.decoder_layers - 1)]
        cells = CellStack([self._cell(width, config.dim) for width in widths], self._dropout())
        layers, parts, dim = cells.shape
        return DecoderParts(
            self._embedding("decoder", table),
            cells,
            None if config.first_state == "copy" else Linear(config.dim, layers * parts * dim),
            config.forwards if config.first_state == "last" else None,
            Linear(known, config.embedding) if config.readout else nn.Identity(),
            self._dropout(),
            Projection(output, bias=config.output_bias),
        )

    def _score(self) -> ScoreFunction:
        dim = self.config.dim
        if self.config.coverage:
            return CoverageScore(dim, dim)
        score: ScoreFunction = builder_of("score", self.config.attention)(dim, dim, 1)
        return score

    def _reader(self, width: int) -> RecurrentLayer:
        config = self.config
        if not config.bidirectional:
            return RecurrentLayer(self._cell(width, config.dim), None)
        half = config.dim // 2
        return RecurrentLayer(self._cell(width, half), self._cell(width, half))

    def _cell(self, inner: int, dim: int) -> Cell:
        return CELLS[self.config.cell](inner, dim)

    def _embedding(self, part: Part, table: nn.Parameter) -> Embedding:
        dropout = self._dropout()
        return Embedding(table, None, dropout, self.noise, self.config.word_dropout, part=part)

    def _dropout(self) -> Dropout:
        return Dropout(self.config.dropout, self.noise)
