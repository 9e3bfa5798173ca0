"""Greedy decoding: the most probable token at every step."""

from typing import TypeVar

from jumok.decoding.autoregressive import decode_stepwise
from jumok.decoding.filters import place_of_largest
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
) -> list[Hypothesis]:
    """The most probable token at every step, the lower id of equals; one hypothesis a row.

    Args:
        ranker: computes the score of each hypothesis; it does not choose. None: the
            log-probability.
        prefixes: the forced beginning of each row, without START. None: nothing.

    Raises:
        ModelError: a prefix that cannot be forced, or logits that are not numbers.
    """
    return decode_stepwise(decoder, memory, limits, place_of_largest, ranker or Ranker(), prefixes)
