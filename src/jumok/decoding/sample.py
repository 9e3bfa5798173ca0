"""Sampling: every next token is sampled from the model's distribution, or from a part of it."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

from jumok.decoding.autoregressive import decode_stepwise
from jumok.decoding.filters import Filter
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
    generator: torch.Generator,
    filters: Sequence[Filter] = (),
    samples: int = 1,
    ranker: Ranker | None = None,
    prefixes: Prefixes | None = None,
) -> list[list[Hypothesis]]:
    """`samples` independent hypotheses for every row of the memory, in the order of sampling.

    Their log-probabilities are the model's own, before the filters, so that they can be compared
    with those of other decoding methods.

    Args:
        generator: on the memory's device. The samples of a row depend on the batch's other rows.
        filters: applied in this order; usually temperature, top_k, top_p.
        ranker: computes the score of each hypothesis; it does not choose. None: the
            log-probability.
        prefixes: the forced beginning of each row, without START. None: nothing.

    Raises:
        ConfigError: `samples` is below 1.
        ModelError: a prefix that cannot be forced, or logits that are not numbers.
    """
    if samples < 1:
        raise ConfigError(
            "the number of samples must be at least 1.", expected="samples >= 1", got=str(samples)
        )

    choose = drawer(generator, filters)
    batch = len(memory.states)
    rows = torch.arange(batch, device=memory.states.device).repeat_interleave(samples)
    repeated = None if prefixes is None else [prefix for prefix in prefixes for _ in range(samples)]
    drawn = decode_stepwise(
        decoder, memory.select(rows), limits, choose, ranker or Ranker(), repeated
    )
    return [drawn[row * samples : (row + 1) * samples] for row in range(batch)]


def drawer(
    generator: torch.Generator, filters: Sequence[Filter]
) -> Callable[[Float[Tensor, "batch vocabulary"]], Int[Tensor, " batch"]]:
    """The function that samples one token a row from the filtered log-probabilities."""

    def choose(scores: Float[Tensor, "batch vocabulary"]) -> Int[Tensor, " batch"]:
        for apply in filters:
            scores = apply(scores)
        return draw(scores, generator)

    return choose


def draw(
    scores: Float[Tensor, "batch vocabulary"], generator: torch.Generator
) -> Int[Tensor, " batch"]:
    """One token a row with the probabilities softmax(scores).

    It inverts the cumulative distribution, which takes a tenth of `torch.multinomial`'s time on a
    CPU; in float64, because a sum of 30,000 terms in float32 would shift the rare tokens.
    """
    cumulative = scores.softmax(1).cumsum(1, dtype=torch.float64)
    # float32 samples stay below 1 in float64, so a token of probability 0 is never sampled
    uniform = torch.rand((len(scores), 1), generator=generator, device=scores.device)
    drawn = torch.searchsorted(cumulative, uniform * cumulative[:, -1:], right=True)[:, 0]
    # NaN compares as beyond every sum; its log-probability, also NaN, stops the decoding
    return drawn.clamp(max=scores.shape[1] - 1)
