"""The next token from scores: the most probable one, or a sample. The twin of `decoding/sample.py`
and `decoding/filters.py` without torch: from equal scores and random numbers come equal tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from jumok.engine.packing import Array

BLOCK = 64


@dataclass(frozen=True)
class Sampling:
    """From which part of the distribution a token is drawn; see `DecodingOptions`."""

    temperature: float
    top_k: int | None
    top_p: float | None
    min_p: float | None

    def of(self, scores: Array) -> Array:
        """The log-probabilities, minus infinity where a token is not permitted."""
        scores = scores / np.float32(self.temperature)
        if self.top_k is not None:
            scores = _only(scores, largest(scores, min(self.top_k, len(scores))))
        if self.top_p is not None and self.top_p < 1:
            scores = _only(scores, _nucleus(softmax(scores), self.top_p))
        if self.min_p:
            least = scores.max() + np.float32(log(self.min_p))
            scores = np.where(scores < least, np.float32(-np.inf), scores)
        return scores


class WrittenCounts:
    """How often one text has each token, and the penalties on these; see `filters.Penalties`."""

    def __init__(self, frequency: float, presence: float, vocabulary: int) -> None:
        self._frequency, self._presence = np.float32(frequency), np.float32(presence)
        self._counts = np.zeros(vocabulary, np.float32)

    def note(self, token: int) -> None:
        """Counts a token that was written."""
        self._counts[token] += 1

    def penalised(self, scores: Array) -> Array:
        """The scores less the penalties."""
        written = np.flatnonzero(self._counts)
        lost = self._frequency * self._counts[written] + self._presence
        lower = scores.copy()
        lower[written] -= lost
        return lower


def draw(scores: Array, uniform: float) -> int:
    """A token with the probabilities softmax(scores): see `decoding/sample.py`.

    Args:
        uniform: from 0 to 1, below 1.
    """
    cumulative = softmax(scores).cumsum(dtype=np.float64)
    place = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    return min(int(place), len(scores) - 1)


def softmax(scores: Array) -> Array:
    """exp(scores) / sum exp(scores)"""
    powers = np.exp(scores - scores.max())
    shares: Array = powers / powers.sum()
    return shares


def largest(scores: Array, count: int) -> np.ndarray:
    """The places of the `count` largest scores, falling; of equals the lower place first.

    The `count`-th largest of the blocks' maxima is at most the `count`-th largest score, and few
    scores reach it; only these are sorted (see `decoding/filters.py`).
    """
    blocks = len(scores) // BLOCK
    if count < blocks:
        maxima = scores[: blocks * BLOCK].reshape(blocks, BLOCK).max(axis=1)
        places = np.flatnonzero(scores >= np.partition(maxima, -count)[-count])
    else:
        places = np.arange(len(scores))
    return places[np.lexsort((places, -scores[places]))][:count]


def repeats(written: Sequence[int], count: int) -> list[int]:
    """The tokens that would complete an n-gram of `count` tokens a second time."""
    last = tuple(written[len(written) - count + 1 :])
    ends = range(count - 1, len(written))
    return [written[i] for i in ends if tuple(written[i - count + 1 : i]) == last]


def _nucleus(probabilities: Array, mass: float) -> np.ndarray:
    """The fewest places with a total probability of `mass`, at least one."""
    few = largest(probabilities, min(256, len(probabilities)))
    places = few if probabilities[few].sum() >= mass else largest(probabilities, len(probabilities))
    values = probabilities[places]
    before = values.cumsum(dtype=np.float64).astype(np.float32) - values
    return places[before < np.float32(mass)]


def _only(scores: Array, places: np.ndarray) -> Array:
    kept = np.full_like(scores, -np.inf)
    kept[places] = scores[places]
    return kept
