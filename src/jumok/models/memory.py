"""The interfaces of all systems: the Memory that an encoder writes, and decoders that read it."""

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from torch import nn

from jumok.attention.masks import Documents
from jumok.attention.observe import sites_of
from jumok.kernels.linear import Projection
from jumok.kernels.noise import Noise
from jumok.layers.pooling import mean_of_real
from jumok.shapes import Allowed, Float, Int, States, Tensor

State = TypeVar("State")


@dataclass(frozen=True)
class Memory:
    """What an encoder wrote: one vector a position, and which positions are real.

    Attributes:
        states: (batch source dim).
        allowed: (batch source), True where a position is real. None where all are: exact-length
            batches carry no padding, and attention without a mask is faster.
        lengths: the number of positions of each row's source, where the Memory has another number
            (one context vector for a whole sentence). None where it has the same.
        documents: where several sources share a row; None: a row is one source.
    """

    states: States
    allowed: Allowed | None = None
    lengths: Int[Tensor, " batch"] | None = None
    documents: Documents | None = None

    def select(self, rows: Int[Tensor, " rows"]) -> "Memory":
        """The memories of these rows, in this order; rows may be repeated or left out."""
        assert self.documents is None, "rows that sources share are for training"
        allowed = None if self.allowed is None else self.allowed[rows]
        lengths = None if self.lengths is None else self.lengths[rows]
        return Memory(self.states[rows], allowed, lengths)

    def mean(self) -> Float[Tensor, "batch dim"]:
        """The mean of each row's real positions."""
        return mean_of_real(self.states, self.allowed)


@runtime_checkable  # the tests check annotations while they run
class Decoder(Protocol[State]):
    """A model that reads a Memory and writes. Decoding uses these four methods only."""

    vocabulary_size: int

    def start(self, memory: Memory) -> State:
        """The state before the first token."""
        ...

    def step(
        self, tokens: Int[Tensor, " batch"], state: State
    ) -> tuple[Float[Tensor, "batch vocabulary"], State]:
        """Reads one token a row; returns the logits of the next one. Consumes `state`."""
        ...

    def reorder(self, state: State, rows: Int[Tensor, " rows"]) -> State:
        """The state whose row i is the old row rows[i]; rows may repeat, be dropped and move."""
        ...

    def forward(
        self, memory: Memory, tokens: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocabulary"]:
        """The logits after every prefix of `tokens` at once, as in training."""
        ...


def logits_of(
    decoder: Decoder[State], memory: Memory, tokens: Int[Tensor, "batch target"]
) -> Float[Tensor, "batch target vocabulary"]:
    """The logits after every prefix, by a call of the module, so that its hooks run."""
    run = decoder if isinstance(decoder, nn.Module) else decoder.forward
    logits: Tensor = run(memory, tokens)
    return logits


@runtime_checkable
class PrefillDecoder(Decoder[State], Protocol[State]):
    """A decoder that can read several tokens in one pass: a prompt costs what one step costs."""

    def read_all(
        self, tokens: Int[Tensor, "batch new"], state: State
    ) -> tuple[Float[Tensor, "batch new vocabulary"], State]:
        """Reads `tokens` from left to right; returns the logits after each. Consumes `state`.

        The same as a step for each column.
        """
        ...


def read(
    decoder: Decoder[State], tokens: Int[Tensor, "batch new"], state: State
) -> tuple[Float[Tensor, "batch new vocabulary"], State]:
    """The logits after each token: in one pass where the decoder can, otherwise step by step."""
    if tokens.shape[1] > 1 and isinstance(decoder, PrefillDecoder):
        return decoder.read_all(tokens, state)
    columns = []
    for column in tokens.unbind(1):
        logits, state = decoder.step(column, state)
        columns.append(logits)
    return columns[0][:, None] if len(columns) == 1 else torch.stack(columns, dim=1), state


@runtime_checkable
class TrainableDecoder(Decoder[State], Protocol[State]):
    """A decoder that can be trained: its states are available before they become logits.

    Attributes:
        output: states to logits; training projects only the real positions.
        packs: whether several documents may share a row, so that `hidden` takes their numbers too
            (`attention/masks.py`): captions of one image, which then read one Memory.
    """

    output: Projection
    packs: bool

    def hidden(
        self, memory: Memory, tokens: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target dim"]:
        """The states from which the logits after every prefix of `tokens` are read."""
        ...


class SequenceToSequence(nn.Module):
    """An encoder that writes a Memory and a decoder that reads it.

    Attributes:
        noise: the source of every dropout mask of this model.
        decoder: a TrainableDecoder.
        one_vector: whether the Memory is one vector: attention to it, if there is any, has
            nothing to choose from.
    """

    noise: Noise
    decoder: Any
    one_vector: bool = False

    @property
    def cross_sites(self) -> tuple[str, ...]:
        """The paths of the decoder's cross-attentions, the lowest layer's first; empty where it has
        none, and where the Memory is one vector."""
        return () if self.one_vector else sites_of(self, "cross")

    def encode(self, source: Tensor, allowed: Allowed | None = None) -> Memory:
        """Reads the source once: tokens, or images.

        Args:
            allowed: True where a position is real; None where all are.
        """
        raise NotImplementedError
