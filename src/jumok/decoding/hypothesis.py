"""One way to write the target."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """A target sentence with what the model thinks of it.

    Attributes:
        tokens: without START and END.
        token_log_probabilities: natural logarithms, one a token, and one more for END if
            `finished`.
        log_probability: their sum.
        score: what hypotheses are ranked by: `log_probability` after the length and the coverage
            penalty (`jumok.decoding.rank`). Higher is better.
        finished: END was written. False where the maximum length cut the sentence.
    """

    tokens: tuple[int, ...]
    token_log_probabilities: tuple[float, ...]
    log_probability: float
    score: float
    finished: bool


Listener = Callable[[Sequence[Sequence[Hypothesis]]], None]
"""Receives what a search found for each row, best first."""

Same = Callable[[tuple[int, ...]], Hashable]
"""From the tokens of a hypothesis what makes it the same as another one: its text, for instance."""
