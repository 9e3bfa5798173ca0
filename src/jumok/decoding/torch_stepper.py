"""Steps of a decoder on torch."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Generic

import numpy as np
import torch

from jumok.decoding.beam import Cover, Report
from jumok.decoding.constraints import Constraints
from jumok.decoding.hypothesis import Hypothesis, SameTokens
from jumok.decoding.limits import Prefixes
from jumok.decoding.methods import decode_with
from jumok.decoding.options import DecodingOptions
from jumok.decoding.stepper import (
    NextTokens,
    Reading,
    SentenceReadings,
    Stepper,
    asked_tokens,
    reduced,
)
from jumok.models.memory import Decoder, Memory, State, read
from jumok.shapes import Float, Int, Tensor

WORTH_LEAVING = 0.25
"""Leaving out rows that have ended copies the state of all others, so it waits until it saves this
share."""


def decode(
    decoder: Decoder[State],
    memory: Memory,
    options: DecodingOptions,
    prefixes: Prefixes | None = None,
    constraints: Sequence[Constraints] | None = None,
    same: SameTokens | None = None,
    cover: Cover | None = None,
    report: Report | None = None,
) -> list[list[Hypothesis]]:
    """`options.nbest` hypotheses for every row of the memory, best first (samples: as sampled).

    Args:
        prefixes, constraints, same, cover, report: as in `decode_with`.

    Raises:
        ConfigError, ModelError: as `decode_with`.
    """
    return decode_with(
        TorchStepper(decoder, memory), lengths_of(memory), options, prefixes, constraints, same,
        cover, report,
    )  # fmt: skip


def lengths_of(memory: Memory) -> list[int]:
    """The number of real positions of each source."""
    batch, positions, _ = memory.states.shape
    if memory.lengths is not None:
        real: list[int] = memory.lengths.tolist()
        return real
    return [positions] * batch if memory.allowed is None else memory.allowed.sum(1).tolist()


class TorchStepper(Stepper[Tensor], Generic[State]):
    """A decoder on torch, which keeps a state of all rows that it has read last."""

    def __init__(self, decoder: Decoder[State], memory: Memory) -> None:
        self.vocabulary = decoder.vocabulary_size
        self._decoder, self._memory = decoder, memory
        self._state: State | None = None
        self._rows: list[tuple[int, int] | None] = []  # sentence and slot; None: it has ended

    @torch.inference_mode()
    def scores(self, rows: SentenceReadings) -> Float[Tensor, "rows new vocabulary"]:
        """The log-probabilities after each token that is read."""
        device = self._memory.states.device
        tokens = torch.tensor([reading.tokens for _, reading in rows], device=device)
        if self._state is None:
            at, state = None, self._begin([sentence for sentence, _ in rows])
            self._rows = [(sentence, reading.slot) for sentence, reading in rows]
        else:
            at, state = self._moved(rows, self._state)
        if at is not None:
            every = tokens.new_zeros(len(self._rows), tokens.shape[1])
            every[at] = tokens
            tokens = every
        logits, state = read(self._decoder, tokens, state)
        self._state = state
        logits = logits if at is None else logits[at]
        return logits.float().log_softmax(2)

    def _begin(self, sentences: list[int]) -> State:
        memory = self._memory
        if sentences != list(range(len(memory.states))):
            memory = memory.select(torch.tensor(sentences, device=memory.states.device))
        return self._decoder.start(memory)

    def _moved(
        self, rows: SentenceReadings, state: State
    ) -> tuple[Int[Tensor, " rows"] | None, State]:
        """The state for these rows. If that has more rows, also where these are in it."""
        device = self._memory.states.device
        known = {row: place for place, row in enumerate(self._rows)}
        parents = []
        for sentence, reading in rows:
            before = reading.ancestors
            slot = reading.slot if before is None else int(before[-1])
            parents.append(known[sentence, slot])
        new: list[tuple[int, int] | None] = [(sentence, one.slot) for sentence, one in rows]
        if parents == list(range(len(self._rows))):
            self._rows = new
            return None, state
        at = torch.tensor(parents, device=device)
        in_order = all(one < other for one, other in pairwise(parents))
        if not in_order or len(rows) <= len(self._rows) * (1 - WORTH_LEAVING):
            self._rows = new
            return None, self._decoder.reorder(state, at)
        self._rows = [None] * len(self._rows)
        for place, row in zip(parents, new, strict=True):
            self._rows[place] = row
        return at, state

    def reduced(self, scores: Tensor, readings: Sequence[Reading]) -> NextTokens:
        if scores.device.type == "cpu":
            return reduced(scores.numpy(), readings)
        return reduced_on_device(scores, readings)

    def mean(self, members: Sequence[Tensor]) -> Tensor:
        return torch.stack(list(members)).logsumexp(0) - np.log(len(members))


def reduced_on_device(
    scores: Float[Tensor, "rows new vocabulary"], readings: Sequence[Reading]
) -> NextTokens:
    """What the readings want, of which only that is copied to the host; see `stepper.reduced`."""
    last, device = scores[:, -1], scores.device
    closed = [(row, one.without) for row, one in enumerate(readings) if one.without is not None]
    if closed:
        at, tokens = torch.tensor(closed, device=device).T
        last[at, tokens] = -torch.inf
        last[at] = last[at].log_softmax(1)
    count = min(max((one.best for one in readings), default=0), last.shape[1])
    values, best = largest_on_device(last, count)
    rows, asked = (torch.from_numpy(each).to(device) for each in asked_tokens(readings))
    read_now = torch.tensor([one.tokens[1:] for one in readings], device=device).long()
    begun = scores[:, :-1].gather(2, read_now.view(len(readings), -1, 1))[..., 0]
    floats = torch.cat([values, last[rows, asked], begun], dim=1).cpu().numpy()
    whole = last.cpu().numpy() if any(one.whole for one in readings) else None
    values_here, asked_here, begun_here = np.split(floats, [count, count + asked.shape[1]], axis=1)
    return NextTokens(best.cpu().numpy(), values_here, asked_here, begun_here, whole)


def largest_on_device(
    scores: Float[Tensor, "rows size"], count: int
) -> tuple[Float[Tensor, "rows {count}"], Int[Tensor, "rows {count}"]]:
    """The `count` largest scores of each row in falling order, and their places.

    Of equal scores the one further left comes first, which `torch.topk` does not promise.
    """
    if count >= scores.shape[1] // 2:
        values, places = scores.sort(dim=1, descending=True, stable=True)
        return values[:, :count], places[:, :count]
    values, places = scores.topk(count + 1, dim=1)
    # topk may choose the wrong ones of equals only where they reach beyond the first `count`
    over_edge = (values[:, -1] == values[:, -2]) & (values[:, -1] > -torch.inf)
    places, order = places[:, :count].sort(dim=1)
    values, order = values.gather(1, order).sort(dim=1, descending=True, stable=True)
    places = places.gather(1, order)
    if over_edge.any():
        rows = over_edge.nonzero()[:, 0]
        sorted_values, sorted_places = scores[rows].sort(dim=1, descending=True, stable=True)
        values[rows], places[rows] = sorted_values[:, :count], sorted_places[:, :count]
    return values, places
