"""Sampling: every next token is sampled from the model's distribution, or from a part of it."""

from collections.abc import Sequence
from typing import TypeVar

import torch

from jumok.decoding.autoregressive import decode_stepwise
from jumok.decoding.drawing import Draws
from jumok.decoding.filters import Filter, Penalties, Rows, Scores
from jumok.decoding.hypothesis import Hypothesis
from jumok.decoding.limits import Limits, Prefixes
from jumok.decoding.rank import Ranker
from jumok.errors import ConfigError
from jumok.models.memory import Decoder, Memory
from jumok.shapes import Float, Int, Tensor

State = TypeVar("State")


def sample(
    decoder: Decoder[State],
    memory: Memory,
    limits: Limits,
    seed: int,
    filters: Sequence[Filter] = (),
    samples: int = 1,
    ranker: Ranker | None = None,
    prefixes: Prefixes | None = None,
    penalties: Penalties | None = None,
) -> list[list[Hypothesis]]:
    """`samples` independent hypotheses for every row of the memory, in the order of sampling.

    Their log-probabilities are the model's own, before the filters and penalties, so that they can
    be compared with those of other decoding methods.

    Args:
        seed: the samples of a row depend on it and on the row's place in the batch, not on what the
            other rows are.
        filters: applied in this order; usually temperature, top_k, top_p, min_p.
        ranker: computes the score of each hypothesis; it does not choose. None: the
            log-probability.
        prefixes: the forced beginning of each row, without START. None: nothing.
        penalties: on tokens that a row has already. None: none.

    Raises:
        ConfigError: `samples` is below 1.
        ModelError: a prefix that cannot be forced, or logits that are not numbers.
    """
    if samples < 1:
        raise ConfigError(
            "the number of samples must be at least 1.", expected="samples >= 1", got=str(samples)
        )

    batch = len(memory.states)
    rows = torch.arange(batch, device=memory.states.device).repeat_interleave(samples)
    repeated = None if prefixes is None else [prefix for prefix in prefixes for _ in range(samples)]
    beginnings = [0] * len(rows) if repeated is None else list(map(len, repeated))
    choose = (penalties or Penalties()).before(Sampler(seed, beginnings, filters), beginnings)
    drawn = decode_stepwise(
        decoder, memory.select(rows), limits, choose, ranker or Ranker(), repeated
    )
    return [drawn[row * samples : (row + 1) * samples] for row in range(batch)]


class Sampler:
    """Draws a token for each row, each row with numbers of its own (`Draws`).

    Args:
        seed: of all rows; the place of a row is its own.
        beginnings: the length of each row's forced beginning, for which nothing is drawn.
        filters: applied in this order; usually temperature, top_k, top_p, min_p.
    """

    def __init__(
        self, seed: int, beginnings: Sequence[int], filters: Sequence[Filter] = ()
    ) -> None:
        self._draws = [Draws(seed, place) for place in range(len(beginnings))]
        self._beginnings, self._filters = beginnings, filters

    def __call__(
        self, scores: Scores, rows: Rows, written: Int[Tensor, "batch length"]
    ) -> Int[Tensor, " batch"]:
        for apply in self._filters:
            scores = apply(scores)
        length = written.shape[1]
        uniform = [
            self._draws[row].next() if length >= self._beginnings[row] else 0.0
            for row in rows.tolist()
        ]
        return draw(scores, torch.tensor(uniform, dtype=torch.float64, device=scores.device))


def draw(scores: Scores, uniform: Float[Tensor, " batch"]) -> Int[Tensor, " batch"]:
    """One token a row with the probabilities softmax(scores).

    It inverts the cumulative distribution, which takes a tenth of `torch.multinomial`'s time on a
    CPU; in float64, because a sum of 30,000 terms in float32 would shift the rare tokens.

    Args:
        uniform: from 0 to 1, below 1, in float64, so that a token of probability 0 is never drawn.
    """
    cumulative = scores.softmax(1).cumsum(1, dtype=torch.float64)
    drawn = torch.searchsorted(cumulative, uniform[:, None] * cumulative[:, -1:], right=True)[:, 0]
    # NaN compares as beyond every sum; its log-probability, also NaN, stops the decoding
    return drawn.clamp(max=scores.shape[1] - 1)
