"""The section [model] of an encoder-decoder Transformer."""

from typing import Literal

from pydantic import model_validator

from jumok.config.section import Count, ModelSection, Share


class TransformerConfig(ModelSection):
    """The encoder-decoder Transformer (Vaswani et al. 2017), pre- or post-norm."""

    kind: Literal["transformer"] = "transformer"
    dim: Count = 256
    heads: Count = 4
    head_dim: Count | None = None
    value_dim: Count | None = None
    encoder_layers: Count = 3
    decoder_layers: Count = 3
    feedforward: Count = 1024
    activation: Literal["relu", "gelu"] = "relu"
    norm: Literal["pre", "post"] = "pre"
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = "sinusoidal"
    max_length: Count = 1024
    dropout: Share = 0.1
    attention_dropout: Share = 0.0
    feedforward_dropout: Share = 0.0
    word_dropout: Share = 0.0
    tied: Literal["all", "target", "none"] = "all"

    @property
    def summary(self) -> str:
        """The sizes in words."""
        layers = f"{self.encoder_layers}+{self.decoder_layers}"
        return f"{layers} layers, width {self.dim}, {self.heads} heads"

    @model_validator(mode="after")
    def _heads_fit(self) -> "TransformerConfig":
        if self.head_dim is None and self.dim % self.heads:
            raise ValueError(
                f"dim = {self.dim} cannot be split among heads = {self.heads}: "
                "choose a multiple, or give head_dim"
            )
        head_dim = self.head_dim or self.dim // self.heads
        if self.positions == "rotary" and head_dim % 2:
            raise ValueError(f"rotary positions need an even head size, not {head_dim}")
        return self
