"""The likelihood of given translations under a model."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, fsum

from jumok.systems.translation.result import Translation


@dataclass(frozen=True)
class Likelihood:
    """The likelihood of a whole text, over its tokens and one END a line.

    Attributes:
        log_probability: the sum over all tokens: natural logarithm.
        tokens: ENDs included.
    """

    log_probability: float
    tokens: int

    @property
    def loss(self) -> float:
        """Nats per token: the mean over tokens, not over lines or batches."""
        return -self.log_probability / self.tokens

    @property
    def perplexity(self) -> float:
        return exp(self.loss)


def likelihood(scored: Iterable[Translation]) -> Likelihood:
    """The likelihood of all lines in a result of `Translator.score`; at least one."""
    values = [value for line in scored for value in line.token_log_probabilities]
    return Likelihood(fsum(values), len(values))
