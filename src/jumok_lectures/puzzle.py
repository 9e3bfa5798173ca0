"""Made tasks with one answer, predicted from the encoder's state of the first token.

Nothing is drawn from a corpus: every batch is new, the chance of a right guess is known, and what a
part of the model is for can be asked without anything else in the way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import torch
from torch import nn

from jumok.config import AverageConfig, ScheduleConfig, TrainingConfig
from jumok.data.pairs.batches import Batch, collate
from jumok.kernels.cross_entropy import smoothed_cross_entropy
from jumok.models.catalog import DataSizes, build
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Tensor
from jumok.training.learner import Learner
from jumok.training.optimization.schedule import learning_rate
from jumok.training.precision import one_thread
from jumok_lectures.small import ModelChange, alone, section

Question = tuple[list[int], int]
"""The tokens, of which the first asks, and the token of the answer."""


@dataclass(frozen=True)
class Puzzle:
    """What to train, and on what.

    Attributes:
        make: a question, of the training's kind.
        vocabulary: tokens, special ones included.
        model: keys of a recipe's [model], over SIZES.
    """

    make: Callable[[Random], Question]
    vocabulary: int
    model: Mapping[str, object] = field(default_factory=dict)
    change: ModelChange | None = None
    steps: int = 300
    batch: int = 64
    learning_rate: float = 1e-2


@dataclass(frozen=True)
class Trial:
    """One training run, and the kinds of questions it is tested with."""

    puzzle: Puzzle
    seed: int
    tests: tuple[Callable[[Random], Question], ...]
    tested: int = 500


@dataclass(frozen=True)
class Solved:
    """How one run ended.

    Attributes:
        accuracy: the share of right answers, a test each.
        losses: nats an answer, one a step.
    """

    accuracy: tuple[float, ...]
    losses: tuple[float, ...]
    parameters: int


def from_first_state(model: nn.Module, batch: Batch, smoothing: float) -> Float[Tensor, ""]:
    """The answer, predicted from the encoder's state of the first token and nothing else."""
    assert isinstance(model, Transformer)
    states = model.encode(batch.source, batch.source_allowed).states
    answer = batch.target_output[:, 0]
    return smoothed_cross_entropy(states[:, 0], model.decoder.output.weight, answer, smoothing)


def solve(trial: Trial) -> Solved:
    """Trains and tests one model."""
    puzzle, random = trial.puzzle, Random(f"puzzle {trial.seed}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(trial.seed)
        model = build(section(puzzle.model), DataSizes(vocabulary=puzzle.vocabulary))
    assert isinstance(model, Transformer)
    if puzzle.change is not None:
        puzzle.change(model)
    training = TrainingConfig(
        steps=puzzle.steps,
        optimizer="muon",
        learning_rate=puzzle.learning_rate,
        label_smoothing=0.0,
        schedule=ScheduleConfig(warmup=max(1, puzzle.steps // 10)),
        average=AverageConfig(decay=0.98),
    )
    learner = Learner(model, from_first_state, training, trial.seed, torch.float32)
    losses = []
    for step in range(1, puzzle.steps + 1):
        rate = learning_rate(training.schedule, puzzle.learning_rate, step, step / puzzle.steps)
        batch = questions(puzzle.make, random, puzzle.batch)
        losses.append(learner.update([batch], step, rate).loss)
    trained = learner.averaged()
    assert isinstance(trained, Transformer)
    trained = alone(trained)
    tests = Random("puzzle, test")
    right = tuple(accuracy(trained, questions(make, tests, trial.tested)) for make in trial.tests)
    return Solved(right, tuple(losses), sum(p.numel() for p in trained.parameters()))


def questions(make: Callable[[Random], Question], random: Random, count: int) -> Batch:
    """`count` of them, filled up to the longest."""
    made = [make(random) for _ in range(count)]
    return collate([tokens for tokens, _ in made], [[answer] for _, answer in made])


@torch.no_grad()
def accuracy(model: Transformer, batch: Batch) -> float:
    """The share of answers that are right."""
    with one_thread():
        states = model.encode(batch.source, batch.source_allowed).states
        logits = model.decoder.logits(states[:, 0])
    return float((logits.argmax(-1) == batch.target_output[:, 0]).float().mean())


def curve(losses: Sequence[float], width: int = 20) -> list[tuple[float, float]]:
    """(step, mean loss of the `width` steps up to it)."""
    return [
        (float(end), sum(losses[end - width : end]) / width)
        for end in range(width, len(losses) + 1, width)
    ]
