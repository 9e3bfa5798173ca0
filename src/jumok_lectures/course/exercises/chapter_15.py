"""Is attention an explanation: note 001, line 144; note 003, line 61; Jain and Wallace 2019."""

import torch
from torch import Tensor

from jumok_lectures.course.exercise import Case, Exercise, Question
from jumok_lectures.course.exercises.cases import numbers, random

WEIGHTS, VALUES = numbers(0.4, 0.1, 0.2, 0.3), numbers(0.5, 1.5, 0.2, 2)


def occlusion(weights: Tensor, values: Tensor) -> Tensor:
    """The fall (N) of the weighted sum without each word; the other weights then sum to 1."""
    total = weights @ values
    return total - (total - weights * values) / (1 - weights)


def rank_correlation(first: Tensor, second: Tensor) -> Tensor:
    """1 - 6 Σ d² / (n (n² - 1)), where d is the difference between the two ranks of a word."""
    ranks = [each.argsort().argsort() for each in (first, second)]
    difference = (ranks[0] - ranks[1]).double()
    count = len(first)
    return 1 - 6 * (difference**2).sum() / (count * (count**2 - 1))


def _occlusion_cases() -> list[Case]:
    falls = numbers(-0.327, 0.057, -0.198, 0.433)
    return [
        Case("by_hand", (WEIGHTS, VALUES), falls, 6e-4),
        Case("random", (random(7).softmax(dim=-1), random(7, seed=1))),
    ]


def _rank_cases() -> list[Case]:
    falls = occlusion(WEIGHTS, VALUES)
    return [
        Case("by_hand", (WEIGHTS, falls), torch.tensor(-0.4)),
        Case("same_order", (numbers(1, 2, 3, 4, 5), numbers(1, 10, 100, 1000, 10000))),
        Case("seven_numbers", (random(7), random(7, seed=1))),
    ]


def _pearson(first: Tensor, second: Tensor) -> Tensor:
    return torch.corrcoef(torch.stack([first, second]).double())[0, 1]


EXERCISES = (
    Question("15.agreement", -0.4, 0.01, {"agreement_of_products": 0.4, "squares_alone": 14}),
    Exercise(
        "15.occlusion",
        occlusion,
        _occlusion_cases,
        {
            "not_shared_again": lambda w, v: w * v,
            "what_remains": lambda w, v: (w @ v - w * v) / (1 - w),
            "no_brackets": lambda w, v: w @ v - (w @ v - w * v) / 1 - w,
            "sign_of_fall": lambda w, v: -occlusion(w, v),
            "weights_only": lambda w, v: w.clone(),
            "mean_of_others": lambda w, v: w @ v - (v.sum() - v) / (len(v) - 1),
        },
        measures=True,
    ),
    Exercise(
        "15.rank_correlation",
        rank_correlation,
        _rank_cases,
        {
            "values_not_ranks": _pearson,
            "order_not_ranks": lambda a, b: _pearson(a.argsort(), b.argsort()),
            "one_side_reversed": lambda a, b: -rank_correlation(a, b),
            "share_of_difference": lambda a, b: 1 - rank_correlation(a, b),
            "share_of_equal_ranks": lambda a, b: (
                (a.argsort().argsort() == b.argsort().argsort()).double().mean()
            ),
        },
        measures=True,
    ),
)
