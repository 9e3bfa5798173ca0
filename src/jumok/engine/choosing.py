"""The next token from logits: the most probable one, or a sample. The twin of `decoding/sample.py`
and `decoding/filters.py` without torch: from equal logits and seeds come equal tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jumok.engine.packing import Array

MASK, STEP = (1 << 24) - 1, 2.0**-24
"""torch's float32 samples are the lower 24 bits of the generator's numbers, divided by 2^24."""


@dataclass(frozen=True)
class Sampling:
    """From which part of the distribution a token is drawn; see `DecodingOptions`."""

    temperature: float
    top_k: int | None
    top_p: float | None

    def of(self, scores: Array) -> Array:
        """The log-probabilities, minus infinity where a token is not permitted."""
        scores = scores / np.float32(self.temperature)
        if self.top_k is not None:
            scores = _only(scores, largest(scores, min(self.top_k, len(scores))))
        if self.top_p is not None and self.top_p < 1:
            scores = _only(scores, _nucleus(softmax(scores), self.top_p))
        return scores


class Draws:
    """The numbers of `torch.rand` with this seed, on a CPU: both are those of MT19937."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.RandomState(seed & 0xFFFFFFFF)

    def draw(self, scores: Array) -> int:
        """A token with the probabilities softmax(scores): see `decoding/sample.py`."""
        cumulative = softmax(scores).cumsum(dtype=np.float64)
        bits = int(self._generator.randint(0, 1 << 32, dtype=np.uint32))
        place = np.searchsorted(cumulative, (bits & MASK) * STEP * cumulative[-1], side="right")
        return min(int(place), len(scores) - 1)


def softmax(scores: Array) -> Array:
    """exp(scores) / sum exp(scores)"""
    powers = np.exp(scores - scores.max())
    shares: Array = powers / powers.sum()
    return shares


def log_softmax(logits: Array) -> Array:
    """The log-probabilities."""
    apart = logits - logits.max()
    values: Array = apart - np.log(np.exp(apart).sum())
    return values


def largest(scores: Array, count: int) -> np.ndarray:
    """The places of the `count` largest scores, falling; of equals the lower place first."""
    if count < len(scores):
        least = np.partition(scores, -count)[-count]
        above, equal = np.flatnonzero(scores > least), np.flatnonzero(scores == least)
        places = np.concatenate((above, equal[: count - len(above)]))
    else:
        places = np.arange(len(scores))
    return places[np.lexsort((places, -scores[places]))]


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
