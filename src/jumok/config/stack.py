"""The keys that all models of Transformer blocks share."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from jumok.config.section import Count, ModelSection, Share, part_name

PositionKind = Annotated[str, part_name("positions", "none")]
ActivationKind = Literal["relu", "gelu", "silu"]
HeadProcessKind = Annotated[str, part_name("head_process")]
OutputProcessKind = Annotated[str, part_name("output_process")]
WindowKind = Literal["window", "whole"]


class StackConfig(ModelSection):
    """Blocks of attention and feed-forward: their width, their norm and their positions."""

    dim: Count = 256
    heads: Count = 4
    head_dim: Count | None = None
    value_dim: Count | None = None
    kv_heads: Count | None = None
    score: Annotated[str, part_name("score")] = "scaled-dot"
    process_heads: tuple[HeadProcessKind, ...] = ()
    process_output: tuple[OutputProcessKind, ...] = ()
    feedforward: Count = 1024
    feedforward_kind: Annotated[str, part_name("feedforward")] = "plain"
    activation: ActivationKind = "relu"
    bias: bool = True
    norm: Literal["pre", "post"] = "pre"
    norm_kind: Annotated[str, part_name("norm")] = "layer"
    norm_epsilon: Annotated[float, Field(gt=0.0, lt=1.0)] = 1e-5
    positions: PositionKind = "sinusoidal"
    positions_join: Literal["add", "concatenate"] = "add"
    rotary_base: Annotated[float, Field(gt=1.0)] = 1e4
    max_length: Count = 1024
    window: Count | None = None
    window_layers: Annotated[tuple[WindowKind, ...], Field(min_length=1)] = ("window",)
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

    def window_of(self, layer: int) -> int | None:
        """The window of the self-attention in this layer, from 0; None: it sees everything."""
        kind = self.window_layers[layer % len(self.window_layers)]
        return self.window if kind == "window" else None

    @model_validator(mode="after")
    def _windows_have_a_size(self) -> "StackConfig":
        if self.window is None and "whole" in self.window_layers:
            raise ValueError(
                "window_layers has no effect without a window: give window = 64, or leave it out"
            )
        return self

    @model_validator(mode="after")
    def _heads_fit(self) -> "StackConfig":
        if self.head_dim is None and self.dim % self.heads:
            raise ValueError(
                f"dim = {self.dim} cannot be split among heads = {self.heads}: "
                "choose a multiple, or give head_dim"
            )
        if self.kv_heads is not None and self.heads % self.kv_heads:
            raise ValueError(
                f"heads = {self.heads} cannot share kv_heads = {self.kv_heads} heads of keys and "
                "values: choose a divisor of heads"
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
