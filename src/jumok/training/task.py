"""What training must know of a kind of system beyond the step itself.

A task has read the recipe's data. It builds the model, hands out the batches of every step,
scores the averaged weights, and writes the bundle. One file a kind, in `training/tasks/`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from jumok.bundle.card import Card, Score
from jumok.errors import TrainingError
from jumok.shapes import Float, Tensor

Reporter = Callable[[str], None]

DIVERGENCE_ADVICE = (
    "start anew with a lower training.learning_rate, a longer training.schedule.warmup, or "
    "training.precision=fp32; training.clip helps too"
)


def finite(loss: float) -> float:
    """The loss of a validation, in nats.

    Raises:
        TrainingError: it is not a finite number, and nothing that the model writes is worth a look.
    """
    if not math.isfinite(loss):
        raise TrainingError(
            "the validation loss is not finite; training has diverged.",
            got=str(loss),
            do=DIVERGENCE_ADVICE,
        )
    return loss


@runtime_checkable
class MicroBatch(Protocol):
    """What is computed at once; a step adds up the gradients of several.

    Attributes:
        targets: how many predictions the loss is summed over: real target tokens, END counted, or
            one for each thing that is classified.
        sources: real source tokens, END counted, or pictures.
        work: how long it takes in comparison with others; padding counted.
    """

    @property
    def targets(self) -> int: ...

    @property
    def sources(self) -> int: ...

    @property
    def work(self) -> int: ...


@runtime_checkable
class Objective(Protocol):
    """Something to make small."""

    def __call__(self, model: nn.Module, batch: Any, smoothing: float) -> Float[Tensor, ""]:
        """The loss summed over the batch's `targets`, in nats."""
        ...


@runtime_checkable
class UpdateSource(Protocol):
    """An endless stream of the micro-batches of one step; it can be resumed.

    Attributes:
        cursor: where it stands after the update that was handed out last; plain JSON.
    """

    @property
    def cursor(self) -> Any: ...

    def __next__(self) -> list[Any]: ...

    def restore(self, cursor: Any) -> None: ...


@dataclass(frozen=True)
class Scores:
    """How good a model is on the validation data.

    Attributes:
        loss: nats a target, without label smoothing.
        figures: what the card keeps; those a recipe can choose by are the better the higher.
        untrained: why the model counts as one that has learnt nothing; None: it has learnt.
    """

    loss: float
    figures: tuple[Score, ...] = ()
    untrained: str | None = None

    def value(self, metric: str) -> float:
        """By the recipe's name of a metric: "loss" (negated: higher is better), "bleu", ..."""
        if metric == "loss":
            return -self.loss
        return next(each.value for each in self.figures if label(each).lower() == metric)


def label(score: Score) -> str:
    """The name without its version: "chrF" of "chrF2"."""
    return score.name.rstrip("0123456789") if score.name.startswith("chrF") else score.name


def model_line(model: nn.Module, summary: str) -> str:
    """How large a model is, for the person who waits."""
    count = sum(parameter.numel() for parameter in model.parameters())
    size = f"{count / 1e6:.1f} M" if count >= 1e6 else f"{count:,}"
    return f"model: {size} parameters; {summary}"


@dataclass(frozen=True)
class RunStats:
    """What a bundle's card says of the run: optimizer steps, and minutes of wall time."""

    steps: int
    minutes: float


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
    """What a bundle says to people about a run that ends today.

    Args:
        name: the recipe's.
        trained_on: one line a corpus.
        examples: how much that was, such as "29,000 pairs".
        per: what the loss is a mean over, such as "target token".
        notes: anything else worth a line.
    """
    return Card(
        name=name,
        trained_on=tuple(trained_on),
        examples=examples,
        steps=facts.steps,
        minutes=facts.minutes,
        scores=scores.figures,
        date=datetime.now(UTC).date().isoformat(),
        notes=(f"validation loss {scores.loss:.4f} nats a {per}", *notes),
    )


@runtime_checkable
class Task(Protocol):
    """One kind of system with its data.

    Attributes:
        objective: what to make small.
        unit: what a target is called: "tokens", "pictures".
        updates: the batches of every step, from the first one on.
    """

    objective: Objective
    unit: str
    updates: UpdateSource

    def build(self) -> nn.Module:
        """The untrained model, on the CPU."""
        ...

    def describe(self, model: nn.Module) -> Iterator[str]:
        """What a person wants to know before the first step, a line each."""
        ...

    def validate(self, model: nn.Module, dtype: torch.dtype) -> Scores:
        """Scores `model`, which is afterwards good for nothing else but decoding in `dtype`."""
        ...

    def write(
        self, folder: Path, weights: Mapping[str, Tensor], scores: Scores, facts: RunStats
    ) -> None:
        """Writes the bundle."""
        ...
