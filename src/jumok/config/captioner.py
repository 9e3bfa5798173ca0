"""The sections [model], [data] and [validation] of a captioner."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from jumok.config.eye import EyeConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import (
    Count,
    DataPath,
    Layers,
    ModelSection,
    PixelSide,
    Section,
    Share,
    part_name,
)
from jumok.config.stack import WriterConfig
from jumok.config.training import ValidationConfig
from jumok.config.vit import VitConfig
from jumok.specs import Spec


class CnnConfig(Section):
    """A CNN that computes a grid of states, trained with the decoder.

    The grid has size / (patch * 2 ** (stages - 1)) rows and columns.
    """

    kind: Literal["cnn"] = "cnn"
    size: PixelSide = 96
    patch: Count = 4
    channels: Annotated[tuple[Count, ...], Field(min_length=1, max_length=30)] = (64, 128)
    blocks: Annotated[int, Field(ge=0, le=1000)] = 1
    dropout: Share = 0.0

    @property
    def grid(self) -> tuple[int, int]:
        """The rows and columns of its output."""
        side = self.size // self._cell
        return side, side

    @property
    def width(self) -> int:
        """The width of the state in each cell."""
        return self.channels[-1]

    @property
    def _cell(self) -> int:
        return self.patch * 2 ** (len(self.channels) - 1)

    @model_validator(mode="after")
    def _cells_fit(self) -> "CnnConfig":
        if self.size % self._cell:
            raise ValueError(
                f"size = {self.size} cannot be cut into cells of {self._cell} pixels "
                f"(patch {self.patch}, halved {len(self.channels) - 1} times): "
                f"choose a multiple of {self._cell}"
            )
        return self


class GivenConfig(Section):
    """A grid of precomputed features: one .npy or .safetensors file per image."""

    kind: Literal["given"] = "given"
    rows: Count
    columns: Count
    dim: Count

    @property
    def grid(self) -> tuple[int, int]:
        return self.rows, self.columns

    @property
    def width(self) -> int:
        return self.dim


class StackDecoderConfig(WriterConfig):
    """A Transformer decoder that attends to the grid."""

    kind: Literal["transformer"] = "transformer"
    dim: Count = 128
    feedforward: Count = 512
    layers: Layers = 2
    max_length: Count = 128


class ReaderConfig(Section):
    """Transformer blocks of self-attention over the cells."""

    layers: Annotated[int, Field(ge=0, le=1000)] = 0
    heads: Count = 4
    feedforward: Count = 512
    dropout: Share = 0.1

    def stack(self, dim: int) -> StackDecoderConfig:
        """The config of its blocks with the width `dim`; the cells already have positions."""
        return StackDecoderConfig(
            dim=dim,
            heads=self.heads,
            feedforward=self.feedforward,
            dropout=self.dropout,
            positions="none",
        )


class RnnDecoderConfig(Section):
    """An RNN that attends to the grid at every step, or that starts from one vector."""

    kind: Literal["rnn"] = "rnn"
    cell: Literal["rnn", "lstm", "gru"] = "gru"
    dim: Count = 128
    embedding: Count = 128
    layers: Layers = 1
    attention: Annotated[str, part_name("score")] = "additive"
    gate: bool = True
    context: Literal["first-state", "every-step"] = "first-state"
    dropout: Share = 0.1
    attention_dropout: Share = 0.0
    word_dropout: Share = 0.0

    def recurrent(self, *, looks: bool) -> RecurrentConfig:
        """The section of an RNN for text that has the same decoder."""
        return RecurrentConfig(
            cell=self.cell,
            dim=self.dim,
            embedding=self.embedding,
            bidirectional=False,
            decoder_layers=self.layers,
            attention=self.attention if looks else "none",
            gate=self.gate and looks,
            context=self.context,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
            word_dropout=self.word_dropout,
        )


class CaptionerConfig(ModelSection):
    """An image in, a sentence out."""

    kind: Literal["captioner"] = "captioner"
    encoder: Annotated[
        CnnConfig | GivenConfig | EyeConfig | VitConfig, Field(discriminator="kind")
    ] = CnnConfig()
    memory: Literal["grid", "one"] = "grid"
    reader: ReaderConfig = ReaderConfig()
    decoder: Annotated[StackDecoderConfig | RnnDecoderConfig, Field(discriminator="kind")] = (
        StackDecoderConfig()
    )
    doubly_stochastic: Annotated[float, Field(ge=0.0)] = 0.0

    @property
    def summary(self) -> str:
        """A description of the sizes."""
        rows, columns = self.encoder.grid
        grid = f"a grid of {rows} x {columns} cells"
        memory = grid if self.memory == "grid" else f"one vector made of {grid}"
        if self.reader.layers:
            memory += f", {_layer_count(self.reader.layers)} of self-attention over the cells"
        decoder = self.decoder
        kind = decoder.cell.upper() if isinstance(decoder, RnnDecoderConfig) else "Transformer"
        return f"{memory}; {kind} decoder, {_layer_count(decoder.layers)}, width {decoder.dim}"

    def parts(self) -> Iterator[tuple[str, str, Spec | None]]:
        if isinstance(self.decoder, RnnDecoderConfig):
            return self.decoder.recurrent(looks=self.memory == "grid").parts()
        return self.decoder.parts()

    @model_validator(mode="after")
    def _parts_fit(self) -> "CaptionerConfig":
        if self.reader.layers:
            self.reader.stack(self.decoder.dim)  # raises an error if it does not fit
        if isinstance(self.encoder, VitConfig) and (self.memory == "one" or self.reader.layers):
            raise ValueError(
                'the decoder attends to the states of encoder.kind = "vit" themselves: leave '
                'reader.layers and memory = "one" out'
            )
        if self.memory == "one" and self.reader.layers:
            raise ValueError(
                "reader.layers are self-attention over cells, and there is only one vector: "
                'leave them out, or set memory = "grid"'
            )
        sines = self.memory == "grid" and not isinstance(self.encoder, VitConfig)
        if sines and self.decoder.dim % 4:
            raise ValueError(
                f"decoder.dim = {self.decoder.dim} cannot hold sines and cosines of rows and "
                "columns: choose a multiple of 4"
            )
        if self.memory == "one" and self.doubly_stochastic:
            raise ValueError(
                "doubly_stochastic is a penalty on attention over cells, and there is one vector: "
                'leave it out, or set memory = "grid"'
            )
        return self


def _layer_count(layers: int) -> str:
    return f"{layers} layer{'s' * (layers > 1)}"


class CaptionCorpusConfig(Section):
    """A table with one caption per row, and the images that it names."""

    captions: DataPath
    images: DataPath
    file_column: str | int = 0
    caption_column: str | int = 2


class ScenesConfig(Section):
    """Drawn images of smallworld, generated in the run's folder before training."""

    pictures: Count = 8_000
    validation_pictures: Count = 300
    test_pictures: Count = 500


