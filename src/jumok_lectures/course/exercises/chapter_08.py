"""Positions: note 001, lines 82 to 113; note 002, lines 43 to 59."""

import math

import torch
from torch import Tensor

from jumok_lectures.course.exercise import Case, Exercise, Question
from jumok_lectures.course.exercises.cases import numbers


def sinusoidal(length: int, dim: int) -> Tensor:
    """The encoding (length, dim): for each position, one sine and cosine per frequency."""
    position = torch.arange(length).double()[:, None]
    pair = torch.arange(dim // 2).double()
    angle = position / 10000 ** (2 * pair / dim)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


def _cases() -> list[Case]:
    # position 1 of four dimensions: sin 1, cos 1, sin 0.01, cos 0.01
    rows = numbers([0, 1, 0, 1], [0.8415, 0.5403, 0.0100, 0.99995])
    return [
        Case("by_hand", (2, 4), rows, 5e-5),
        Case("long", (11, 6)),
        Case("longer", (103, 10)),
    ]


def _encoding(positions: Tensor, exponents: Tensor) -> Tensor:
    angle = positions[:, None] / 10000**exponents
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


def _numbered(length: int, dim: int, first: int = 0, factor: float = 1.0) -> Tensor:
    pair = torch.arange(dim // 2).double()
    return _encoding((torch.arange(length).double() + first) * factor, 2 * pair / dim)


def _halves(length: int, dim: int) -> Tensor:
    pairs = sinusoidal(length, dim)
    return torch.cat([pairs[:, ::2], pairs[:, 1::2]], dim=-1)


def _each_dimension(length: int, dim: int, factor: int = 2) -> Tensor:
    """The note's i is read as the index of the dimension, and not of the pair."""
    index = torch.arange(dim).double()
    angle = torch.arange(length).double()[:, None] / 10000 ** (factor * index / dim)
    return torch.where(index % 2 == 0, angle.sin(), angle.cos())


EXERCISES = (
    Question("08.student", 4, 0.1, {"from_zero": 3}),
    Exercise(
        "08.sinusoidal",
        sinusoidal,
        _cases,
        {
            "halves": _halves,
            "sine_and_cosine_swapped": lambda length, dim: (
                sinusoidal(length, dim).unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
            ),
            "each_dimension": _each_dimension,
            "half_exponent": lambda length, dim: _encoding(
                torch.arange(length).double(), torch.arange(dim // 2).double() / dim
            ),
            "double_exponent": lambda length, dim: _encoding(
                torch.arange(length).double(), 4 * torch.arange(dim // 2).double() / dim
            ),
            "odd_dimension": lambda length, dim: _each_dimension(length, dim, 1),
            "from_one": lambda length, dim: _numbered(length, dim, first=1),
            "degrees": lambda length, dim: _numbered(length, dim, factor=math.pi / 180),
            "transposed_table": lambda length, dim: sinusoidal(length, dim).T,
        },
    ),
)
