"""The block that both stacks repeat.

    encoder block: self-attention, feed-forward
    decoder block: masked self-attention, attention over the Memory, feed-forward

Each part is followed by a residual connection and a norm (`layers/residual.py`).

Source: Vaswani et al. 2017, section 3.1.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from torch import nn

from jumok.attention.cache import KeyValueCache
from jumok.attention.multihead import MultiHeadAttention
from jumok.kernels.linear import LaidOut
from jumok.layers.block_step import BlockStep, block_step
from jumok.layers.feedforward import FeedForward
from jumok.layers.residual import PreNorm
from jumok.shapes import Bool, Float, Int, States, Tensor

Mask = Bool[Tensor, "#batch 1 #length key"]
MemoryMask = Bool[Tensor, "#batch 1 1 source"]


@dataclass
class BlockState:
    """What a decoder block keeps between steps: its own past, and the Memory's keys and values."""

    past: KeyValueCache
    memory: tuple[Tensor, Tensor] | None


class Block(LaidOut):
    """One layer of an encoder, or of a decoder if it has a cross-attention.

    Args:
        residual: makes what follows each part, PreNorm or PostNorm.
    """

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention | None,
        feedforward: FeedForward,
        residual: Callable[[], PreNorm],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.after_self = residual()
        self.cross_attention = cross_attention
        self.after_cross = nn.Identity() if cross_attention is None else residual()
        self.feedforward = feedforward
        self.after_feedforward = residual()
        self._in_one_call: BlockStep | None = None

    def lay_out(self) -> None:
        """Gets ready to make single steps in one call, where the kernel knows every part."""
        self._in_one_call = block_step(
            self.self_attention,
            self.after_self,
            self.cross_attention,
            self.after_cross,
            self.feedforward,
            self.after_feedforward,
        )

    def forward(
        self,
        stream: States,
        normed: States,
        allowed: Mask | None,
        memory: Float[Tensor, "batch source dim"] | None = None,
        memory_allowed: MemoryMask | None = None,
    ) -> tuple[States, States]:
        """All positions at once; gives (stream, normed) for the next block."""
        found = self.self_attention(normed, normed, allowed)
        stream, normed = self.after_self(stream, found)
        if self.cross_attention is not None:
            found = self.cross_attention(normed, memory, memory_allowed)
            stream, normed = self.after_cross(stream, found)
        return self.after_feedforward(stream, self.feedforward(normed))

    def start(self, memory: Float[Tensor, "batch source dim"] | None) -> BlockState:
        """The state before the first step; the Memory is projected once, here."""
        if self.cross_attention is None or memory is None:
            return BlockState(KeyValueCache(), None)
        return BlockState(KeyValueCache(), self.cross_attention.keys_values(memory))

    def step(
        self,
        stream: Float[Tensor, "batch new dim"],
        normed: Float[Tensor, "batch new dim"],
        state: BlockState,
        memory_allowed: MemoryMask | None,
        allowed: Mask | None = None,
    ) -> tuple[Float[Tensor, "batch new dim"], Float[Tensor, "batch new dim"]]:
        """One position more, or several with a look-ahead mask; `state` grows in place."""
        if self._in_one_call is not None and allowed is None and self._in_one_call.serves(stream):
            return self._in_one_call(stream, normed, state.past, state.memory, memory_allowed)
        position = state.past.length
        past = state.past.append(*self.self_attention.keys_values(normed, position))
        found = self.self_attention.look(normed, *past, allowed, position)
        stream, normed = self.after_self(stream, found)
        if self.cross_attention is not None and state.memory is not None:
            found = self.cross_attention.look(normed, *state.memory, memory_allowed, position)
            stream, normed = self.after_cross(stream, found)
        return self.after_feedforward(stream, self.feedforward(normed))


class Stack(nn.ModuleList):
    """Blocks one above the other."""

    def __iter__(self) -> Iterator[Block]:
        """The blocks from the first to the last."""
        return cast(Iterator[Block], super().__iter__())

    def forward(
        self,
        stream: States,
        normed: States,
        allowed: Mask | None,
        memory: Float[Tensor, "batch source dim"] | None = None,
        memory_allowed: MemoryMask | None = None,
    ) -> States:
        """All positions at once; gives what the last block's norm wrote."""
        for block in self:
            stream, normed = block(stream, normed, allowed, memory, memory_allowed)
        return normed

    def start(self, memory: Float[Tensor, "batch source dim"] | None) -> list[BlockState]:
        """The state of every block before the first step."""
        return [block.start(memory) for block in self]

    def step(
        self,
        stream: Float[Tensor, "batch new dim"],
        normed: Float[Tensor, "batch new dim"],
        states: list[BlockState],
        memory_allowed: MemoryMask | None,
        allowed: Mask | None = None,
    ) -> Float[Tensor, "batch new dim"]:
        """One position more, or several with a look-ahead mask; `states` grow in place."""
        for block, state in zip(self, states, strict=True):
            stream, normed = block.step(stream, normed, state, memory_allowed, allowed)
        return normed


def reorder_blocks(states: list[BlockState], rows: Int[Tensor, " rows"], memory: bool) -> None:
    """Row i becomes the old row rows[i]; the Memory's part only if `memory` says so."""
    for state in states:
        state.past.reorder(rows)
        if memory and state.memory is not None:
            key, value = state.memory
            state.memory = key.index_select(0, rows), value.index_select(0, rows)
