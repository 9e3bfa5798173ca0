"""RNNs with attention that JoeyNMT trained, whose decoder has Luong's order.

Its widths are free: the decoder's state may be narrower than what it attends to, and words another
width again. Here all vectors have one width, and words and outputs one: what is narrower is filled
up with zeros, which stay zero, in training, too.

Source: Kreutzer et al. 2019; JoeyNMT 2.3.0, encoders.py, decoders.py and attention.py.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Self

import torch
import torch.nn.functional as F
from pydantic import model_validator

from jumok.config.recurrent import GATES, STATES, RecurrentConfig
from jumok.config.section import Count, Share
from jumok.data.pair_tokenizer import PairTokenizer
from jumok.interop.families.trainers.joeynmt import (
    LONGEST,
    TABLES,
    JoeyEmbeddings,
    JoeyModel,
    JoeyPart,
    languages,
    vocabulary,
)
from jumok.interop.family import ModelFamily
from jumok.interop.folded import Computed, Scaled
from jumok.interop.layouts.joeynmt import RECURRENT
from jumok.interop.rows import Flattened, OutputBias, Table, TensorList, TensorRow, VocabularyRows
from jumok.interop.vocabulary import Vocabulary

Widths = Sequence[tuple[int, int]]
"""Of vectors side by side the width there and the one here."""


class JoeyReader(JoeyPart):
    """An encoder, which always reads both ways."""

    type: Literal["recurrent"] = "recurrent"
    rnn_type: Literal["gru", "lstm"] = "gru"
    embeddings: JoeyEmbeddings
    hidden_size: Count
    num_layers: Count = 1
    bidirectional: Literal[True] = True
    dropout: Share = 0.0
    freeze: bool = False


class JoeyWriter(JoeyPart):
    """A decoder."""

    type: Literal["recurrent"]
    rnn_type: Literal["gru", "lstm"] = "gru"
    embeddings: JoeyEmbeddings
    hidden_size: Count
    num_layers: Count = 1
    attention: Literal["bahdanau", "luong"] = "bahdanau"
    init_hidden: Literal["bridge"] = "bridge"
    input_feeding: bool = True
    activation: Literal["tanh"] = "tanh"
    dropout: Share = 0.0
    hidden_dropout: Share = 0.0
    freeze: bool = False


class JoeyRnnSettings(JoeyModel):
    """The settings of a model in config.yaml, and of data."""

    encoder: JoeyReader
    decoder: JoeyWriter

    @model_validator(mode="after")
    def _sides_fit(self) -> Self:
        if self.encoder.rnn_type != self.decoder.rnn_type:
            raise ValueError("encoder and decoder have to have the same rnn_type")
        if self.tied_embeddings and self.encoder.embeddings != self.decoder.embeddings:
            raise ValueError("with tied_embeddings both sides have to have the same embeddings")
        return self

    @property
    def half(self) -> int:
        """The width of a direction here."""
        return max(self.encoder.hidden_size, (self.decoder.hidden_size + 1) // 2)

    @property
    def word(self) -> int:
        """The width of words and outputs here."""
        sides = self.encoder, self.decoder
        return max(self.decoder.hidden_size, *(side.embeddings.embedding_dim for side in sides))


def section(settings: JoeyRnnSettings, _: Collection[str]) -> RecurrentConfig:
    """The same as a section [model]."""
    reads, writes = settings.encoder, settings.decoder
    return RecurrentConfig(
        cell=writes.rnn_type,
        dim=2 * settings.half,
        embedding=settings.word,
        encoder_layers=reads.num_layers,
        decoder_layers=writes.num_layers,
        attention={"bahdanau": "additive", "luong": "bilinear"}[writes.attention],
        order="luong",
        input_feeding=writes.input_feeding,
        first_state="last",
        output_bias=not settings.one_vocabulary,
        dropout=writes.dropout,
        tied="none",
    )


@dataclass(frozen=True)
class FilledUp:
    """Zeros after each vector of a row's outputs, and of its inputs. Written, they are left out.

    Attributes:
        outputs, inputs: the vectors of each; (): they are as they were, or a bias has none.
        times: how often the outputs are there, one below another. Written, the first of them is.
    """

    outputs: Widths
    inputs: Widths = ()
    times: int = 1

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        (tensor,) = tensors
        for axis, widths in self._axes():
            parts = tensor.split([there for there, _ in widths], dim=axis)
            filled = [
                F.pad(part.movedim(axis, -1), (0, here - there)).movedim(-1, axis)
                for part, (there, here) in zip(parts, widths, strict=True)
            ]
            tensor = torch.cat(filled, dim=axis)
        return [torch.cat([tensor] * self.times)]

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        tensor = tensors[0].chunk(self.times)[0]
        for axis, widths in self._axes():
            ends = [0]
            for _, here in widths:
                ends.append(ends[-1] + here)
            kept = [
                tensor.narrow(axis, first, there)
                for (first, _), (there, _) in zip(pairwise(ends), widths, strict=True)
            ]
            tensor = torch.cat(kept, dim=axis)
        return [tensor]

    def _axes(self) -> list[tuple[int, Widths]]:
        both = enumerate((self.outputs, self.inputs))
        return [(axis, widths) for axis, widths in both if widths]


@dataclass(frozen=True)
class _Rows:
    """The table of a model, by what its vectors are there and here."""

    settings: JoeyRnnSettings

    @property
    def one_way(self) -> Widths:
        return ((self.settings.encoder.hidden_size, self.settings.half),)

    @property
    def memory(self) -> Widths:
        return (*self.one_way, *self.one_way)

    @property
    def state(self) -> Widths:
        return ((self.settings.decoder.hidden_size, 2 * self.settings.half),)

    @property
    def shown(self) -> Widths:
        return ((self.settings.decoder.hidden_size, self.settings.word),)

    def rows(self) -> Iterator[TensorRow]:
        """All of them."""
        settings, writes = self.settings, self.settings.decoder
        words = [
            ((side.embeddings.embedding_dim, settings.word),)
            for side in (settings.encoder, settings.decoder)
        ]
        yield from self._tables(*words)
        for layer in range(settings.encoder.num_layers):
            for suffix, way in (("", "forwards"), ("_reverse", "backwards")):
                reads = self.memory if layer else words[0]
                there, here = f"l{layer}{suffix}", f"encoder.readers.{layer}.{way}"
                yield from self._cell(f"encoder.rnn.{{}}_{there}", here, reads, self.one_way)
        fed = self.shown if writes.input_feeding else ()
        for layer in range(writes.num_layers):
            reads = self.state if layer else (*words[1], *fed)
            there, here = f"decoder.rnn.{{}}_l{layer}", f"decoder.cells.cells.{layer}"
            yield from self._cell(there, here, reads, self.state)
        known = (*self.state, *self.memory)
        yield from self._linear("decoder.att_vector_layer", "decoder.readout", self.shown, known)
        states = writes.num_layers * STATES[writes.rnn_type]
        bridge = "decoder.bridge_layer", "decoder.first"
        yield from self._linear(*bridge, self.state, self.memory, times=states)
        yield from self._attention()

    def _tables(self, source: Widths, target: Widths) -> Iterator[TensorRow]:
        """Words are multiplied by the root of their width here, and there if they are scaled."""
        width = self.settings.word
        for name, here, words, side in (
            (TABLES.source, "encoder.embedding.table", source, self.settings.encoder),
            (TABLES.target, "decoder.embedding.table", target, self.settings.decoder),
        ):
            factor = (words[0][0] if side.embeddings.scale else 1) / width
            how = Scaled(factor**0.5), FilledUp((), words), VocabularyRows(name == TABLES.source)
            yield TensorRow((name,), (here,), how)
        how = FilledUp((), self.shown), VocabularyRows()
        yield TensorRow((TABLES.output,), ("decoder.output.weight",), how)
        if not self.settings.one_vocabulary:
            yield TensorRow((), ("decoder.output.bias",), (OutputBias(None),))

    def _cell(self, there: str, here: str, reads: Widths, state: Widths) -> Iterator[TensorRow]:
        """Names there have {} where weight_ih is, and its kin."""
        gates = list(state) * GATES[self.settings.decoder.rnn_type]
        for short, part, inputs in (("ih", "input", reads), ("hh", "state", state)):
            weight, bias = (there.format(f"{kind}_{short}") for kind in ("weight", "bias"))
            yield TensorRow((weight,), (f"{here}.{part}.weight",), (FilledUp(gates, inputs),))
            yield TensorRow((bias,), (f"{here}.{part}.bias",), (FilledUp(gates),))

    @staticmethod
    def _linear(
        there: str, here: str, outputs: Widths, inputs: Widths, times: int = 1
    ) -> Iterator[TensorRow]:
        weight, bias = FilledUp(outputs, inputs, times), FilledUp(outputs, times=times)
        yield TensorRow((f"{there}.weight",), (f"{here}.weight",), (weight,))
        yield TensorRow((f"{there}.bias",), (f"{here}.bias",), (bias,))

    def _attention(self) -> Iterator[TensorRow]:
        """It has no biases there."""
        there, here = "decoder.attention", "decoder.attention.score"
        layers = {"key": self.memory}
        if self.settings.decoder.attention == "bahdanau":
            layers["query"] = self.state
            how = Flattened(), FilledUp(self.state)
            yield TensorRow((f"{there}.energy_layer.weight",), (f"{here}.energy",), how)
        for name, inputs in layers.items():
            weight = FilledUp(self.state, inputs)
            yield TensorRow(
                (f"{there}.{name}_layer.weight",), (f"{here}.{name}.weight",), (weight,)
            )
            nothing = Computed(torch.zeros(2 * self.settings.half))
            yield TensorRow((), (f"{here}.{name}.bias",), (nothing,))


def table(settings: JoeyRnnSettings, _: Collection[str]) -> Table:
    """The tensors of a checkpoint."""
    return Table(tuple(_Rows(settings).rows()))


JOEYNMT_RNN = ModelFamily(
    name="JoeyNMT, RNN",
    kinds=(RECURRENT,),
    task="translation",
    settings=JoeyRnnSettings,
    section=section,
    table=table,
    vocabulary=vocabulary,
    longest=lambda _: LONGEST,
    languages=languages,
    tokenizer=PairTokenizer,
    theirs=None,
    changes=(
        "states and words are filled up with zeros to one width each, which changes no number",
        "tables of words that are one there are one each here, which training may part",
    ),
)
