"""Sampling from a part of the distribution, and penalties on tokens that were written before.

Hypotheses have the model's own log-probabilities, without penalties and before the filters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt

from jumok.decoding.stepper import Scores, largest

USUAL_NUCLEUS = 256
"""Sorting a whole vocabulary takes longer than a step of a small model."""


BITS = 53
"""Those of a float64's fraction, with the one before it."""


class Draws:
    """Uniform numbers from 0 to 1 (below 1), one for each token of one text.

    Number n is a function of the seed, the text's place and n alone: the upper 53 bits of the
    numbers of Philox-4x64-10 with the key (seed, place) and the counter 1, 2, ..., four numbers for
    each value of the counter.

    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"; numpy.random.Philox.
    """

    def __init__(self, seed: int, place: int = 0) -> None:
        self._philox = np.random.Philox(key=np.array([seed % 2**64, place], np.uint64))

    def next(self) -> float:
        return (int(self._philox.random_raw()) >> (64 - BITS)) * 2.0**-BITS


@dataclass(frozen=True)
class Sampling:
    """From which part of the distribution a token is drawn; see `DecodingOptions`.

    Temperature comes first: below 1 it sharpens the distribution, above 1 it flattens it. Then only
    the `top_k` most probable tokens are permitted (of equals, the lower ids), only the smallest set
    of tokens with a total probability of `top_p` (Holtzman et al. 2020, section 3.1), and only
    tokens with at least `min_p` times the probability of the most probable one (Nguyen et al. 2024,
    section 3, algorithm 1). None: all.
    """

    temperature: float
    top_k: int | None
    top_p: float | None
    min_p: float | None

    def of(self, scores: Scores) -> Scores:
        """The log-probabilities, minus infinity where a token is not permitted."""
        scores = scores / np.float32(self.temperature)
        if self.top_k is not None:
            scores = _only(scores, _largest_places(scores, self.top_k))
        if self.top_p is not None and self.top_p < 1:
            scores = _only(scores, _nucleus(softmax(scores), self.top_p))
        if self.min_p:
            least = scores.max() + np.float32(log(self.min_p))
            scores = np.where(scores < least, np.float32(-np.inf), scores)
        return scores


class WrittenCounts:
    """How often one text has each token, and the penalties on these.

        score[t] * (repetition if count[t] > 0 else 1)
            - frequency * count[t] - presence * (count[t] > 0)

    Scores are log-probabilities. Tokens of the forced beginning, such as a prompt, are not counted.

    Source: OpenAI's API reference, "Frequency and presence penalties", where the counts are those
    of sampled tokens; Keskar et al. 2019, section 4.1, for the factor, there of logits.
    """

    def __init__(self, frequency: float, presence: float, repetition: float = 1.0) -> None:
        self._frequency, self._presence = np.float32(frequency), np.float32(presence)
        self._repetition = np.float32(repetition)
        self._counts: dict[int, int] = {}

    def note(self, token: int) -> None:
        self._counts[token] = self._counts.get(token, 0) + 1

    def penalized(self, scores: Scores) -> Scores:
        lower = scores.copy()
        for token, count in self._counts.items():
            lower[token] *= self._repetition
            lower[token] -= self._frequency * np.float32(count) + self._presence
        return lower


def draw_token(scores: Scores, uniform: float) -> int:
    """A token with the probabilities softmax(scores), by inverting the cumulative distribution.

    In float64, because a sum of 30,000 terms in float32 would shift the rare tokens.

    Args:
        uniform: from 0 to 1, below 1.
    """
    cumulative = softmax(scores).cumsum(dtype=np.float64)
    place = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    return min(int(place), len(scores) - 1)


def softmax(scores: Scores) -> Scores:
    """exp(scores) / sum exp(scores)"""
    powers = np.exp(scores - scores.max())
    shares: Scores = powers / powers.sum()
    return shares


def repeats(written: Sequence[int], count: int) -> list[int]:
    """The tokens that would complete an n-gram of `count` tokens a second time.

    Source: Paulus et al. 2018, section 2.5 (no repeated trigrams).
    """
    last = tuple(written[len(written) - count + 1 :])
    ends = range(count - 1, len(written))
    return [written[i] for i in ends if tuple(written[i - count + 1 : i]) == last]


def _nucleus(probabilities: Scores, mass: float) -> np.ndarray:
    """The fewest places with a total probability of `mass`, at least one."""
    few = _largest_places(probabilities, USUAL_NUCLEUS)
    whole = probabilities[few].sum() >= mass
    places = few if whole else _largest_places(probabilities, len(probabilities))
    values = probabilities[places]
    before = values.cumsum(dtype=np.float64).astype(np.float32) - values
    return places[before < np.float32(mass)]


def _largest_places(scores: Scores, count: int) -> npt.NDArray[np.int64]:
    places: npt.NDArray[np.int64] = largest(scores[None], count)[0][0]
    return places


def _only(scores: Scores, places: np.ndarray) -> Scores:
    kept = np.full_like(scores, -np.inf)
    kept[places] = scores[places]
    return kept
