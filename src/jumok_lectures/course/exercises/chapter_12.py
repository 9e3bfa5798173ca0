"""GPT and BERT: note 000, lines 34 to 39; note 001, lines 24 to 26."""

import torch
from torch import Tensor
from torch.nn import functional as F

from jumok_lectures.course.exercise import Case, Exercise, Question
from jumok_lectures.course.exercises.cases import numbers, random


def perplexity(probabilities: Tensor) -> Tensor:
    """The perplexity of a model that gives these probabilities (N) to the correct tokens."""
    return torch.exp(-torch.log(probabilities).mean())


def next_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    """The cross-entropy of a causal model: position i predicts token i + 1."""
    logs = torch.log_softmax(logits[:-1], dim=-1)
    return -logs[torch.arange(len(tokens) - 1), tokens[1:]].mean()


def masked_loss(logits: Tensor, tokens: Tensor, chosen: Tensor) -> Tensor:
    """The cross-entropy of a masked model: each chosen position predicts its own token."""
    logs = torch.log_softmax(logits[chosen], dim=-1)
    return -logs[torch.arange(len(logs)), tokens[chosen]].mean()


TOKENS = torch.tensor([2, 0, 4, 1, 3, 3, 0])
CHOSEN = torch.tensor([False, True, False, False, True, False, True])
BY_HAND = numbers([2, 1, 0], [0, 0, 0])  # the softmax of the first row is 0.665, 0.245, 0.090


def _perplexity_cases() -> list[Case]:
    return [
        Case("by_hand", (numbers(0.5, 0.25, 0.5, 1.0),), torch.tensor(2.0)),
        Case("random", (torch.sigmoid(random(7)),)),
    ]


def _next_cases() -> list[Case]:
    pair = torch.tensor([1, 0])
    return [
        Case("by_hand", (BY_HAND, pair), torch.tensor(0.4076), 1e-4),  # -ln 0.665
        Case("random", (random(7, 5), TOKENS)),
    ]


def _masked_cases() -> list[Case]:
    first = torch.tensor([True, False])
    return [
        Case("by_hand", (BY_HAND, torch.tensor([1, 2]), first), torch.tensor(1.4076), 1e-4),
        Case("random", (random(7, 5), TOKENS, CHOSEN)),
    ]


def _summed(logits: Tensor, tokens: Tensor) -> Tensor:
    return F.cross_entropy(logits, tokens, reduction="sum")


EXERCISES = (
    Question("12.masked", 24, 0.1, {"all_chosen": 30, "share_of_all_tokens": 160}),
    Exercise(
        "12.perplexity",
        perplexity,
        _perplexity_cases,
        {
            "still_nats": lambda p: -torch.log(p).mean(),
            "sum_of_nats": lambda p: torch.exp(-torch.log(p).sum()),
            "mean_of_probabilities": lambda p: 1 / p.mean(),
            "two_bases": lambda p: torch.exp(-torch.log2(p).mean()),
            "power_of_two": lambda p: 2 ** -torch.log(p).mean(),
            "still_bits": lambda p: -torch.log2(p).mean(),
            "sign_of_logarithm": lambda p: torch.exp(torch.log(p).mean()),
        },
        measures=True,
    ),
    Exercise(
        "12.next_loss",
        next_loss,
        _next_cases,
        {
            "not_moved": (
                F.cross_entropy,
                lambda logits, tokens: F.cross_entropy(logits[:-1], tokens[:-1]),
            ),
            "moved_back": lambda logits, tokens: F.cross_entropy(logits[1:], tokens[:-1]),
            "sum_of_positions": lambda logits, tokens: _summed(logits[:-1], tokens[1:]),
            "no_logarithm": lambda logits, tokens: F.nll_loss(logits[:-1].softmax(-1), tokens[1:]),
            "whole_rows": lambda logits, tokens: -logits[:-1].log_softmax(-1)[:, tokens[1:]].mean(),
            "probabilities_as_logits": lambda logits, tokens: F.cross_entropy(
                logits[:-1].softmax(-1), tokens[1:]
            ),
        },
    ),
    Exercise(
        "12.masked_loss",
        masked_loss,
        _masked_cases,
        {
            "all_positions": lambda logits, tokens, chosen: F.cross_entropy(logits, tokens),
            "other_positions": lambda logits, tokens, chosen: F.cross_entropy(
                logits[~chosen], tokens[~chosen]
            ),
            "sum_of_positions": lambda logits, tokens, chosen: _summed(
                logits[chosen], tokens[chosen]
            ),
            "divided_by_all": lambda logits, tokens, chosen: (
                _summed(logits[chosen], tokens[chosen]) / len(tokens)
            ),
        },
    ),
)
