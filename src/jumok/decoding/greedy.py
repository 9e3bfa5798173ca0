"""Greedy decoding: the most probable token at every step."""

from typing import TypeVar

from jumok.decoding.autoregressive import decode_stepwise
from jumok.decoding.filters import Penalties, most_probable
from jumok.decoding.hypothesis import Hypothesis
from jumok.decoding.limits import Limits, Prefixes
from jumok.decoding.rank import Ranker
from jumok.models.memory import Decoder, Memory

State = TypeVar("State")


def greedy(
    decoder: Decoder[State],
    memory: Memory,
    limits: Limits,
    ranker: Ranker | None = None,
    prefixes: Prefixes | None = None,
    penalties: Penalties | None = None,
) -> list[Hypothesis]:
    """The most probable token at every step, the lower id of equals; one hypothesis a row.

    Args:
        ranker: computes the score of each hypothesis; it does not choose. None: the
            log-probability.
        prefixes: the forced beginning of each row, without START. None: nothing.
        penalties: on tokens that a row has already. None: none.

    Raises:
        ModelError: a prefix that cannot be forced, or logits that are not numbers.
    """
    beginnings = [0] * len(memory.states) if prefixes is None else list(map(len, prefixes))
    choose = (penalties or Penalties()).before(most_probable, beginnings)
    return decode_stepwise(decoder, memory, limits, choose, ranker or Ranker(), prefixes)
