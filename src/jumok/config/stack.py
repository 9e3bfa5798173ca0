"""What the sections of all models made of Transformer blocks share."""

from typing import Literal

from pydantic import model_validator

from jumok.config.section import Count, ModelSection, Share


class StackConfig(ModelSection):
    """Blocks of attention and feed-forward: their width, their norm and their positions."""

    dim: Count = 256
    heads: Count = 4
    head_dim: Count | None = None
    value_dim: Count | None = None
    feedforward: Count = 1024
    activation: Literal["relu", "gelu"] = "relu"
    norm: Literal["pre", "post"] = "pre"
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = "sinusoidal"
    max_length: Count = 1024
    dropout: Share = 0.1
    attention_dropout: Share = 0.0
    feedforward_dropout: Share = 0.0
    word_dropout: Share = 0.0

    @model_validator(mode="after")
    def _heads_fit(self) -> "StackConfig":
        if self.head_dim is None and self.dim % self.heads:
            raise ValueError(
                f"dim = {self.dim} cannot be split among heads = {self.heads}: "
                "choose a multiple, or give head_dim"
            )
        head_dim = self.head_dim or self.dim // self.heads
        if self.positions == "rotary" and head_dim % 2:
            raise ValueError(f"rotary positions need an even head size, not {head_dim}")
        return self
