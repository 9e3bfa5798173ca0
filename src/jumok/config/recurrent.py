"""The section [model] of a sequence-to-sequence RNN."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import model_validator

from jumok.config.section import Count, Layers, ModelSection, Share, part_name
from jumok.parts import described, names, spec_of
from jumok.specs import ScoreSpec, Spec

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
STATES = {"rnn": 1, "gru": 1, "lstm": 2}
"""How many vectors a cell's input is turned into, and how many its state is made of."""


class RecurrentConfig(ModelSection):
    """Sequence to sequence with RNNs, with one context vector or with attention."""

    kind: Literal["rnn"] = "rnn"
    cell: Literal["rnn", "lstm", "gru"] = "gru"
    dim: Count = 256
    embedding: Count = 256
    encoder_layers: Layers = 1
    bidirectional: bool = True
    decoder_layers: Layers = 1
    attention: Annotated[str, part_name("score", "none")] = "additive"
    order: Literal["bahdanau", "luong", "gnmt"] = "bahdanau"
    input_feeding: bool = False
    coverage: bool = False
    gate: bool = False
    context: Literal["first-state", "every-step"] = "first-state"
    first_state: Literal["mean", "last", "copy"] = "mean"
    readout: bool = True
    output_bias: bool = False
    dropout: Share = 0.1
    attention_dropout: Share = 0.0
    word_dropout: Share = 0.0
    tied: Literal["all", "target", "none"] = "all"

    @property
    def summary(self) -> str:
        layers = f"{self.encoder_layers}+{self.decoder_layers}"
        reads = f"{self.attention} attention" if self.attention != "none" else "no attention"
        return f"{self.cell.upper()}, {layers} layers, width {self.dim}, {reads}"

    def parts(self) -> Iterator[tuple[str, str, Spec | None]]:
        if self.looks:
            yield "attention", self.attention, described(ScoreSpec, self.attention)

    @property
    def score(self) -> ScoreSpec:
        return spec_of(ScoreSpec, self.attention)

    @property
    def looks(self) -> bool:
        """Whether the decoder has attention."""
        return self.attention != "none"

    @property
    def forwards(self) -> int:
        """How many numbers of a Memory's vector are of the direction that ends with the text."""
        return self.dim // 2 if self.bidirectional else self.dim

    @property
    def word_inputs(self) -> tuple[int, ...]:
        """The widths of what the decoder's lowest cell reads, side by side."""
        if self.order == "bahdanau" if self.looks else self.context == "every-step":
            return self.embedding, self.dim
        return (self.embedding, self.embedding) if self.input_feeding else (self.embedding,)

    @property
    def upper_inputs(self) -> tuple[int, ...]:
        """The widths of what the decoder's other cells read."""
        return (self.dim, self.dim) if self.looks and self.order == "gnmt" else (self.dim,)

    @property
    def readout_inputs(self) -> tuple[int, ...]:
        """The widths of what an output is computed from: state, context vector, word; of logits
        that are computed from the state itself none.
        """
        if not self.readout:
            return ()
        if self.word_inputs == (self.embedding, self.dim) and not self.input_feeding:
            return self.dim, self.dim, self.embedding
        return (self.dim, self.dim) if self.looks else (self.dim,)

    @model_validator(mode="after")
    def _parts_fit(self) -> "RecurrentConfig":
        if self.bidirectional and self.dim % 2:
            raise ValueError(
                f"dim = {self.dim} cannot be shared by two directions: choose an even number, "
                "or bidirectional = false"
            )
        if self.attention == "none" and (self.input_feeding or self.coverage):
            raise ValueError("input_feeding and coverage need an attention other than none")
        if self.input_feeding and self.order != "luong":
            raise ValueError('input_feeding belongs to order = "luong"')
        if self.gate and (self.attention == "none" or self.order != "bahdanau"):
            raise ValueError('gate belongs to an attention in order = "bahdanau"')
        if self.order == "gnmt" and (self.attention == "none" or self.decoder_layers < 2):
            raise ValueError(
                'order = "gnmt" has layers above the one with attention: set decoder_layers = 2 '
                "or more, and an attention"
            )
        alone = self.attention == "none" and self.context == "first-state"
        if not self.readout and not (alone and self.embedding == self.dim):
            raise ValueError(
                'readout = false needs attention = "none", context = "first-state", and dim and '
                "embedding to be equal"
            )
        if self.first_state == "copy" and self.attention != "none":
            raise ValueError('first_state = "copy" needs attention = "none"')
        if self.first_state == "last" and self.attention == "none":
            raise ValueError('first_state = "last" needs an attention: without one, the mean is it')
        if self.coverage and not self.score.covers:
            covering = (f'"{name}"' for name in names("score") if spec_of(ScoreSpec, name).covers)
            raise ValueError("coverage is a part of attention = " + " or ".join(covering))
        return self
