"""The keys that all models of Transformer blocks share."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from jumok.config.section import Count, ModelSection, Share, part_name

PositionKind = Annotated[str, part_name("positions", "none")]
ActivationKind = Literal["relu", "relu2", "gelu", "silu"]
HeadProcessKind = Annotated[str, part_name("head_process")]
OutputProcessKind = Annotated[str, part_name("output_process")]
Cap = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
"""The largest score that a soft cap lets through."""
WindowKind = Literal["window", "whole"]

OF_PRODUCTS = ("heads", "latent", "differential")
"""Kinds of attention that weigh by the softmax of a score, and by nothing else."""

PRODUCTS = ("dot", "scaled-dot", "cosine")
"""Scores that do not change if the query and the key are turned by the same angle."""


class StackConfig(ModelSection):
    """Blocks of attention and feed-forward: their width, their norm and their positions."""

    dim: Count = 256
    heads: Count = 4
    head_dim: Count | None = None
    value_dim: Count | None = None
    kv_heads: Count | None = None
    score: Annotated[str, part_name("score")] = "scaled-dot"
    score_cap: Cap | None = None
    sinks: bool = False
    attention_kind: Annotated[str, part_name("attention")] = "heads"
    latent_dim: Count | None = None
    query_latent_dim: Count | None = None
    rotary_dim: Count | None = None
    value_residual: bool = False
    process_heads: tuple[HeadProcessKind, ...] = ()
    process_output: tuple[OutputProcessKind, ...] = ()
    feedforward: Count = 1024
    feedforward_kind: Annotated[str, part_name("feedforward")] = "plain"
    activation: ActivationKind = "relu"
    experts: Annotated[int, Field(ge=2, le=1000)] | None = None
    experts_used: Count = 2
    experts_balance: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 0.01
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

    @property
    def turned_dim(self) -> int:
        """How much of a head's query and key rotary positions turn: all but in latent attention."""
        head_dim = self.head_dim or self.dim // self.heads
        if self.attention_kind != "latent":
            return head_dim
        half = max(2, head_dim // 4 * 2)
        return self.rotary_dim or (half if self.positions == "rotary" else 0)

    @property
    def keeps_scores(self) -> bool:
        """Whether training keeps the scores of all queries and keys of a row, masked or not, which
        the fused kernels of GPUs do not: parts that are not known are assumed to do it.
        """
        return (
            self.attention_kind not in OF_PRODUCTS
            or self.score not in ("bilinear", *PRODUCTS)
            or self.positions == "alibi"
            or self.score_cap is not None
            or self.sinks
            or self.attention_dropout > 0.0
        )

    @property
    def knows_row(self) -> bool:
        """Whether it matters where in its row a sentence begins: rotary positions turn queries and
        keys by their places in the row, and only in products of both the distance alone remains.
        """
        products = self.attention_kind in OF_PRODUCTS and self.score in PRODUCTS
        return self.positions == "rotary" and not products

    def window_of(self, layer: int) -> int | None:
        """The window of the self-attention in this layer, from 0; None: it sees everything."""
        kind = self.window_layers[layer % len(self.window_layers)]
        return self.window if kind == "window" else None

    @model_validator(mode="after")
    def _kinds_fit(self) -> "StackConfig":
        faults = list(kind_faults(self))
        if self.experts is not None and self.experts_used > self.experts:
            faults.append(
                f"experts_used = {self.experts_used} of experts = {self.experts}: choose fewer"
            )
        if self.window is None and "whole" in self.window_layers:
            faults.append(
                "window_layers has no effect without a window: give window = 64, or leave it out"
            )
        if faults:
            raise ValueError("; ".join(faults))
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
        if self.positions == "rotary" and self.turned_dim % 2:
            raise ValueError(f"rotary positions need an even head size, not {self.turned_dim}")
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


class WriterConfig(StackConfig):
    """Blocks that write: the states after the last one become logits of the next token."""

    logit_cap: Cap | None = None


PLAIN: dict[str, dict[str, object]] = {
    "latent": {
        "kv_heads": None,
        "score": "scaled-dot",
        "process_heads": (),
        "value_residual": False,
    },
    "linear": {"score": "scaled-dot", "score_cap": None, "sinks": False, "window": None},
    "differential": {"process_output": ()},
}
"""By kind of attention the keys that have to keep their defaults, because it has no such part."""

LATENT = ("latent_dim", "query_latent_dim", "rotary_dim")


def kind_faults(config: StackConfig) -> Iterator[str]:
    """What the kind of attention cannot be combined with."""
    kind, named = config.attention_kind, f'attention_kind = "{config.attention_kind}"'
    for key, plain in PLAIN.get(kind, {}).items():
        if getattr(config, key) != plain:
            yield f"{named} has no {key}: leave it out"
    if kind == "linear" and config.positions == "alibi":
        yield f'{named} has no scores that positions = "alibi" could be added to: choose others'
    if kind == "differential" and (config.heads % 2 or (config.kv_heads or 2) % 2):
        yield f"{named} needs an even number of heads and of kv_heads, which form pairs"
    if kind == "latent" and config.turned_dim >= (config.head_dim or config.dim // config.heads):
        yield f"rotary_dim = {config.turned_dim} is part of head_dim: choose a smaller one"
    if kind != "latent":
        yield from (
            f'{key} belongs to attention_kind = "latent": leave it out'
            for key in LATENT
            if getattr(config, key) is not None
        )
