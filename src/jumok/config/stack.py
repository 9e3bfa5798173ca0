"""The keys that all models of Transformer blocks share."""

from typing import Literal

from pydantic import model_validator

from jumok.config.section import Count, ModelSection, Share

PositionKind = Literal[
    "sinusoidal", "learned", "rotary", "alibi", "index", "fraction", "binary", "none"
]


class StackConfig(ModelSection):
    """Blocks of attention and feed-forward: their width, their norm and their positions."""

    dim: Count = 256
    heads: Count = 4
    head_dim: Count | None = None
    value_dim: Count | None = None
    feedforward: Count = 1024
    activation: Literal["relu", "gelu"] = "relu"
    norm: Literal["pre", "post"] = "pre"
    positions: PositionKind = "sinusoidal"
    positions_join: Literal["add", "concatenate"] = "add"
    max_length: Count = 1024
    dropout: Share = 0.1
    attention_dropout: Share = 0.0
    feedforward_dropout: Share = 0.0
    word_dropout: Share = 0.0

    @property
    def reach(self) -> int | None:
        """The number of positions; None if it is unlimited."""
        if self.positions == "binary":
            return 1 << max(1, (self.max_length - 1).bit_length())
        return self.max_length if self.positions == "learned" else None

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
        if self.positions == "binary" and self.dim < (self.max_length - 1).bit_length():
            raise ValueError(
                f"binary positions up to max_length = {self.max_length} have more bits than "
                f"dim = {self.dim}: raise dim, or lower max_length"
            )
        if self.positions_join == "concatenate" and self.positions in ("rotary", "alibi", "none"):
            raise ValueError(
                f'positions = "{self.positions}" has no vectors to concatenate: '
                'leave positions_join out, or choose "sinusoidal", "learned", "binary", ...'
            )
        return self
