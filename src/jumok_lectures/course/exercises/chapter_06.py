"""All scores at once: notes 000, lines 146 to 174; 002, lines 2 to 5; 003, lines 32 to 46."""

import torch
from torch import Tensor

from jumok_lectures.course.exercise import Case, Exercise, Question
from jumok_lectures.course.exercises.cases import numbers, random


def all_products(query: Tensor, key: Tensor) -> Tensor:
    """The dot products (..., M, N) of all queries (..., M, d) with all keys (..., N, d)."""
    return query @ key.transpose(-2, -1)


def _product_cases() -> list[Case]:
    query, key = numbers([2, 3], [1, 0]), numbers([4, 5], [-5, 2], [0, 1])
    return [
        Case("note_23", (query, key), numbers([23, -4, 3], [4, -5, 0])),
        Case("random", (random(3, 5), random(7, 5, seed=1))),
        Case("batch", (random(2, 3, 5), random(2, 7, 5, seed=1))),
        Case("square", (random(5, 5, 5), random(5, 5, 5, seed=1))),
    ]


EXERCISES = (
    Question("06.cells", 16, 0.1, {"one_row": 4, "half_matrix": 10}),
    Exercise(
        "06.all_products",
        all_products,
        _product_cases,
        {
            "transposed_scores": lambda q, k: k @ q.transpose(-2, -1),
            "no_transpose": lambda q, k: q @ k,
            "last_axes_reversed": lambda q, k: q @ k.permute(*reversed(range(k.dim()))),
            "first_axes_swapped": lambda q, k: q @ k.transpose(0, 1),
            "divided_already": lambda q, k: q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5,
            "softmax_too_early": lambda q, k: torch.softmax(q @ k.transpose(-2, -1), dim=-1),
        },
    ),
)
