"""Hypotheses: targets with their scores."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """A target sentence with its log-probabilities and its score.

    Attributes:
        tokens: without START and END.
        token_log_probabilities: natural logarithms, one a token, and one more for END if
            `finished`.
        log_probability: their sum.
        score: the ranking score: `log_probability` with the length and the coverage penalty
            (`jumok.decoding.rank`). Higher is better.
        finished: END was written. False where the maximum length cut the sentence.
    """

    tokens: tuple[int, ...]
    token_log_probabilities: tuple[float, ...]
    log_probability: float
    score: float
    finished: bool


SameTokens = Callable[[tuple[int, ...]], Hashable]
"""From a hypothesis's tokens to the key by which duplicates are recognised, such as its text."""
