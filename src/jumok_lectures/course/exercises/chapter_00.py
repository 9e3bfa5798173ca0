"""Attention in twenty minutes: the numbers are those of note 002, lines 15 to 19."""

import torch
from torch import Tensor

from jumok_lectures.course.exercise import Case, Exercise, Question
from jumok_lectures.course.exercises.cases import numbers, random


def softmax(scores: Tensor) -> Tensor:
    """The weights of scores (..., N); each row of N weights sums to 1."""
    powers = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return powers / powers.sum(dim=-1, keepdim=True)


def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The weighted sums (M, d_v) of value (N, d_v), for query (M, d_k) and key (N, d_k)."""
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    return torch.softmax(scores, dim=-1) @ value


def _softmax_cases() -> list[Case]:
    return [
        Case("note_scores", (numbers([14, 12]),), numbers([0.88, 0.12]), 0.005),
        Case("random", (random(5, 7),)),
        Case("overflow", (numbers([710, 709, 0]),)),
    ]


def _attention_cases() -> list[Case]:
    # q·k = 112 and 96 at d_k = 64, as in the figure that the note describes
    query, key = torch.ones(1, 64).double(), numbers(*([row] * 64 for row in (112 / 64, 96 / 64)))
    mixture = numbers([0.88, 0.12])
    return [
        Case("note_thinking", (query, key, torch.eye(2).double()), mixture, 0.005),
        Case("random", (random(3, 5), random(7, 5, seed=1), random(7, 2, seed=2))),
        Case("square", (random(5, 5), random(5, 5, seed=1), random(5, 5, seed=2))),
    ]


def _naive(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)


def _attended(query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
    return torch.softmax(query @ key.T * scale, dim=-1) @ value


EXERCISES = (
    Question(
        "00.machines",
        0.12,
        0.005,
        {"other_share": 0.88, "shares_of_scores": 12 / 26, "percentage": 12},
    ),
    Exercise(
        "00.softmax",
        softmax,
        _softmax_cases,
        {
            "no_maximum": _naive,
            "wrong_axis": lambda scores: torch.softmax(scores, dim=0),
            "no_keepdim": lambda scores: scores.exp() / scores.exp().sum(dim=-1),
            "whole_tensor": lambda scores: softmax(scores.flatten()).reshape(scores.shape),
            "no_division": torch.exp,
            "no_exponential": lambda scores: scores / scores.sum(dim=-1, keepdim=True),
            "logarithm": lambda scores: torch.log_softmax(scores, dim=-1),
        },
    ),
    Exercise(
        "00.attention",
        attention,
        _attention_cases,
        {
            "not_scaled": lambda q, k, v: _attended(q, k, v, 1),
            "divided_by_d_k": lambda q, k, v: _attended(q, k, v, 1 / q.shape[-1]),
            "scale_of_example": lambda q, k, v: _attended(q, k, v, 64**-0.5),
            "no_transpose": lambda q, k, v: q @ k @ v,
            "whole_tensor": lambda q, k, v: (
                softmax((q @ k.T).flatten() / q.shape[-1] ** 0.5).reshape(len(q), -1) @ v
            ),
            "multiplied_by_root": lambda q, k, v: _attended(q, k, v, q.shape[-1] ** 0.5),
            "divided_by_keys": lambda q, k, v: _attended(q, k, v, len(k) ** -0.5),
            "divided_by_queries": lambda q, k, v: _attended(q, k, v, len(q) ** -0.5),
            "wrong_axis": lambda q, k, v: torch.softmax(q @ k.T / q.shape[-1] ** 0.5, dim=0) @ v,
            "no_softmax": lambda q, k, v: q @ k.T / q.shape[-1] ** 0.5 @ v,
            "transposed_weights": lambda q, k, v: (
                torch.softmax(k @ q.T / q.shape[-1] ** 0.5, dim=-1) @ v
            ),
            "weights_only": lambda q, k, v: torch.softmax(q @ k.T / q.shape[-1] ** 0.5, dim=-1),
            "keys_as_values": lambda q, k, v: attention(q, k, k),
        },
    ),
)
