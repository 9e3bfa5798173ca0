"""The sections of models that read a whole text at once: masked language models, classifiers."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from jumok.config.section import Count, DataPath, Layers, Section
from jumok.config.stack import ActivationKind, PositionKind, StackConfig


class EncoderConfig(StackConfig):
    """A stack of encoder blocks, by default as in BERT, but pre-norm."""

    layers: Layers = 4
    activation: ActivationKind = "gelu"
    positions: PositionKind = "learned"
    max_length: Count = 256

    @property
    def summary(self) -> str:
        return f"{self.layers} layers, width {self.dim}, {self.heads} heads"


class MaskedConfig(EncoderConfig):
    """A masked language model (Devlin et al. 2019); without its head an encoder of texts."""

    kind: Literal["masked-lm"] = "masked-lm"
    head: bool = True


class TextClassifierConfig(EncoderConfig):
    """An encoder, pooling and a linear classifier."""

    kind: Literal["text-classifier"] = "text-classifier"
    pretrained: DataPath | None = None
    pooling: Literal["mean", "first"] = "mean"

    @model_validator(mode="after")
    def _sizes_come_from_one_place(self) -> "TextClassifierConfig":
        given = sorted(SHAPE & self.model_fields_set)
        if self.pretrained is not None and given:
            raise ValueError(
                f"`pretrained` brings its own {', '.join(given)}: leave these keys out"
            )
        return self


SHAPE = frozenset(EncoderConfig.model_fields) - {
    *("kind", "window", "window_layers", "experts_balance"),
    *("dropout", "attention_dropout", "feedforward_dropout", "word_dropout"),
}
"""The keys of an encoder that determine its weights; only dropout may change after training."""

Whole = Annotated[float, Field(ge=0.0, le=1.0)]


class MaskingConfig(Section):
    """Which tokens are masked, and what replaces them."""

    share: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.15
    mask: Whole = 0.8
    random: Whole = 0.1
    whole_words: bool = True

    @model_validator(mode="after")
    def _shares_of_one(self) -> "MaskingConfig":
        if self.mask + self.random > 1.0:
            raise ValueError(
                f"mask = {self.mask} and random = {self.random} are shares of the same tokens: "
                "their sum is at most 1.0"
            )
        return self
