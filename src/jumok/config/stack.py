"""The keys that all models of Transformer blocks share."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from jumok.config.section import Count, ModelSection, Section, Share, part_name
from jumok.parts import described, names, spec_of
from jumok.specs import (
    AttentionSizes,
    AttentionSpec,
    FeedForwardSpec,
    HeadProcessSpec,
    NormSpec,
    OutputProcessSpec,
    PositionSpec,
    ScoreSpec,
    Spec,
)

PositionKind = Annotated[str, part_name("positions", "none")]
ActivationKind = Literal["relu", "relu2", "gelu", "gelu_tanh", "silu"]
HeadProcessKind = Annotated[str, part_name("head_process")]
OutputProcessKind = Annotated[str, part_name("output_process")]
Cap = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
"""The largest score that a soft cap lets through."""
WindowKind = Literal["window", "whole"]
Factor = Annotated[float, Field(ge=1.0, le=1e6)]


class LinearScaling(Section):
    """Every position counts as 1 / factor of one. Source: Chen et al. 2023."""

    kind: Literal["linear"] = "linear"
    factor: Factor


class RampScaling(Section):
    """Pairs that turn less than `slow` times in a text of `original_length` are slowed down by
    `factor`, those that turn more than `fast` times are not, and others in part.
    """

    factor: Factor
    original_length: Count
    slow: Annotated[float, Field(gt=0.0, le=1e6)] = 1.0
    fast: Annotated[float, Field(gt=0.0, le=1e6)]

    @model_validator(mode="after")
    def _slow_is_less(self) -> Self:
        if self.slow >= self.fast:
            raise ValueError(f"slow = {self.slow} has to be less than fast = {self.fast}")
        return self


class Llama3Scaling(RampScaling):
    """By how often a pair turns. Source: Llama 3.1 (2024)."""

    kind: Literal["llama3"] = "llama3"
    fast: Annotated[float, Field(gt=0.0, le=1e6)] = 4.0


class YarnScaling(RampScaling):
    """By the number of a pair, and vectors are `size` times as long; None: 1 + ln(factor) / 10.
    Source: Peng et al. 2023 (YaRN).
    """

    kind: Literal["yarn"] = "yarn"
    fast: Annotated[float, Field(gt=0.0, le=1e6)] = 32.0
    size: Annotated[float, Field(gt=0.0, le=1e3)] | None = None


RotaryScaling = Annotated[LinearScaling | Llama3Scaling | YarnScaling, Field(discriminator="kind")]
"""How rotary positions reach further than in the first training."""

NAMED: dict[str, type[Spec]] = {
    "score": ScoreSpec,
    "attention_kind": AttentionSpec,
    "process_heads": HeadProcessSpec,
    "process_output": OutputProcessSpec,
    "feedforward_kind": FeedForwardSpec,
    "norm_kind": NormSpec,
    "positions": PositionSpec,
}
"""The keys that name parts, and the kinds of the parts' records."""


