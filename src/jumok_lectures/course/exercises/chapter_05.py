"""Why the root of d_k: note 000, lines 117 to 145; note 001, line 199; note 004, line 223."""

from torch import Tensor

from jumok_lectures.course.exercise import Case, Exercise, Question
from jumok_lectures.course.exercises.cases import numbers, random


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    """The dot products (..., M, N) of queries and keys, divided by the root of d_k."""
    return query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5


def _cases() -> list[Case]:
    query, key = numbers([1.0] * 64), numbers([112 / 64] * 64, [96 / 64] * 64)
    return [
        Case("note_112", (query, key), numbers([14.0, 12.0])),
        Case("random", (random(3, 5), random(7, 5, seed=1))),
        Case("batch", (random(2, 3, 5), random(2, 7, 5, seed=1))),
    ]


def _scores(query: Tensor, key: Tensor, scale: float) -> Tensor:
    return query @ key.transpose(-2, -1) * scale


EXERCISES = (
    Question("05.spread", 8, 0.1, {"variance": 64, "no_growth": 1, "factor_instead": 1 / 8}),
    Exercise(
        "05.scaled_scores",
        scaled_scores,
        _cases,
        {
            "not_scaled": lambda q, k: _scores(q, k, 1),
            "divided_by_d_k": lambda q, k: _scores(q, k, 1 / k.shape[-1]),
            "scale_of_example": lambda q, k: _scores(q, k, 64**-0.5),
            "last_axes_reversed": lambda q, k: (
                q @ k.permute(*reversed(range(k.dim()))) / k.shape[-1] ** 0.5
            ),
            "first_axes_swapped": lambda q, k: q @ k.transpose(0, 1) / k.shape[-1] ** 0.5,
            "transposed_scores": lambda q, k: scaled_scores(k, q),
            "multiplied_by_root": lambda q, k: _scores(q, k, k.shape[-1] ** 0.5),
            "divided_by_keys": lambda q, k: _scores(q, k, k.shape[-2] ** -0.5),
            "divided_by_queries": lambda q, k: _scores(q, k, q.shape[-2] ** -0.5),
            "softmax_too_early": lambda q, k: scaled_scores(q, k).softmax(dim=-1),
        },
    ),
)
