"""What both engines share of sampling: the ranges of its options, and its random numbers.

Importing it imports no torch.
"""

from math import inf

import numpy as np

from jumok.errors import ConfigError

BITS = 53
"""Those of a float64."""

STRONGEST_PENALTY = 2.0
"""The strongest penalty on tokens that were written before, by OpenAI's API."""


class Draws:
    """Uniform numbers from 0 to 1 (below 1), one for each token of one text.

    Number n is a function of the seed, the text's place and n alone: which other texts are written
    at the same time, and where, changes nothing. They are the upper 53 bits of the numbers of
    Philox-4x64-10 with the key (seed, place) and the counter 1, 2, ..., four numbers for each value
    of the counter.

    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"; numpy.random.Philox.

    Args:
        seed: modulo 2^64.
        place: which of the texts that are written with this seed.
    """

    def __init__(self, seed: int, place: int = 0) -> None:
        self._philox = np.random.Philox(key=np.array([seed % 2**64, place], np.uint64))

    def next(self) -> float:
        """The number for the next token."""
        return (int(self._philox.random_raw()) >> (64 - BITS)) * 2.0**-BITS


def check_temperature(value: float) -> None:
    """Raises ConfigError if the temperature is not above 0."""
    if not 0 < value < inf:
        raise ConfigError(
            "the temperature must be a positive number.",
            expected="temperature > 0",
            got=str(value),
            do="for the most probable token at every step do not sample: jumok generate --greedy, "
            "jumok translate without --sample, sample=False",
        )


def check_top_k(count: int) -> None:
    """Raises ConfigError if fewer than one token would be kept."""
    if count < 1:
        raise ConfigError("top_k must keep a token.", expected="top_k >= 1", got=str(count))


def check_top_p(mass: float) -> None:
    """Raises ConfigError if this is no share of the probability."""
    if not 0 < mass <= 1:
        raise ConfigError(
            "top_p is a share of the probability.", expected="0 < top_p <= 1", got=str(mass)
        )


def check_min_p(share: float) -> None:
    """Raises ConfigError if this is no share of the largest probability."""
    if not 0 <= share <= 1:
        raise ConfigError(
            "min_p is a share of the largest probability.",
            expected="0 <= min_p <= 1",
            got=str(share),
        )


def check_penalty(name: str, strength: float) -> None:
    """Raises ConfigError if a penalty on tokens that were written before is too strong."""
    if not -STRONGEST_PENALTY <= strength <= STRONGEST_PENALTY:
        raise ConfigError(
            f"the {name} penalty is out of range.",
            expected="-2 to 2; 0 is none, below 0 favours repetition",
            got=str(strength),
        )
