"""Several heads: note 001, lines 254 to 268; note 002, lines 24 to 29."""

import torch
from torch import Tensor

from jumok_lectures.course.exercise import Case, Exercise, Question
from jumok_lectures.course.exercises.cases import numbers, random


def split_heads(x: Tensor, heads: int) -> Tensor:
    """The words x (N, d), split into heads of adjacent numbers (heads, N, d / heads)."""
    return x.reshape(x.shape[0], heads, -1).transpose(0, 1)


def merge_heads(x: Tensor) -> Tensor:
    """The heads x (heads, N, d / heads), concatenated for each word (N, d)."""
    return x.transpose(0, 1).flatten(1)


def _split_cases() -> list[Case]:
    words, cut = numbers([1, 2, 3, 4], [5, 6, 7, 8]), numbers([[1, 2], [5, 6]], [[3, 4], [7, 8]])
    return [Case("two_words", (words, 2), cut), Case("random", (random(7, 15), 3))]


def _merge_cases() -> list[Case]:
    cut, words = numbers([[1, 2], [5, 6]], [[3, 4], [7, 8]]), numbers([1, 2, 3, 4], [5, 6, 7, 8])
    return [Case("two_words", (cut,), words), Case("random", (random(3, 7, 5),))]


EXERCISES = (
    Question(
        "09.parameters",
        4 * 512**2,
        1,
        {
            "times_heads": 32 * 512**2,
            "no_output": 3 * 512**2,
            "one_of_four": 512**2,
            "one_head": 4 * 512 * 64,
        },
    ),
    Exercise(
        "09.split_heads",
        split_heads,
        _split_cases,
        {
            "view_only": lambda x, heads: x.reshape(heads, x.shape[0], -1),
            "every_other": lambda x, heads: x.reshape(x.shape[0], -1, heads).permute(2, 0, 1),
            "words_first": lambda x, heads: x.reshape(x.shape[0], heads, -1),
        },
    ),
    Exercise(
        "09.merge_heads",
        merge_heads,
        _merge_cases,
        {
            "view_only": lambda x: x.reshape(x.shape[1], -1),
            "every_other": lambda x: x.permute(1, 2, 0).flatten(1),
            "heads_averaged": lambda x: x.mean(dim=0),
            "heads_added": lambda x: torch.sum(x, dim=0),
        },
    ),
)
