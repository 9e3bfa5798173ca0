"""Looking back at every step: note 004, lines 77 to 133, and note 000, lines 28 to 30."""

import torch
from torch import Tensor

from jumok_lectures.course.exercise import Case, Exercise
from jumok_lectures.course.exercises.cases import numbers, random


def dot_scores(state: Tensor, states: Tensor) -> Tensor:
    """The dot products (T) of the decoder state (n) with the encoder states (T, n)."""
    return states @ state


def additive_scores(state: Tensor, states: Tensor, w: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """The scores (T) of a small network, v·tanh(s W + h U), for the states h (T, n)."""
    return torch.tanh(state @ w + states @ u) @ v


def context(scores: Tensor, states: Tensor) -> Tensor:
    """The context vector (n): the states (T, n), weighted by the softmax of the scores (T)."""
    return torch.softmax(scores, dim=-1) @ states


def _dot_cases() -> list[Case]:
    return [
        Case("note_23", (numbers(2, 3), numbers([4, 5], [-5, 2])), numbers(23, -4), 0.5),
        Case("random", (random(5), random(7, 5, seed=1))),
    ]


def _additive_cases() -> list[Case]:
    eye = torch.eye(2).double()
    state, states, v = numbers(1, 0), numbers([0, 0], [-1, 0], [1, 1]), numbers(1, 2)
    found = numbers(0.7616, 0.0, 2.4872)  # tanh 1; 0; tanh 2 + 2 tanh 1
    given = (random(3), random(7, 5, seed=1), random(3, 11, seed=2), random(5, 11, seed=3))
    return [
        Case("by_hand", (state, states, eye, eye, v), found, 1e-4),
        # before "random", where swapped matrices do not fit
        Case("square", (random(5), *(random(5, 5, seed=n) for n in (1, 2, 3)), random(5, seed=4))),
        Case("random", (*given, random(11, seed=4))),
    ]


def _context_cases() -> list[Case]:
    states = torch.eye(4).double()
    uneven = numbers(0.0, 3.0, 0.0, 0.0)  # e^3 is 20.09, so 20.09 / 23.09 is 0.870
    return [
        Case("even", (torch.zeros(4).double(), states), torch.full((4,), 0.25).double()),
        Case("by_hand", (uneven, states), numbers(0.043, 0.870, 0.043, 0.043), 5e-4),
        Case("random", (random(7), random(7, 5, seed=1))),
    ]


def _cosine(state: Tensor, states: Tensor) -> Tensor:
    return torch.cosine_similarity(states, state[None], dim=-1)


EXERCISES = (
    Exercise(
        "02.dot_scores",
        dot_scores,
        _dot_cases,
        {
            "not_summed": lambda state, states: states * state,
            "state_first": lambda state, states: state @ states,
            "softmax_too_early": lambda state, states: torch.softmax(states @ state, dim=-1),
            "cosine": _cosine,
            "scaled_already": lambda state, states: states @ state / len(state) ** 0.5,
            "summed_over_states": lambda state, states: (states * state).sum(dim=0),
        },
    ),
    Exercise(
        "02.additive_scores",
        additive_scores,
        _additive_cases,
        {
            "no_tanh": lambda s, h, w, u, v: (s @ w + h @ u) @ v,
            "two_tanhs": lambda s, h, w, u, v: (torch.tanh(s @ w) + torch.tanh(h @ u)) @ v,
            "swapped_matrices": lambda s, h, w, u, v: torch.tanh(s @ u + h @ w) @ v,
            "no_v": lambda s, h, w, u, v: torch.tanh(s @ w + h @ u),
            "not_summed": lambda s, h, w, u, v: torch.tanh(s @ w + h @ u) * v,
            "tanh_last": lambda s, h, w, u, v: torch.tanh((s @ w + h @ u) @ v),
            "softmax_too_early": lambda s, h, w, u, v: torch.softmax(
                additive_scores(s, h, w, u, v), dim=-1
            ),
        },
    ),
    Exercise(
        "02.context",
        context,
        _context_cases,
        {
            "no_softmax": lambda scores, states: scores @ states,
            "not_weighted": lambda scores, states: states.mean(dim=0),
            "not_summed": lambda scores, states: torch.softmax(scores, -1)[:, None] * states,
            "only_the_best": lambda scores, states: states[scores.argmax()],
        },
    ),
)
