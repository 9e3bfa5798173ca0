"""The ranking of hypotheses, by length and coverage penalties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum, isfinite
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from jumok.decoding.hypothesis import Hypothesis, SameTokens
from jumok.errors import ConfigError, ModelError

LengthPenalty: TypeAlias = Callable[[int], float]
"""From a length (END counts) to the positive divisor of the log-probability; monotone."""

LEAST_ATTENTION = 1e-6  # an ignored source position costs at most -log of it: 13.8


def google_length_penalty(alpha: float) -> LengthPenalty:
    """((5 + length) / 6) ** alpha; 0 ranks by log-probability alone, which favours short ones.

    Source: Wu et al. 2016, section 7, equation 14.
    """
    return lambda length: ((5 + length) / 6) ** alpha


def power_length_penalty(alpha: float) -> LengthPenalty:
    """length ** alpha: the plain average for alpha 1, as Hugging Face and CTranslate2 rank."""
    return lambda length: float(length**alpha)


def no_probability(got: str) -> ModelError:
    """The error for a search without any probable token."""
    return ModelError(
        "the model gives no probability to any next token, or its logits are not numbers.",
        expected="a finite log-probability",
        got=got,
        do="look for NaN in the model's weights, or for a forced prefix that it rules out",
    )


def coverage_without_attention() -> ConfigError:
    """The error for a coverage penalty without the model's attention."""
    return ConfigError(
        "the coverage penalty needs the model's attention weights.",
        do="use a model with attention over the source, or coverage_penalty=0",
    )


def log_coverage(
    attention: npt.NDArray[np.float32], real: npt.NDArray[np.bool_] | None
) -> npt.NDArray[np.float32]:
    """Sum over the real source positions of log(min(attention, 1)), 0 where all were attended.

    Source: Wu et al. 2016, section 7, equation 14.

    Args:
        attention: the sum over all steps, END's included, for each source position: (rows source).
        real: which positions are no padding, (source); None: all.
    """
    terms = np.log(attention.clip(LEAST_ATTENTION, 1.0))
    total: npt.NDArray[np.float32] = (terms if real is None else terms[:, real]).sum(axis=1)
    return total


NO_LENGTH_PENALTY = google_length_penalty(0.0)


@dataclass(frozen=True)
class Ranker:
    """The score of a hypothesis: log-probability / length penalty + beta * log coverage.

    Attributes:
        coverage_penalty: beta, 0 or above. Above 0, source positions with a total attention below
            1 are penalized.
        same: the key of a hypothesis; of those with equal keys only the best counts.
        given: first tokens that are forced on every hypothesis, such as that of its language: their
            log-probability is 0.

    Source: Wu et al. 2016, section 7, equation 14.
    """

    length_penalty: LengthPenalty = NO_LENGTH_PENALTY
    coverage_penalty: float = 0.0
    same: SameTokens | None = None
    given: int = 0

    def rate(
        self,
        tokens: Sequence[int],
        token_log_probabilities: Sequence[float],
        log_coverage: float = 0.0,
    ) -> Hypothesis:
        """The hypothesis with its score; finished if there is a log-probability for END.

        Raises:
            ModelError: the log-probability is not a finite number.
        """
        given = min(self.given, len(tokens))
        token_log_probabilities = (*[0.0] * given, *token_log_probabilities[given:])
        log_probability = fsum(token_log_probabilities)
        if not isfinite(log_probability):
            raise no_probability(f"{log_probability} after {len(tokens)} tokens")
        penalty = self.length_penalty(max(len(token_log_probabilities), 1))
        return Hypothesis(
            tuple(tokens),
            token_log_probabilities,
            log_probability,
            log_probability / penalty + self.coverage_penalty * log_coverage,
            finished=len(token_log_probabilities) > len(tokens),
        )

    def penalties(self, maximum_length: int) -> npt.NDArray[np.float32]:
        """The length penalty of the lengths 0 to `maximum_length` + 1 (END counts)."""
        lengths = range(1, maximum_length + 2)
        return np.array([1.0, *map(self.length_penalty, lengths)], np.float32)


def joint_scores(members: Sequence[Sequence[Hypothesis]], ranker: Ranker) -> list[Hypothesis]:
    """The same targets scored by an ensemble (see `decoding.stepper.Ensemble`)."""
    scored = []
    for of_target in zip(*members, strict=True):
        values = np.array([each.token_log_probabilities for each in of_target])
        mean = np.logaddexp.reduce(values, axis=0) - np.log(len(of_target))
        scored.append(ranker.rate(of_target[0].tokens, mean.tolist()))
    return scored
