"""Made tasks with one answer, predicted from the encoder's state of the first token.

Nothing is drawn from a corpus: every batch is new, the chance of a right guess is known, and what a
part of the model is for can be asked without anything else in the way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

import torch
from torch import nn

from jumok.config import TrainingConfig
from jumok.data.pairs.batches import Batch, collate
from jumok.kernels.cross_entropy import smoothed_cross_entropy
from jumok.models.catalog import DataSizes, build
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Tensor
from jumok.training.precision import one_thread
from jumok_lectures.findings import Setting
from jumok_lectures.fitting import alone, learn, short
from jumok_lectures.small import ModelChange, section

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


def solve(
    puzzle: Puzzle, seed: int, tests: Sequence[Callable[[Random], Question]], tested: int = 500
) -> Solved:
    """Trains one model, and tests it with each kind of question."""
    random = Random(f"puzzle {seed}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build(section(puzzle.model), DataSizes(vocabulary=puzzle.vocabulary))
    assert isinstance(model, Transformer)
    if puzzle.change is not None:
        puzzle.change(model)
    training = short(TrainingConfig, puzzle.steps, puzzle.learning_rate, optimizer="muon")
    updates = ([questions(puzzle.make, random, puzzle.batch)] for _ in range(puzzle.steps))
    trained, losses = learn(model, from_first_state, training, updates, seed)
    trained = alone(trained)
    chance = Random("puzzle, test")
    right = tuple(accuracy(trained, questions(make, chance, tested)) for make in tests)
    return Solved(right, tuple(losses), sum(p.numel() for p in trained.parameters()))


def tried(
    puzzles: Mapping[str, Puzzle], tests: Sequence[Callable[[Random], Question]], setting: Setting
) -> dict[str, list[Solved]]:
    """Each of them with every seed."""
    setting.say(f"training: {len(puzzles) * len(setting.seeds)} encoders")
    return setting.map(
        {
            name: [partial(solve, puzzle, seed, tests) for seed in setting.seeds]
            for name, puzzle in puzzles.items()
        }
    )


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
