"""How probable given translations are to a model."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, fsum

from jumok.systems.translation import Translation


@dataclass(frozen=True)
class Likelihood:
    """Of a whole text, by its pieces and one END a line.

    Attributes:
        log_probability: the sum over all pieces: natural logarithm.
        tokens: how many pieces, ENDs counted.
    """

    log_probability: float
    tokens: int

    @property
    def loss(self) -> float:
        """Nats per piece: the mean over pieces, not over lines or batches."""
        return -self.log_probability / self.tokens

    @property
    def perplexity(self) -> float:
        """exp(loss): among how many pieces the model hesitates, on average."""
        return exp(self.loss)


def likelihood(scored: Iterable[Translation]) -> Likelihood:
    """Of what `Translator.score` gave, together; at least one line."""
    values = [value for line in scored for value in line.token_log_probabilities]
    return Likelihood(fsum(values), len(values))
