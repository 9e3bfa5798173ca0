"""The section [model] of a causal language model."""

from typing import Literal

from pydantic import model_validator

from jumok.config.section import Count, Layers
from jumok.config.stack import ActivationKind, PositionKind, WriterConfig


class CausalConfig(WriterConfig):
    """A stack of blocks that predicts the next token (GPT, Radford et al. 2018)."""

    kind: Literal["causal-lm"] = "causal-lm"
    layers: Layers = 4
    activation: ActivationKind = "gelu"
    positions: PositionKind = "rotary"
    max_length: Count = 256
    tied: bool = True
    parallel: bool = False

    @model_validator(mode="after")
    def _parallel_has_norms_before(self) -> "CausalConfig":
        if self.parallel and self.norm == "post":
            raise ValueError('parallel parts have their norms before them: give norm = "pre"')
        return self

    @property
    def summary(self) -> str:
        sizes = f"{self.layers} layers, width {self.dim}, {self.heads} heads"
        return f"{sizes}, a context of {self.max_length} tokens"
