"""The block that both stacks repeat.

    encoder block: self-attention, feed-forward
    decoder block: masked self-attention, attention over the Memory, feed-forward

Each part is followed by a residual connection and a norm (`layers/residual.py`).

Source: Vaswani et al. 2017, section 3.1.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from torch import nn
from torch.utils.checkpoint import checkpoint

from jumok.attention.cache import KeyValueCache, LinearState
from jumok.attention.masks import AttentionMask
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.variants.ssru import RecurrenceState, SimpleRecurrence
from jumok.attention.variants.value_residual import FirstValues
from jumok.layers.interfaces import FeedForward, Residual
from jumok.shapes import Float, Int, States, Tensor


@dataclass
class BlockState:
    """The state of a decoder block between steps: its past, and the Memory's keys and values."""

    past: KeyValueCache | LinearState | RecurrenceState
    memory: tuple[Tensor, Tensor] | None


class Block(nn.Module):
    """One layer of an encoder, or of a decoder if it has a cross-attention.

    Args:
        residual: makes the module after each part, PreNorm or PostNorm.
        after_self: makes that after the self-attention, BesideNorm; None: as the others.
    """

    def __init__(
        self,
        self_attention: MultiHeadAttention | SimpleRecurrence,
        cross_attention: MultiHeadAttention | None,
        feedforward: FeedForward,
        residual: Callable[[], Residual],
        after_self: Callable[[], Residual] | None = None,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.after_self = (after_self or residual)()
        self.cross_attention = cross_attention
        self.after_cross = nn.Identity() if cross_attention is None else residual()
        self.feedforward = feedforward
        self.after_feedforward = residual()

    def forward(
        self,
        stream: States,
        normed: States,
        allowed: AttentionMask | None,
        memory: Float[Tensor, "batch source dim"] | None = None,
        memory_allowed: AttentionMask | None = None,
        state: BlockState | None = None,
        first: FirstValues | None = None,
    ) -> tuple[States, States]:
        """All positions at once, or the next ones; returns (stream, normed) for the next block.

        Args:
            state: the past, and the Memory's projections: one position more, or several with a
                look-ahead mask. It grows in place. None: all positions are given.
            first: the values of this pass's first block, for value residuals.
        """
        # An attention from outside of jumok need not have these arguments.
        more: dict[str, Any] = {} if first is None else {"first": first}
        position = 0
        read: Tensor | tuple[Tensor, Tensor] | None = memory
        if state is not None:
            more["past"], position, read = state.past, state.past.length, state.memory
        update = self.self_attention(normed, normed, allowed, **more)
        stream, normed = self.after_self(stream, update)
        if self.cross_attention is not None:
            assert read is not None, "attention to a Memory needs one"
            update = self.cross_attention(normed, read, memory_allowed, position)
            stream, normed = self.after_cross(stream, update)
        return self.after_feedforward(stream, self.feedforward(normed))

    @property
    def mixes_values(self) -> bool:
        """Whether the self-attention mixes the values of the first layer into its own."""
        attention = self.self_attention
        return isinstance(attention, MultiHeadAttention) and attention.value_residual is not None

    def start(self, memory: Float[Tensor, "batch source dim"] | None) -> BlockState:
        """The state before the first step; the Memory is projected once, here."""
        past = self.self_attention.new_past()
        if self.cross_attention is None or memory is None:
            return BlockState(past, None)
        return BlockState(past, self.cross_attention.keys_values(memory))


class Stack(nn.ModuleList):
    """Blocks, each with the output of the one before as its input.

    Attributes:
        recompute: whether training keeps only each block's input, and computes the block again when
            its gradient is wanted. Source: Chen et al. 2016, "Training deep nets with sublinear
            memory cost".
    """

    recompute = False

    def __iter__(self) -> Iterator[Block]:
        return cast(Iterator[Block], super().__iter__())

    def forward(
        self,
        stream: States,
        normed: States,
        allowed: AttentionMask | None,
        memory: Float[Tensor, "batch source dim"] | None = None,
        memory_allowed: AttentionMask | None = None,
        states: list[BlockState] | None = None,
    ) -> States:
        """All positions at once, or the next ones; returns the output of the last block's norm.

        Args:
            states: one for each block, see `Block.forward`.
        """
        first = FirstValues() if any(block.mixes_values for block in self) else None
        for number, block in enumerate(self):
            state = None if states is None else states[number]
            computed_again = self.recompute and self.training and state is None
            given = (stream, normed, allowed, memory, memory_allowed, state, first)
            stream, normed = checkpointed(block, given) if computed_again else block(*given)
        return normed

    def start(self, memory: Float[Tensor, "batch source dim"] | None) -> list[BlockState]:
        return [block.start(memory) for block in self]


def checkpointed(block: Block, given: tuple[Any, ...]) -> tuple[States, States]:
    """The block's outputs. What its gradient needs is computed a second time, with the same masks
    of dropout.
    """
    noise = block.self_attention.noise
    drawn = noise.calls

    def run(*inputs: Any) -> tuple[States, States]:
        with noise.after(drawn):
            outputs: tuple[States, States] = block(*inputs)
            return outputs

    outputs: tuple[States, States] = checkpoint(
        run, *given, use_reentrant=False, preserve_rng_state=False
    )
    return outputs


def reorder_blocks(states: list[BlockState], rows: Int[Tensor, " rows"], memory: bool) -> None:
    """Replaces row i by the old row rows[i]; the Memory's keys and values only if `memory`."""
    for state in states:
        state.past.reorder(rows)
        if memory and state.memory is not None:
            key, value = state.memory
            state.memory = key.index_select(0, rows), value.index_select(0, rows)
