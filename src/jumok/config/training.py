"""The sections [start], [training] and [validation]."""

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from jumok.config.section import Count, DataPath, Section, Share

MOST_SHARES = 8
"""Shares of a step on processors, if nothing else is said: each has a gradient of its own."""


class StartConfig(Section):
    """A model to train further: which part of it, how much of the data that it was trained on is
    mixed in, and what it should not forget.
    """

    model: DataPath
    mix: Share = 0.0
    recipe: DataPath | None = None
    check: tuple[DataPath, ...] = ()
    grow: Count | None = None
    freeze: tuple[str, ...] = ()
    lora: Count | None = None
    lora_alpha: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _of_additions(self) -> "StartConfig":
        if self.lora_alpha is not None and self.lora is None:
            raise ValueError("`lora_alpha` needs `lora`, the rank of the additions")
        return self


class AverageConfig(Section):
    """Averaged weights, which are validated and exported."""

    kind: Literal["ema", "last", "none"] = "ema"
    decay: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.998
    last: Count = 5


class ScheduleConfig(Section):
    """The learning rate over the course of training."""

    kind: Literal["inverse-sqrt", "cosine", "warmup-stable-decay", "constant"] = "cosine"
    warmup: Annotated[int, Field(ge=0)] = 500
    warmup_share: Annotated[float, Field(gt=0.0, le=1.0)] = 0.1
    decay_share: Annotated[float, Field(ge=0.0, le=1.0)] = 0.2
    final_share: Annotated[float, Field(ge=0.0, le=1.0)] = 0.01


class TrainingConfig(Section):
    """The training step and how often it is repeated."""

    steps: Count = 8000
    minutes: Annotated[float, Field(gt=0.0)] | None = None
    tokens_per_batch: Count = 4096
    tokens_per_micro_batch: Count = 1024
    optimizer: Literal["adamw", "muon"] = "adamw"
    learning_rate: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 1.5e-3
    betas: tuple[Share, Share] = (0.9, 0.98)
    weight_decay: Annotated[float, Field(ge=0.0)] = 0.0
    clip: Annotated[float, Field(gt=0.0)] | None = 1.0
    label_smoothing: Share = 0.1
    schedule: ScheduleConfig = ScheduleConfig()
    average: AverageConfig = AverageConfig()
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    threads: Annotated[int, Field(ge=0)] = 0
    shares: Literal[0, 1, 2, 4, 8, 16, 32, 64, 128, 256] = 0
    sharding: Literal["slices", "full"] = "slices"
    device: str = "auto"
    cuda_graphs: bool = True
    recompute: bool = False
    log_every: Count = 20
    checkpoint_every: Count = 200
    tensorboard: bool = False

    @property
    def step_limit(self) -> int | None:
        """The number of steps that ends the run; None: only its minutes do.

        So it is where a recipe gives minutes and leaves the steps at their default.
        """
        return None if self.minutes and "steps" not in self.model_fields_set else self.steps

    @property
    def processor_shares(self) -> int:
        """The shares of a step on processors: `shares`, or a power of two up to its micro-batches.

        They depend on the recipe alone, so the bits do not depend on the machine.
        """
        micro_batches = math.ceil(self.tokens_per_batch / self.tokens_per_micro_batch)
        return self.shares or min(MOST_SHARES, 1 << (micro_batches.bit_length() - 1))

    @property
    def decided_shares(self) -> int:
        """The shares of a step; 1 where no run has decided on them, as in the lab."""
        return self.shares or 1


BatchKind = Literal["auto", "exact", "packed"]


class TranslationTrainingConfig(TrainingConfig):
    """Training on pairs, optionally with R-Drop."""

    batches: BatchKind = "auto"
    consistency: Annotated[float, Field(ge=0.0)] = 0.0


class ExactTrainingConfig(TrainingConfig):
    """Training whose loss is reported as a likelihood: no label smoothing by default."""

    label_smoothing: Share = 0.0


class LanguageModelTrainingConfig(ExactTrainingConfig):
    """Training on windows of text."""

    batches: BatchKind = "auto"


class ValidationConfig(Section):
    """How often to validate, by which score, and when to stop."""

    every: Count = 500
    metric: str
    patience: Annotated[int, Field(ge=0)] = 0
    keep: Literal["best", "all"] = "best"


class TextValidationConfig(ValidationConfig):
    """Validation by the loss and by decoding."""

    metric: Literal["loss", "bleu", "chrf", "accuracy"] = "bleu"
    decode_pairs: Count = 200
    beam: Count = 1


class LossValidationConfig(ValidationConfig):
    """Validation by the loss alone."""

    metric: Literal["loss"] = "loss"


class MaskedValidationConfig(ValidationConfig):
    """Validation by the masked tokens of unseen text, with a fixed mask."""

    metric: Literal["loss", "accuracy"] = "loss"


class ClassificationValidationConfig(ValidationConfig):
    """Validation by the labels of unseen examples."""

    metric: Literal["loss", "accuracy", "macro-f1"] = "accuracy"
