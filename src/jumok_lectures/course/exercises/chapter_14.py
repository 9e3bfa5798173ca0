"""Attention over pixels: note 004, lines 328 to 332; Zhang et al. 2019."""

import torch
from torch import Tensor

from jumok_lectures.course.exercise import Case, Exercise, Question
from jumok_lectures.course.exercises.cases import numbers, random


def conv_1x1(x: Tensor, w: Tensor) -> Tensor:
    """The image x (C, H, W) with the same matrix w (out, C) at every cell."""
    return torch.einsum("oc,chw->ohw", w, x)


def pixel_attention(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, gate: Tensor) -> Tensor:
    """The features x (C, H, W) plus the attention over all cells, multiplied by the gate."""
    cells = x.flatten(1).T
    query, key, value = cells @ w_q.T, cells @ w_k.T, cells @ w_v.T
    scores = query @ key.T / key.shape[1] ** 0.5
    mixed = torch.softmax(scores, dim=-1) @ value
    return x + gate * mixed.T.unflatten(1, x.shape[1:])


def _convolution_cases() -> list[Case]:
    w = numbers([1, 1], [0, 3])
    return [
        Case("by_hand", (numbers([[1]], [[2]]), w), numbers([[3]], [[6]])),
        Case("random", (random(5, 3, 2), random(7, 5, seed=1))),
        Case("square", (random(3, 3, 3), random(3, 3, seed=1))),
    ]


def _pixel_cases() -> list[Case]:
    zero, eye = torch.zeros(2, 2).double(), torch.eye(2).double()
    pair = numbers([[1, 3]], [[0, 2]])  # cells [1, 0] and [3, 2], whose mean is [2, 1]
    given = (random(3, 2, seed=1).T, random(3, 2, seed=2).T, random(3, 3, seed=3))
    return [
        Case("even", (pair, zero, zero, eye, torch.ones(1).double()), numbers([[3, 5]], [[1, 3]])),
        Case("random", (random(3, 5, 4), *given, random(1, seed=4))),
    ]


def _mixed(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, scale: float = 0, axis: int = -1
) -> Tensor:
    """What each cell gets, a row for each; a scale of 0 is √d_k."""
    cells = x.flatten(1).T
    query, key, value = cells @ w_q.T, cells @ w_k.T, cells @ w_v.T
    scale = scale or query.shape[-1] ** 0.5
    return torch.softmax(query @ key.T / scale, dim=axis) @ value


def _attended(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, scale: float = 0, axis: int = -1
) -> Tensor:
    return _mixed(x, w_q, w_k, w_v, scale, axis).T.unflatten(1, x.shape[1:])


EXERCISES = (
    Question("14.weights", 14**4, 0.1, {"number_of_cells": 14**2, "pixels_of_two_sides": 28}),
    Exercise(
        "14.conv_1x1",
        conv_1x1,
        _convolution_cases,
        {
            "transposed_kernel": lambda x, w: torch.einsum("co,chw->ohw", w, x),
            "each_channel_alone": lambda x, w: x * w.sum(dim=1)[:, None, None],
            "cells_mixed": lambda x, w: (x.flatten(1).T @ w.T).reshape(-1, *x.shape[1:]),
            "channels_mixed": lambda x, w: (w @ x.reshape(-1, len(x)).T).unflatten(1, x.shape[1:]),
            "channels_last": lambda x, w: torch.einsum("oc,chw->hwo", w, x),
        },
    ),
    Exercise(
        "14.pixel_attention",
        pixel_attention,
        _pixel_cases,
        {
            "no_residual": lambda x, q, k, v, g: g * _attended(x, q, k, v),
            "no_gate": lambda x, q, k, v, g: x + _attended(x, q, k, v),
            "gate_on_both": (
                lambda x, q, k, v, g: g * (x + _attended(x, q, k, v)),
                lambda x, q, k, v, g: g * (x + _attended(x, q, k, v, scale=1)),
            ),
            "gate_on_input": (
                lambda x, q, k, v, g: g * x + _attended(x, q, k, v),
                lambda x, q, k, v, g: g * x + _attended(x, q, k, v, scale=1),
            ),
            "not_scaled": lambda x, q, k, v, g: x + g * _attended(x, q, k, v, scale=1),
            "scale_of_example": lambda x, q, k, v, g: x + g * _attended(x, q, k, v, scale=2),
            "divided_by_channels": lambda x, q, k, v, g: (
                x + g * _attended(x, q, k, v, scale=len(x) ** 0.5)
            ),
            "softmax_over_queries": lambda x, q, k, v, g: x + g * _attended(x, q, k, v, axis=0),
            "cells_mixed": lambda x, q, k, v, g: x + g * _mixed(x, q, k, v).reshape(x.shape),
        },
    ),
)
