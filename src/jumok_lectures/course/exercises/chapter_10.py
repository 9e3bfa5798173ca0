"""The block: note 000, lines 194 to 237; note 001, lines 292 to 322."""

import torch
from torch import Tensor

from jumok_lectures.course.exercise import Case, Exercise, Question
from jumok_lectures.course.exercises.cases import numbers, random


def layer_norm(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    """The words x (N, d) with mean 0 and deviation 1, then scaled and shifted."""
    mean = x.mean(dim=-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
    return gain * (x - mean) / torch.sqrt(variance + 1e-5) + shift


def feed_forward(x: Tensor, w_1: Tensor, w_2: Tensor) -> Tensor:
    """The outputs (N, d) of two matrices with a ReLU between them."""
    return torch.relu(x @ w_1) @ w_2


def _norm_cases() -> list[Case]:
    # mean 3, deviation √3.5 = 1.8708
    found = numbers([-1.0690, -0.5345, 0.0, 1.6036])
    ones, zeros = torch.ones(4).double(), torch.zeros(4).double()
    return [
        Case("one_two_three_six", (numbers([1, 2, 3, 6]), ones, zeros), found, 1e-4),
        Case("random", (random(7, 5), random(5, seed=1), random(5, seed=2))),
        Case(
            "equal_numbers", (torch.full((2, 3), 7.0).double(), torch.ones(3).double(), random(3))
        ),
    ]


def _feed_cases() -> list[Case]:
    x, w_1, w_2 = (
        numbers([1, -1], [0, 2]),
        numbers([1, 0, -1], [0, 1, 1]),
        numbers([1], [10], [100]),
    )
    return [  # [1 -1 -2] and [0 2 2] before the ReLU
        Case("by_hand", (x, w_1, w_2), numbers([1], [220])),
        Case("random", (random(7, 3), random(3, 11, seed=1), random(11, 3, seed=2))),
    ]


def _normed(x: Tensor, mean: Tensor, variance: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    return gain * (x - mean) / torch.sqrt(variance + 1e-5) + shift


def _standardized(x: Tensor) -> Tensor:
    return layer_norm(x, x.new_ones(x.shape[-1]), x.new_zeros(x.shape[-1]))


def _over_words(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    return _normed(x, x.mean(dim=0), x.var(dim=0, correction=0), gain, shift)


def _over_everything(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    return _normed(x, x.mean(), x.var(correction=0), gain, shift)


def _by_variance(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    return gain * (x - mean) / (variance + 1e-5) + shift


EXERCISES = (
    Question(
        "10.largest",
        5 / 3,
        0.01,
        {
            "not_shifted": 9 / 3,
            "not_divided": 5,
            "by_variance": 5 / 9,
            "one_less": 5 / 12**0.5,
            "first_component": -1,
        },
    ),
    Exercise(
        "10.layer_norm",
        layer_norm,
        _norm_cases,
        {
            "over_words": _over_words,
            "over_everything": _over_everything,
            "one_less": lambda x, gain, shift: _normed(
                x, x.mean(-1, keepdim=True), x.var(-1, keepdim=True), gain, shift
            ),
            "by_variance": _by_variance,
            "epsilon_outside": lambda x, gain, shift: (
                gain
                * (x - x.mean(-1, keepdim=True))
                / (x.std(-1, keepdim=True, correction=0) + 1e-5)
                + shift
            ),
            "no_keepdim": lambda x, gain, shift: (
                gain * (x - x.mean(-1)) / torch.sqrt(x.var(-1, correction=0) + 1e-5) + shift
            ),
            "no_epsilon": lambda x, gain, shift: (
                gain * (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, correction=0)
                + shift
            ),
            "not_centred": lambda x, gain, shift: (
                gain * x / torch.sqrt(x.var(-1, keepdim=True, correction=0) + 1e-5) + shift
            ),
            "no_gain": lambda x, gain, shift: _standardized(x),
            "gain_and_shift_swapped": lambda x, gain, shift: layer_norm(x, shift, gain),
            "gain_and_shift_only": lambda x, gain, shift: gain * x + shift,
            "gain_too_early": (
                lambda x, gain, shift: _standardized(gain * x) + shift,
                lambda x, gain, shift: _standardized(gain * x + shift),
            ),
        },
    ),
    Exercise(
        "10.feed_forward",
        feed_forward,
        _feed_cases,
        {
            "no_relu": lambda x, w_1, w_2: x @ w_1 @ w_2,
            "relu_last": lambda x, w_1, w_2: torch.relu(x @ w_1 @ w_2),
            "relu_twice": lambda x, w_1, w_2: torch.relu(torch.relu(x @ w_1) @ w_2),
            "relu_first": lambda x, w_1, w_2: torch.relu(x) @ w_1 @ w_2,
        },
    ),
)
