"""A weighted sum: note 003."""

import torch
from torch import Tensor

from jumok_lectures.course.exercise import Case, Exercise, Question
from jumok_lectures.course.exercises.cases import numbers, random


def weighted_sum(weights: Tensor, values: Tensor) -> Tensor:
    """The weighted sums (M, d) of values (N, d), for weights (M, N)."""
    return weights @ values


def distances(query: Tensor, keys: Tensor) -> Tensor:
    """The Euclidean distances (N) of a query (d) from keys (N, d)."""
    return ((keys - query) ** 2).sum(dim=-1) ** 0.5


def _sum_cases() -> list[Case]:
    shares = torch.softmax(random(3, 7), dim=-1)
    return [
        Case(
            "note_mixture", (numbers([0.88, 0.12]), numbers([1, 0], [0, 1])), numbers([0.88, 0.12])
        ),
        Case("random", (shares, random(7, 5, seed=1))),
    ]


def _distance_cases() -> list[Case]:
    keys = numbers([4, 5], [-5, 2], [40, 50], [2, 3])
    return [
        Case("note_23", (numbers(2, 3), keys), numbers(2.828, 7.071, 60.440, 0), 5e-4),
        Case("random", (random(5), random(7, 5, seed=1))),
    ]


EXERCISES = (
    Question("03.product", -4, 0.1, {"sign_lost": 16, "as_printed": 6}),
    # 60, as the chapter rounds the distance, is recognized, too
    Question("03.farther_product", 230, 0.45, {"distance_instead": 60.44, "same_as_near": 23}),
    Exercise(
        "03.weighted_sum",
        weighted_sum,
        _sum_cases,
        {
            "not_weighted": lambda weights, values: values.mean(dim=0).expand(len(weights), -1),
            "softmax_twice": lambda weights, values: torch.softmax(weights, dim=-1) @ values,
            "only_the_best": lambda weights, values: values[weights.argmax(dim=-1)],
            "not_summed": lambda weights, values: weights[..., None] * values,
            "values_first": lambda weights, values: values @ weights,
        },
    ),
    Exercise(
        "03.distances",
        distances,
        _distance_cases,
        {
            "no_root": lambda query, keys: ((keys - query) ** 2).sum(dim=-1),
            "product_instead": lambda query, keys: keys @ query,
            "absolute_differences": lambda query, keys: (keys - query).abs().sum(dim=-1),
            "one_distance": lambda query, keys: torch.linalg.vector_norm(keys - query),
            "summed_over_keys": lambda query, keys: ((keys - query) ** 2).sum(dim=0) ** 0.5,
        },
        measures=True,
    ),
)
