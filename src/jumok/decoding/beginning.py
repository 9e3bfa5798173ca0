"""Forced beginnings: the tokens that are forced in all rows are read at once."""

from typing import TypeVar

import torch

from jumok.decoding.filters import FREE
from jumok.decoding.limits import Limits
from jumok.models.memory import Decoder, PrefillDecoder
from jumok.shapes import Float, Int, Tensor

State = TypeVar("State")


def forced_everywhere(forced: Int[Tensor, "batch prefix"]) -> int:
    """The number of first tokens that are forced in every row."""
    free = (forced == FREE).any(0)
    return int(free.int().argmax()) if bool(free.any()) else forced.shape[1]


def read_beginning(
    decoder: Decoder[State],
    state: State,
    forced: Int[Tensor, "batch beginning"],
    limits: Limits,
) -> tuple[Float[Tensor, "batch beginning"], State]:
    """Reads START and all of `forced` but its last token, which the next step reads.

    Returns the log-probability of each token of `forced`. A PrefillDecoder reads in one pass, any
    other decoder step by step.
    """
    start = torch.full_like(forced[:, :1], limits.start)
    logits, state = read(decoder, torch.cat([start, forced[:, :-1]], dim=1), state)
    columns = [
        limits.log_probabilities(logits[:, length], length, forced[:, length]).gather(
            1, forced[:, length : length + 1]
        )
        for length in range(forced.shape[1])
    ]
    return torch.cat(columns, dim=1), state


def read(
    decoder: Decoder[State], tokens: Int[Tensor, "batch new"], state: State
) -> tuple[Float[Tensor, "batch new vocabulary"], State]:
    """The logits after each token: in one pass where the decoder can, otherwise step by step."""
    if isinstance(decoder, PrefillDecoder):
        return decoder.read_all(tokens, state)
    columns = []
    for column in tokens.unbind(1):
        logits, state = decoder.step(column, state)
        columns.append(logits)
    return torch.stack(columns, dim=1), state
