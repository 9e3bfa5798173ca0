"""The training of what labs train: models of jumok by its own step, and networks of one lab."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import torch
from torch import nn

from jumok.config import AverageConfig, ScheduleConfig, TrainingConfig
from jumok.shapes import Float, Tensor
from jumok.training.learner import Learner
from jumok.training.optimization.schedule import learning_rate
from jumok.training.task import MicroBatch, Objective

Model = TypeVar("Model", bound=nn.Module)
Config = TypeVar("Config", bound=TrainingConfig)


def short(kind: type[Config], steps: int, rate: float, **keys: object) -> Config:
    """A short training: a tenth of it warms up, and the weights are averaged."""
    usual = {
        "steps": steps,
        "learning_rate": rate,
        "label_smoothing": 0.0,
        "schedule": ScheduleConfig(warmup=max(1, steps // 10)),
        "average": AverageConfig(decay=0.98),
    }
    return kind.model_validate({**usual, **keys})


def learn(
    model: Model,
    objective: Objective,
    training: TrainingConfig,
    updates: Iterator[Sequence[MicroBatch]],
    seed: int,
    precision: torch.dtype = torch.float32,
    shares: int = 1,
    threads: int = 1,
) -> tuple[Model, list[float]]:
    """Trains as `jumok train` does.

    Args:
        updates: the micro-batches of every step.
        shares, threads: see `Learner`.

    Returns:
        The averaged model in float32, and the loss of every step.
    """
    learner = Learner(model, objective, training, seed, precision, shares, threads)
    losses = []
    for step in range(1, training.steps + 1):
        share = step / training.steps
        rate = learning_rate(training.schedule, training.learning_rate, step, share)
        losses.append(learner.update(next(updates), step, rate).loss)
    averaged = learner.averaged()
    assert isinstance(averaged, type(model))
    return averaged, losses


def alone(model: Model) -> Model:
    """The model with weights of its own: those of the learner lie in one large buffer, all of which
    would be sent from process to process."""
    for parameter in model.parameters():
        parameter.data = parameter.data.clone()
        parameter.grad = None
    return model


def curve(losses: Sequence[float], width: int = 20) -> list[tuple[float, float]]:
    """(step, mean loss of the `width` steps up to it)."""
    return [
        (float(end), sum(losses[end - width : end]) / width)
        for end in range(width, len(losses) + 1, width)
    ]


def fit(
    parameters: Iterable[Tensor],
    loss: Callable[[], Float[Tensor, ""]],
    steps: int,
    rate: float,
    falling: bool = True,
) -> list[float]:
    """Makes a loss small with Adam.

    Args:
        loss: draws a batch and gives its loss.
        falling: the rate falls to 0 along a half cosine.

    Returns:
        The loss of every step.
    """
    optimizer = torch.optim.Adam(parameters, lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    for _ in range(steps):
        value = loss()
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        if falling:
            schedule.step()
        losses.append(float(value.detach()))
    return losses
