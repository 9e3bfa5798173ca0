"""One hypothesis a row, chosen token by token: the loop of greedy decoding and sampling.

Tokens that are forced at the beginning of all rows are read at once.
"""

from typing import TypeVar

import torch

from jumok.decoding.filters import FREE, Choose
from jumok.decoding.hypothesis import Hypothesis
from jumok.decoding.limits import Limits, Prefixes
from jumok.decoding.rank import Ranker
from jumok.halting import heed
from jumok.models.memory import Decoder, Memory, PrefillDecoder
from jumok.shapes import Float, Int, Tensor

State = TypeVar("State")

# Removing finished rows copies the state of all others, so it waits until it saves this share.
WORTH_LEAVING = 0.25


@torch.inference_mode()
def decode_stepwise(
    decoder: Decoder[State],
    memory: Memory,
    limits: Limits,
    choose: Choose,
    ranker: Ranker,
    prefixes: Prefixes | None = None,
) -> list[Hypothesis]:
    """Writes one hypothesis a row, the tokens of which `choose` chooses."""
    longest = limits.longest(memory)
    forced = limits.forced_tokens(prefixes, longest, decoder.vocabulary_size)
    batch = len(longest)
    if batch == 0:
        return []
    width = int(longest.max()) + 1
    # one column more than is ever written, so that every row ends with END
    written = torch.full((batch, width + 1), limits.end, device=longest.device)
    log_probabilities = torch.zeros((batch, width), device=longest.device)
    rows, live, maximum = torch.arange(batch, device=longest.device), longest > 0, longest
    tokens = torch.full_like(rows, limits.start)
    state = decoder.start(memory)
    beginning = forced_everywhere(forced)
    if beginning:
        log_probabilities[:, :beginning], state = read_beginning(
            decoder, state, forced[:, :beginning], limits
        )
        written[:, :beginning] = forced[:, :beginning]
        tokens = forced[:, beginning - 1]
    for length in range(beginning, width):
        heed()
        logits, state = decoder.step(tokens, state)
        forced_now = forced[rows, length] if length < forced.shape[1] else None
        so_far = written[rows, :length]
        scores = limits.log_probabilities(logits, length, forced_now, so_far)
        tokens = choose(scores, rows, so_far)
        written[rows, length] = tokens
        log_probabilities[rows, length] = scores.gather(1, tokens[:, None])[:, 0]
        live &= (tokens != limits.end) & (maximum > length)
        still = int(live.sum())
        if still == 0:
            break
        if still <= len(rows) * (1 - WORTH_LEAVING):
            kept = live.nonzero()[:, 0]
            state = decoder.reorder(state, kept)
            rows, live, maximum, tokens = rows[kept], live[kept], maximum[kept], tokens[kept]
    return _read(written, log_probabilities, longest, limits.end, ranker)


def _read(
    written: Int[Tensor, "batch columns"],
    log_probabilities: Tensor,
    longest: Int[Tensor, " batch"],
    end: int,
    ranker: Ranker,
) -> list[Hypothesis]:
    """The hypotheses; a finished row is written to until it is removed, so END ends each one."""
    hypotheses = []
    for tokens, values, maximum in zip(
        written.tolist(), log_probabilities.tolist(), longest.tolist(), strict=True
    ):
        length = min(tokens.index(end), maximum)
        finished = tokens[length] == end
        hypotheses.append(ranker.rate(tokens[:length], values[: length + finished]))
    return hypotheses


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
