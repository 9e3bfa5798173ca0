"""Query, key and value: note 000, lines 67 to 116; note 004, lines 227 to 265."""

import torch
from torch import Tensor

from jumok_lectures.course.exercise import Case, Exercise, Question
from jumok_lectures.course.exercises.cases import numbers, random


def self_attention(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    """The outputs (N, d_v) of one head of self-attention over words x (N, d)."""
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    return torch.softmax(scores, dim=-1) @ value


def _cases() -> list[Case]:
    x, swap, double = numbers([1, 0], [0, 1]), numbers([0, 1], [1, 0]), numbers([2, 0], [0, 2])
    # q1 = [0 1], k1 = [1 0], k2 = [0 1]: scores 0 and 1/√2, so 0.3302 and 0.6698, times 2
    found = numbers([0.6604, 1.3396], [1.3396, 0.6604])
    return [
        Case("by_hand", (x, swap, torch.eye(2).double(), double), found, 1e-4),
        Case(
            "random",
            (random(7, 3), random(3, 5, seed=1), random(3, 5, seed=2), random(3, 2, seed=3)),
        ),
        Case("square", tuple(random(5, 5, seed=seed) for seed in range(4))),
    ]


def _weights(query: Tensor, key: Tensor, scale: float) -> Tensor:
    return torch.softmax(query @ key.T * scale, dim=-1)


def _mixed(query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
    return _weights(query, key, scale) @ value


EXERCISES = (
    Question("04.matrices", 3, 0.1, {"one_matrix": 1, "no_value_matrix": 2, "output_matrix": 4}),
    Exercise(
        "04.self_attention",
        self_attention,
        _cases,
        {
            "raw_values": lambda x, q, k, v: _mixed(x @ q, x @ k, x, k.shape[1] ** -0.5),
            "weights_only": lambda x, q, k, v: _weights(x @ q, x @ k, k.shape[1] ** -0.5),
            "no_softmax": lambda x, q, k, v: x @ q @ (x @ k).T / k.shape[1] ** 0.5 @ (x @ v),
            "wrong_axis": lambda x, q, k, v: (
                torch.softmax(x @ q @ (x @ k).T / k.shape[1] ** 0.5, dim=0) @ (x @ v)
            ),
            "raw_scores": lambda x, q, k, v: _mixed(x, x, x @ v, x.shape[1] ** -0.5),
            "roles_swapped": lambda x, q, k, v: _mixed(x @ k, x @ q, x @ v, k.shape[1] ** -0.5),
            "not_scaled": lambda x, q, k, v: _mixed(x @ q, x @ k, x @ v, 1),
            "divided_by_d_k": lambda x, q, k, v: _mixed(x @ q, x @ k, x @ v, 1 / k.shape[1]),
            "scale_of_example": lambda x, q, k, v: _mixed(x @ q, x @ k, x @ v, 2**-0.5),
            "divided_by_keys": lambda x, q, k, v: _mixed(x @ q, x @ k, x @ v, len(x) ** -0.5),
            "divided_by_d_model": lambda x, q, k, v: _mixed(
                x @ q, x @ k, x @ v, x.shape[1] ** -0.5
            ),
            "transposed_matrix": lambda x, q, k, v: _mixed(
                x @ q.T, x @ k.T, x @ v.T, k.shape[1] ** -0.5
            ),
        },
    ),
)
