"""Captions: note 004, lines 150 to 213 and 221."""

import torch
from torch import Tensor

from jumok_lectures.course.exercise import Case, Exercise, Question
from jumok_lectures.course.exercises.cases import numbers, random


def cells_of(features: Tensor) -> Tensor:
    """The cells (H·W, D) of features (D, H, W), with the grid read row by row."""
    return features.flatten(1).T


def attend_grid(state: Tensor, grid: Tensor) -> Tensor:
    """The context vector (D) of a state (D) over a grid (H, W, D), with dot products as scores."""
    cells = grid.flatten(0, 1)
    return torch.softmax(cells @ state, dim=-1) @ cells


def pointing(weights: Tensor, boxes: Tensor) -> Tensor:
    """The share of images whose largest weight (B, H, W) lies in the box (B, H, W)."""
    best = weights.flatten(1).argmax(dim=1)
    return boxes.flatten(1)[torch.arange(len(best)), best].double().mean()


GRID = numbers([[1, 0], [0, 1]], [[1, 1], [0, 0]])
STATE = numbers(1, 2)


def _cell_cases() -> list[Case]:
    channels = GRID.permute(2, 0, 1)
    return [
        Case("by_hand", (channels,), numbers([1, 0], [0, 1], [1, 1], [0, 0])),
        Case("random", (random(5, 3, 2),)),
    ]


def _grid_cases() -> list[Case]:
    return [
        Case("by_hand", (STATE, GRID), numbers(0.731, 0.881), 5e-4),
        Case("random", (random(5), random(3, 2, 5, seed=1))),
    ]


def _pointing_cases() -> list[Case]:
    weights = random(7, 12).softmax(dim=-1).unflatten(1, (3, 4))
    boxes = random(7, 3, 4, seed=1) > 0
    two = numbers([[0.4, 0.3], [0.3, 0.0]], [[0.2, 0.8], [0.0, 0.0]])
    there = torch.tensor([[[False, True], [True, True]], [[False, True], [False, False]]])
    return [
        Case("two_grids", (two, there), torch.tensor(0.5)),
        Case("grids", (weights, boxes)),
    ]


def _each_row(state: Tensor, grid: Tensor) -> Tensor:
    weights = torch.softmax(grid @ state, dim=-1)
    return (weights[..., None] * grid).sum((0, 1))


EXERCISES = (
    Question("13.cells", 49, 0.1, {"numbers_of_grid": 7 * 7 * 512, "width_of_cells": 512}),
    Exercise(
        "13.cells_of",
        cells_of,
        _cell_cases,
        {
            "channels_first": lambda x: x.flatten(1),
            "channels_mixed": lambda x: x.reshape(-1, len(x)),
            "columns_first": lambda x: x.transpose(1, 2).flatten(1).T,
            "mean_of_cells": lambda x: x.mean((1, 2)),
        },
    ),
    Exercise(
        "13.attend_grid",
        attend_grid,
        _grid_cases,
        {
            "each_grid_row": _each_row,
            "mean_of_cells": lambda h, z: z.mean((0, 1)),
            "cell_of_largest": lambda h, z: z.flatten(0, 1)[(z @ h).argmax()],
            "no_softmax": lambda h, z: (z @ h).flatten() @ z.flatten(0, 1),
            "scaled_already": lambda h, z: attend_grid(h / len(h) ** 0.5, z),
            "map_only": lambda h, z: (z @ h).flatten().softmax(-1).unflatten(0, z.shape[:2]),
        },
    ),
    Exercise(
        "13.pointing",
        pointing,
        _pointing_cases,
        {
            "weight_in_box": lambda w, b: (w * b).sum((1, 2)).mean(),
            "more_than_half": lambda w, b: ((w * b).sum((1, 2)) > 0.5).double().mean(),
            "largest_of_batch": lambda w, b: b.flatten()[w.argmax()],
            "every_pair": lambda w, b: b.flatten(1)[:, w.flatten(1).argmax(dim=1)].double().mean(),
            "number_of_pictures": lambda w, b: pointing(w, b) * len(w),
            "size_of_box": lambda w, b: b.double().mean(),
        },
        measures=True,
    ),
)
