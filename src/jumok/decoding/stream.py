"""One text, token by token, each yielded as soon as it is chosen."""

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import TypeVar

import torch

from jumok.decoding.autoregressive import read_beginning
from jumok.decoding.filters import Choose
from jumok.decoding.limits import Limits
from jumok.decoding.rank import no_probability
from jumok.halting import heed
from jumok.models.memory import Decoder, Memory
from jumok.shapes import Tensor

State = TypeVar("State")


@torch.inference_mode()
def stream(
    decoder: Decoder[State],
    memory: Memory,
    limits: Limits,
    choose: Choose,
    prefix: Sequence[int] = (),
    watch: Callable[[Tensor], None] | None = None,
) -> Iterator[int]:
    """The tokens that follow `prefix`, up to END or the maximum length, without END.

    They are those that `decode_stepwise` writes for this row.

    Args:
        memory: of one row.
        choose: chooses every token.
        watch: receives the log-probabilities of every step, (vocabulary), before its token.

    Raises:
        ModelError: a prefix that cannot be forced, or logits that are not numbers.
    """
    longest = limits.longest(memory)
    forced = limits.forced_tokens([prefix], longest, decoder.vocabulary_size)
    state = decoder.start(memory)
    tokens = torch.full_like(longest, limits.start)
    if len(prefix):
        _, state = read_beginning(decoder, state, forced, limits)
        tokens = forced[:, -1]
    written, row = forced, torch.zeros_like(longest)
    for length in range(len(prefix), int(longest)):
        heed()
        logits, state = decoder.step(tokens, state)
        scores = limits.log_probabilities(logits, length, written=written)
        tokens = choose(scores, row, written)
        token = int(tokens)
        if not isfinite(float(scores[0, token])):
            raise no_probability(f"{float(scores[0, token])} after {length} tokens")
        if token == limits.end:
            return
        if watch is not None:
            watch(scores[0])
        yield token
        written = torch.cat([written, tokens[:, None]], dim=1)
