"""The translator: note 001, 370 to 392; note 002, 63 to 68; note 003, 50 to 56."""

import torch
from torch import Tensor

from jumok_lectures.course.exercise import Case, Exercise, Question
from jumok_lectures.course.exercises.cases import numbers, random


def cross_attention(
    target: Tensor, memory: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
) -> Tensor:
    """The context vectors (M, d_v) of target (M, d) over memory (N, d)."""
    query, key, value = target @ w_q, memory @ w_k, memory @ w_v
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    return torch.softmax(scores, dim=-1) @ value


def _cases() -> list[Case]:
    eye = torch.eye(2).double()
    target, memory = numbers([0, 0]), numbers([1, 0], [0, 1], [1, 1])  # scores of 0: even shares
    given = (random(3, 5), random(7, 5, seed=1), random(5, 2, seed=2), random(5, 2, seed=3))
    return [
        Case("even", (target, memory, eye, eye, eye), numbers([2 / 3, 2 / 3])),
        Case("random", (*given, random(5, 11, seed=4))),
        Case("square", tuple(random(5, 5, seed=seed) for seed in range(5))),
    ]


def _mixed(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return torch.softmax(query @ key.T / key.shape[1] ** 0.5, dim=-1) @ value


EXERCISES = (
    Question(
        "11.cells", 12, 0.1, {"square_of_target": 9, "square_of_source": 16, "sum_of_sides": 7}
    ),
    Exercise(
        "11.cross_attention",
        cross_attention,
        _cases,
        {
            "roles_of_sides_swapped": lambda t, m, q, k, v: _mixed(m @ q, t @ k, t @ v),
            "self_attention_instead": lambda t, m, q, k, v: _mixed(t @ q, t @ k, t @ v),
            "memory_only": lambda t, m, q, k, v: _mixed(m @ q, m @ k, m @ v),
            "not_scaled": lambda t, m, q, k, v: (
                torch.softmax((t @ q) @ (m @ k).T, dim=-1) @ (m @ v)
            ),
            "scale_of_example": lambda t, m, q, k, v: (
                torch.softmax((t @ q) @ (m @ k).T / 8**0.5, dim=-1) @ (m @ v)
            ),
            "divided_by_d_model": lambda t, m, q, k, v: (
                torch.softmax((t @ q) @ (m @ k).T / t.shape[1] ** 0.5, dim=-1) @ (m @ v)
            ),
            "divided_by_queries": lambda t, m, q, k, v: (
                torch.softmax((t @ q) @ (m @ k).T / len(t) ** 0.5, dim=-1) @ (m @ v)
            ),
            "wrong_axis": lambda t, m, q, k, v: (
                torch.softmax((t @ q) @ (m @ k).T / k.shape[1] ** 0.5, dim=0) @ (m @ v)
            ),
            "raw_values": lambda t, m, q, k, v: _mixed(t @ q, m @ k, m),
        },
    ),
)
