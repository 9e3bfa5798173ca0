"""The limits of a hypothesis, in numpy: the twin of `Limits.log_probabilities` without torch."""

from collections.abc import Sequence

import numpy as np

from jumok.decoding.limits import Limits
from jumok.decoding.steps.sentence import Scores
from jumok.engine.choosing import repeats


def close_early_end(scores: Scores, limits: Limits, length: int) -> None:
    """Below the minimum length END loses its probability to the other tokens, in place.

    Args:
        scores: (rows vocabulary), after `length` tokens.
    """
    if length < limits.minimum_length:
        scores[:, limits.end] = -np.inf
        highest = scores.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):  # a model may give no other token a probability
            scores -= highest + np.log(np.exp(scores - highest).sum(axis=1, keepdims=True))


def forbid(scores: Scores, limits: Limits) -> None:
    """Forbids the tokens that are never chosen, in place."""
    scores[:, list(limits.forbidden)] = -np.inf


def forbid_repeats(scores: Scores, written: Sequence[Sequence[int]], count: int) -> None:
    """Forbids what would complete an n-gram of `count` tokens a second time in a row, in place.

    Args:
        written: the tokens of each row, without START.
        count: 0: everything may repeat.
    """
    if count:
        for row, tokens in zip(scores, written, strict=True):
            row[repeats(tokens, count)] = -np.inf
