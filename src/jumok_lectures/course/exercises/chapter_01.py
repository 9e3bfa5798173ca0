"""One vector for a sentence: note 004, lines 27 to 62."""

import torch
from torch import Tensor

from jumok_lectures.course.exercise import Case, Exercise, Question
from jumok_lectures.course.exercises.cases import numbers, random


def step(x: Tensor, h: Tensor, w: Tensor, u: Tensor) -> Tensor:
    """The next state (n) of an RNN, from a word x (d) and the state h (n)."""
    return torch.tanh(x @ w + h @ u)


def encode(words: Tensor, w: Tensor, u: Tensor) -> Tensor:
    """The state (n) of an RNN after the last of the words (T, d)."""
    h = torch.zeros(u.shape[0], dtype=words.dtype)
    for x in words:
        h = torch.tanh(x @ w + h @ u)
    return h


def _step_cases() -> list[Case]:
    x, h, w, u = numbers(1, 0), numbers(0.5, -0.5), numbers([1, 2], [3, 4]), numbers([1, 0], [0, 1])
    return [  # tanh 1.5 and tanh 1.5
        Case("by_hand", (x, h, w, u), numbers(0.9051, 0.9051), 5e-5),
        Case("random", (random(3), random(5, seed=1), random(3, 5, seed=2), random(5, 5, seed=3))),
    ]


def _encode_cases() -> list[Case]:
    words = numbers([1], [0], [0])  # tanh 1, tanh of half of it, and again
    return [
        Case("by_hand", (words, numbers([1]), numbers([0.5])), numbers(0.1797), 5e-5),
        Case("random", (random(7, 3), random(3, 5, seed=2), random(5, 5, seed=3))),
        Case("one_word", (random(1, 3), random(3, 5, seed=2), random(5, 5, seed=3))),
    ]


def _all_states(words: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return torch.stack([encode(words[: n + 1], w, u) for n in range(len(words))])


def _first_word_as_state(words: Tensor, w: Tensor, u: Tensor, after: int = 1) -> Tensor:
    h = words[0]
    for x in words[after:]:
        h = torch.tanh(x @ w + h @ u)
    return h


def _state_as_wide_as_words(words: Tensor, w: Tensor, u: Tensor) -> Tensor:
    h = torch.zeros(words.shape[1], dtype=words.dtype)
    for x in words:
        h = torch.tanh(x @ w + h @ u)
    return h


EXERCISES = (
    Question(
        "01.numbers_for_100_words", 512, 0.5, {"grows_with_words": 51200, "number_of_words": 100}
    ),
    Exercise(
        "01.step",
        step,
        _step_cases,
        {
            "no_tanh": lambda x, h, w, u: x @ w + h @ u,
            "no_memory": lambda x, h, w, u: torch.tanh(x @ w),
            "transposed_matrix": lambda x, h, w, u: torch.tanh(w @ x + u @ h),
            "swapped_matrices": lambda x, h, w, u: torch.tanh(x @ u + h @ w),
            "two_tanhs": lambda x, h, w, u: torch.tanh(x @ w) + torch.tanh(h @ u),
            "tanh_of_word_only": lambda x, h, w, u: torch.tanh(x @ w) + h @ u,
        },
    ),
    Exercise(
        "01.encode",
        encode,
        _encode_cases,
        {
            "all_states": _all_states,
            "mean_of_states": lambda words, w, u: _all_states(words, w, u).mean(dim=0),
            "backwards": lambda words, w, u: encode(words.flip(0), w, u),
            "first_word_only": lambda words, w, u: encode(words[:1], w, u),
            "first_word_as_state": _first_word_as_state,
            "first_word_twice": lambda words, w, u: _first_word_as_state(words, w, u, 0),
            "state_as_wide_as_words": _state_as_wide_as_words,
            "last_word_only": lambda words, w, u: torch.tanh(words[-1] @ w),
            "stops_early": lambda words, w, u: encode(words[:-1], w, u),
        },
    ),
)