class CaptionDataConfig(Section):
    """The training and validation data."""

    train: tuple[CaptionCorpusConfig, ...] = ()
    validation: tuple[CaptionCorpusConfig, ...] = ()
    scenes: ScenesConfig | None = None
    validation_share: Share = 0.1
    test_share: Share = 0.1
    language: str = ""
    max_tokens: Count = 64
    captions_per_picture: Count = 5
    flip: bool = False
    shift: Annotated[int, Field(ge=0)] = 0
    views: Count = 1
    skip_damaged: bool = False

    @model_validator(mode="after")
    def _something_to_look_at(self) -> "CaptionDataConfig":
        if not self.train and self.scenes is None:
            raise ValueError("needs at least one [[data.train]] table, or [data.scenes]")
        if (self.train or self.validation) and self.scenes is not None:
            raise ValueError("takes either [[data.train]] tables, or [data.scenes]")
        if self.scenes is not None and self.language not in ("en", "ko"):
            raise ValueError('[data.scenes] has captions in language = "en" and "ko"')
        return self


class CaptionValidationConfig(ValidationConfig):
    """Validation by the loss and by generated captions."""

    metric: Literal["loss", "bleu-4", "cider-d"] = "cider-d"
    decode_pictures: Count = 200
    beam: Count = 1
