"""The section [model] of a sequence-to-sequence RNN."""

from typing import Annotated, Literal

from pydantic import model_validator

from jumok.config.section import Count, Layers, ModelSection, Share, part_name


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
    dropout: Share = 0.1
    attention_dropout: Share = 0.0
    word_dropout: Share = 0.0
    tied: Literal["all", "target", "none"] = "all"

    @property
    def summary(self) -> str:
        """A description of the sizes."""
        layers = f"{self.encoder_layers}+{self.decoder_layers}"
        reads = f"{self.attention} attention" if self.attention != "none" else "no attention"
        return f"{self.cell.upper()}, {layers} layers, width {self.dim}, {reads}"

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
        if self.coverage and self.attention != "additive":
            raise ValueError('coverage is a part of attention = "additive"')
        return self
