"""The interface between training and a kind of system.

A task has read the recipe's data. It builds the model, gives the batches of every step, scores the
averaged weights, and writes the bundle. There is one file per kind, in `training/tasks/`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from jumok.bundle.card import Card, Provenance, Score
from jumok.bundle.confidence import Calibration
from jumok.config.families import Config
from jumok.data.planned import Planned
from jumok.errors import ConfigError, TrainingError
from jumok.kinds import KINDS
from jumok.shapes import Float, Tensor

Reporter = Callable[[str], None]

EARLIER = "earlier data"
"""How the data is called that a model was trained on before it is trained further."""

DIVERGENCE_ADVICE = (
    "start again with a lower training.learning_rate, a longer training.schedule.warmup, or "
    "training.precision=fp32; training.clip helps too"
)


def finite(loss: float) -> float:
    """Returns the loss of a validation, or raises a TrainingError if it is not finite."""
    if not math.isfinite(loss):
        raise TrainingError(
            "the validation loss is not finite; training has diverged.",
            got=str(loss),
            do=DIVERGENCE_ADVICE,
        )
    return loss


@runtime_checkable
class MicroBatch(Protocol):
    """A micro-batch; a step sums the gradients of several.

    Attributes:
        targets: predictions that the loss is summed over: target tokens, END included, or examples.
        sources: source tokens, END included, or images.
        work: its cost relative to others, padding included.
    """

    @property
    def targets(self) -> int: ...

    @property
    def sources(self) -> int: ...

    @property
    def work(self) -> int: ...


@runtime_checkable
class Objective(Protocol):
    """A loss to minimize."""

    def __call__(self, model: nn.Module, batch: Any, smoothing: float) -> Float[Tensor, ""]:
        """The loss summed over the batch's `targets`, in nats."""
        ...


@runtime_checkable
class UpdateSource(Protocol):
    """An endless, resumable stream of the micro-batches of each step.

    Attributes:
        cursor: the position after the last update; JSON.
        epoch_steps: updates in one pass over the data, about.
    """

    @property
    def cursor(self) -> Mapping[str, object]: ...

    @property
    def epoch_steps(self) -> float: ...

    def __next__(self) -> Sequence[MicroBatch]: ...

    def planned(self) -> Sequence[Planned[MicroBatch]]:
        """The next update, its micro-batches not yet collated."""
        ...

    def restore(self, cursor: Any) -> None: ...


@dataclass(frozen=True)
class Scores:
    """The scores of a model on the validation data.

    Attributes:
        loss: nats per target, without label smoothing.
        figures: of the model card; of those that a recipe can choose by, higher is better.
        untrained: why the model counts as untrained; None: it is trained.
        earlier: of a model that is trained further, on the data of its earlier training, if known.
        confidence: None: it was not measured.
    """

    loss: float
    figures: tuple[Score, ...] = ()
    untrained: str | None = None
    earlier: "Scores | None" = None
    confidence: Calibration | None = None

    def value(self, metric: str) -> float:
        """By the recipe's name of a metric: "loss" (negated: higher is better), "bleu", ..."""
        if metric == "loss":
            return -self.loss
        return next(score.value for score in self.figures if label(score).lower() == metric)


def label(score: Score) -> str:
    """The name without its version: "chrF" of "chrF2"."""
    return score.name.rstrip("0123456789") if score.name.startswith("chrF") else score.name


def model_line(model: nn.Module, summary: str) -> str:
    """The number of parameters, for the user."""
    count = sum(parameter.numel() for parameter in model.parameters())
    size = f"{count / 1e6:.1f} M" if count >= 1e6 else f"{count:,}"
    return f"model: {size} parameters; {summary}"


@dataclass(frozen=True)
class RunStats:
    """The model card's data of the run.

    Attributes:
        minutes: of wall time.
        started_from: the model that was trained further, if any.
        provenance: of that model, if it was imported.
        notes: for the card.
    """

    steps: int
    minutes: float
    started_from: str = ""
    provenance: Provenance | None = None
    notes: tuple[str, ...] = ()


def scores_on_card(scores: Scores) -> tuple[Score, ...]:
    """The figures, and then those on the earlier data, which are marked as such."""
    earlier = () if scores.earlier is None else scores.earlier.figures
    return scores.figures + tuple(replace(one, on=f"{EARLIER}: {one.on}") for one in earlier)


def card_of(
    name: str,
    scores: Scores,
    facts: RunStats,
    *,
    trained_on: Iterable[str],
    examples: str,
    per: str,
    notes: Iterable[str] = (),
) -> Card:
    """The model card of a run that ends today.

    Args:
        trained_on: one line per corpus.
        examples: such as "29,000 pairs".
        per: the unit of the mean loss, such as "target token".
    """
    return Card(
        name=name,
        trained_on=tuple(trained_on),
        examples=examples,
        steps=facts.steps,
        minutes=facts.minutes,
        scores=scores_on_card(scores),
        date=datetime.now(UTC).date().isoformat(),
        started_from=facts.started_from,
        provenance=facts.provenance,
        confidence=scores.confidence,
        notes=(f"validation loss {scores.loss:.4f} nats per {per}", *notes, *facts.notes),
    )


@runtime_checkable
class Task(Protocol):
    """One kind of system with its data.

    Attributes:
        unit: the name of a target: "tokens", "images".
        updates: the batches of every step, from the first one on.
    """

    objective: Objective
    unit: str
    updates: UpdateSource

    def build(self) -> nn.Module: ...

    def describe(self, model: nn.Module) -> Iterator[str]:
        """Lines for the user before the first step."""
        ...

    def validate(self, model: nn.Module, dtype: torch.dtype) -> Scores:
        """Scores `model`, which can afterwards only decode in `dtype`."""
        ...

    def write(
        self, folder: Path, weights: Mapping[str, Tensor], scores: Scores, facts: RunStats
    ) -> None: ...


def prepare_task(config: Config, home: Path, cache: Path, say: Reporter) -> Task:
    """The task of a recipe, its data prepared.

    Args:
        home: the run's folder.
        cache: of prepared data; runs on the same content share it.

    Raises:
        DataError: data that cannot be read, or an empty corpus.
        ConfigError: settings that the data does not allow; the recipe's class belongs to no kind.
    """
    for kind in KINDS.values():
        if kind.recipe is not None and kind.entry("recipe") is type(config):
            task: Task = kind.entry("training")(config, home, cache, say)
            return task
    raise ConfigError(
        "no kind of model has recipes of this class.",
        got=type(config).__name__,
        do='register it: jumok.register("kind", NAME, jumok.Kind(...))',
    )
