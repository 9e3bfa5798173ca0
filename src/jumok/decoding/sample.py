"""Sampling: every next token is drawn from the model's distribution, or from part of it."""

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
    """`samples` independent hypotheses for every row of the memory, in the order they were drawn.

    Their log-probabilities are the model's own, before the filters, so that they can be compared
    with those of other ways to decode.

    Args:
        generator: on the memory's device. The draws of a row depend on the rows beside it.
        filters: applied in this order; usually temperature, top_k, top_p.
        ranker: gives each hypothesis its score; chooses nothing here. None: the log-probability.
        prefixes: what each row has to begin with, without START. None: nothing.

    Raises:
        ConfigError: `samples` is below 1.
        ModelError: a prefix that cannot be forced, or logits that are not numbers.
    """
    if samples < 1:
        raise ConfigError(
            "At least one sample is drawn.", expected="samples >= 1", got=str(samples)
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
    """Draws one token a row from what the filters leave of log-probabilities."""

    def choose(scores: Float[Tensor, "batch vocabulary"]) -> Int[Tensor, " batch"]:
        for apply in filters:
            scores = apply(scores)
        return draw(scores, generator)

    return choose


def draw(
    scores: Float[Tensor, "batch vocabulary"], generator: torch.Generator
) -> Int[Tensor, " batch"]:
    """One token a row with the probabilities softmax(scores).

    By inverting the cumulative distribution, which takes a tenth of `torch.multinomial`'s time on
    a CPU. In float64 because 30,000 terms in float32 would shift the rare tokens.
    """
    cumulative = scores.softmax(1).cumsum(1, dtype=torch.float64)
    # float32 draws stay below 1 in float64, so a token without probability can never be drawn
    uniform = torch.rand((len(scores), 1), generator=generator, device=scores.device)
    drawn = torch.searchsorted(cumulative, uniform * cumulative[:, -1:], right=True)[:, 0]
    # NaN lies beyond every sum; its log-probability, NaN too, is what stops the decoding
    return drawn.clamp(max=scores.shape[1] - 1)
