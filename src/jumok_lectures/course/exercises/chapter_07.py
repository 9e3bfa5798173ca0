"""Masks: note 000, lines 176 to 190; note 001, lines 334 to 368; note 002, lines 69 to 86."""

import math

import torch
from torch import Tensor

from jumok_lectures.course.exercise import Case, Exercise, Question
from jumok_lectures.course.exercises.cases import numbers, random


def causal_mask(length: int) -> Tensor:
    """A mask (length, length), True where the row may attend to the column."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def masked_softmax(scores: Tensor, allowed: Tensor) -> Tensor:
    """The weights (M, N) of scores (M, N); 0 where the mask is False, and in a row without True."""
    weights = scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)
    return weights.masked_fill(~allowed, 0.0)


def _mask_cases() -> list[Case]:
    three = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=torch.bool)
    return [Case("three_words", (3,), three), Case("one_word", (1,)), Case("seven_words", (7,))]


def _softmax_cases() -> list[Case]:
    half = numbers([1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3])
    none = torch.tensor([[True, False, True], [False, False, False]])
    return [
        Case("even", (torch.zeros(3, 3).double(), causal_mask(3)), half),
        Case("random", (random(7, 7), causal_mask(7))),
        Case("masked_row", (random(2, 3), none)),
        Case("overflow_masked", (numbers([0, 710], [1, 710]), causal_mask(2))),
    ]


def _times(scores: Tensor, allowed: Tensor, factor: float) -> Tensor:
    return torch.where(allowed, scores, scores * factor).softmax(dim=-1)


EXERCISES = (
    Question("07.links", 36, 0.1, {"whole_matrix": 64, "without_itself": 28}),
    Exercise(
        "07.causal_mask",
        causal_mask,
        _mask_cases,
        {
            "transposed_mask": lambda length: causal_mask(length).T,
            "without_itself": lambda length: causal_mask(length).tril(-1),
            "true_forbids": lambda length: ~causal_mask(length),
            "numbers_to_add": lambda length: torch.zeros(length, length).masked_fill(
                ~causal_mask(length), -math.inf
            ),
            "one_more": lambda length: torch.ones(length, length, dtype=torch.bool).tril(1),
            "no_mask": lambda length: torch.ones(length, length, dtype=torch.bool),
        },
    ),
    Exercise(
        "07.masked_softmax",
        masked_softmax,
        _softmax_cases,
        {
            "row_of_nan": lambda s, a: s.masked_fill(~a, -math.inf).softmax(dim=-1),
            "row_of_even": lambda s, a: s.masked_fill(~a, -1e9).softmax(dim=-1),
            "mask_after_softmax": lambda s, a: s.softmax(dim=-1) * a,
            "times_zero": lambda s, a: _times(s, a, 0.0),
            "times_minus": lambda s, a: _times(s, a, -1e9),
            "transposed_mask": lambda s, a: masked_softmax(s, a.T),
            "true_forbids": (
                lambda s, a: s.masked_fill(a, -math.inf).softmax(dim=-1),
                lambda s, a: s.masked_fill(a, -math.inf).softmax(dim=-1).nan_to_num(),
            ),
            "no_mask": lambda s, a: s.softmax(dim=-1),
            "wrong_axis": lambda s, a: s.masked_fill(~a, -math.inf).softmax(dim=0),
        },
    ),
)