@dataclass(frozen=True)
class StackSpecs:
    """The records of the parts of blocks; for a part without one, that of its role."""

    score: ScoreSpec
    attention: AttentionSpec
    norm: NormSpec
    feedforward: FeedForwardSpec
    positions: PositionSpec
    head_processes: tuple[HeadProcessSpec, ...]
    output_processes: tuple[OutputProcessSpec, ...]


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
    projection_bias: bool | None = None
    norm: Literal["pre", "post"] = "pre"
    norm_kind: Annotated[str, part_name("norm")] = "layer"
    norm_epsilon: Annotated[float, Field(gt=0.0, lt=1.0)] = 1e-5
    positions: PositionKind = "sinusoidal"
    positions_join: Literal["add", "concatenate"] = "add"
    embedding_scale: bool = True
    embedding_norm: bool = False
    rotary_base: Annotated[float, Field(gt=1.0)] = 1e4
    rotary_scaling: RotaryScaling | None = None
    relative_buckets: Annotated[int, Field(ge=4, le=4096)] = 32
    relative_distance: Annotated[int, Field(ge=2, le=65536)] = 128
    max_length: Count = 1024
    window: Count | None = None
    window_layers: Annotated[tuple[WindowKind, ...], Field(min_length=1)] = ("window",)
    dropout: Share = 0.1
    attention_dropout: Share = 0.0
    feedforward_dropout: Share = 0.0
    word_dropout: Share = 0.0

    def parts(self) -> Iterator[tuple[str, str, Spec | None]]:
        for key, kind in NAMED.items():
            value = getattr(self, key)
            for name in (value,) if isinstance(value, str) else value:
                if name != "none":
                    yield key, name, described(kind, name)

    @cached_property
    def specs(self) -> StackSpecs:
        """What its parts say of themselves."""
        return StackSpecs(
            spec_of(ScoreSpec, self.score),
            spec_of(AttentionSpec, self.attention_kind),
            spec_of(NormSpec, self.norm_kind),
            spec_of(FeedForwardSpec, self.feedforward_kind),
            spec_of(PositionSpec, self.positions),
            tuple(spec_of(HeadProcessSpec, name) for name in self.process_heads),
            tuple(spec_of(OutputProcessSpec, name) for name in self.process_output),
        )

    @property
    def sizes(self) -> AttentionSizes:
        """The sizes of its attention."""
        head_dim = self.head_dim or self.dim // self.heads
        return AttentionSizes(
            self.dim,
            self.heads,
            self.kv_heads or self.heads,
            head_dim,
            self.value_dim or head_dim,
            self.bias if self.projection_bias is None else self.projection_bias,
            self.norm_epsilon,
            self.latent_dim or 2 * head_dim,
            self.query_latent_dim or 0,
            self.specs.attention.turned_dim(
                head_dim, self.rotary_dim, self.specs.positions.enters == "heads"
            ),
            self.bias,
        )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("specs", None)
        return copied

    @property
    def embedding_factor(self) -> float:
        """What the vectors of words are multiplied with."""
        return math.sqrt(self.dim) if self.embedding_scale else 1.0

    @property
    def reach(self) -> int | None:
        """The number of positions; None if it is unlimited."""
        return self.specs.positions.reach(self.max_length)

    @property
    def keeps_scores(self) -> bool:
        """Whether training keeps the scores of all queries and keys of a row, masked or not, which
        the fused kernels of GPUs do not: parts that are not known are assumed to do it.
        """
        specs = self.specs
        return (
            not (specs.attention.softmax and specs.score.product)
            or specs.positions.enters == "scores"
            or self.score_cap is not None
            or self.sinks
            or self.attention_dropout > 0.0
        )

    @property
    def knows_row(self) -> bool:
        """Whether it matters where in its row a sentence begins: rotary positions turn queries and
        keys by their places in the row, and only in products of both the distance alone remains.
        """
        specs = self.specs
        products = specs.attention.softmax and specs.score.turns
        return specs.positions.enters == "heads" and not products

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
        positions, sizes = self.specs.positions, self.sizes
        if positions.pairs and sizes.rotary_dim % 2:
            raise ValueError(
                f"{self.positions} positions need an even head size, not {sizes.rotary_dim}"
            )
        if positions.buckets and self.relative_buckets // 2 >= self.relative_distance:
            raise ValueError(
                f"half of relative_buckets = {self.relative_buckets} are of one distance each, and "
                f"have to end before relative_distance = {self.relative_distance}: lower the one, "
                "or raise the other"
            )
        if positions.width(self.dim, self.max_length) > self.dim:
            raise ValueError(
                f"{self.positions} positions up to max_length = {self.max_length} have more bits "
                f"than dim = {self.dim}: raise dim, or lower max_length"
            )
        if self.positions_join == "concatenate" and (
            self.positions == "none" or positions.enters != "vectors"
        ):
            raise ValueError(
                f'positions = "{self.positions}" has no vectors to concatenate: '
                'leave positions_join out, or choose "sinusoidal", "learned", "binary", ...'
            )
        return self


class WriterConfig(StackConfig):
    """Blocks that write: the states after the last one become logits of the next token."""

    logit_cap: Cap | None = None
    output_bias: bool = False


def kind_faults(config: StackConfig) -> Iterator[str]:
    """What the kind of attention cannot be combined with."""
    specs, named = config.specs, f'attention_kind = "{config.attention_kind}"'
    attention = specs.attention
    if attention.recurrent:
        yield f"{named} reads from left to right: a translator's decoder_attention_kind may be it"
    for key, default in attention.refuses.items():
        if getattr(config, key) != default:
            yield f"{named} has no {key}: leave it out"
    if not attention.scores and specs.positions.enters == "scores":
        yield (
            f'{named} has no scores that positions = "{config.positions}" could be added to: '
            "choose others"
        )
    if attention.pairs and (config.heads % 2 or (config.kv_heads or 2) % 2):
        yield f"{named} needs an even number of heads and of kv_heads, which form pairs"
    turned = config.sizes.rotary_dim
    parted = config.rotary_dim is not None or "latent_dim" in attention.keys
    if parted and turned >= config.sizes.head_dim:
        yield f"rotary_dim = {turned} is part of head_dim: choose a smaller one"
    owners: dict[str, list[str]] = {}
    for name in names("attention"):
        for key in spec_of(AttentionSpec, name).keys:
            owners.setdefault(key, []).append(f'"{name}"')
    for key, kinds in owners.items():
        if key not in attention.keys and getattr(config, key) is not None:
            yield f"{key} belongs to attention_kind = {' and '.join(kinds)}: leave it out"
