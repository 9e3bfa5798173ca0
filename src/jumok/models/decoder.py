"""The stack of blocks that writes: in a Transformer with a Memory, in a language model without."""

from dataclasses import dataclass

import torch
from torch import nn

from jumok.attention.core import causal
from jumok.kernels.linear import Projection
from jumok.layers.block import BlockState, Mask, MemoryMask, Stack, reorder_blocks
from jumok.layers.packing import indexes_inside, same_document
from jumok.models.memory import Memory
from jumok.models.parts import Parts
from jumok.shapes import Allowed, Float, Int, Tensor


@dataclass
class TransformerState:
    """What the decoder keeps between steps.

    Attributes:
        memory_rows: which row of the Memory each row reads. While a beam is searched the rows of
            one sentence change places among themselves, and then its Memory need not be copied.
    """

    blocks: list[BlockState]
    memory_allowed: Allowed | None
    memory_rows: Int[Tensor, " batch"]
    position: int = 0


class TransformerDecoder(nn.Module):
    """A stack of blocks that look back at what was written, and at the Memory.

    Args:
        table: (vocabulary dim), the vectors of the tokens that are read.
        output: (vocabulary dim), what states are multiplied by to become logits.
        cross: False for a language model: its Memory is empty, and nothing looks at it.
    """

    packs = True

    def __init__(
        self,
        parts: Parts,
        layers: int,
        table: nn.Parameter,
        output: nn.Parameter,
        cross: bool = True,
    ) -> None:
        super().__init__()
        self.vocabulary_size = output.shape[0]
        self.embedding = parts.embedding(table)
        self.first_norm = parts.first_norm()
        self.blocks = Stack(parts.block(cross) for _ in range(layers))
        self.output = Projection(output)

    def hidden(
        self,
        memory: Memory | None,
        tokens: Int[Tensor, "batch target"],
        documents: Int[Tensor, "batch target"] | None = None,
    ) -> Float[Tensor, "batch target dim"]:
        """The states from which the logits are read; training projects only the real ones.

        Args:
            memory: None for a language model, which has nothing to look at.
            documents: where several share a row, which one each token is of; None: a row is
                one document.
        """
        allowed = causal(tokens.shape[1], tokens.shape[1], tokens.device)
        indexes = None
        if documents is not None:
            allowed = allowed & same_document(documents)
            indexes = indexes_inside(documents)
        stream = self.embedding(tokens, indexes=indexes)
        normed = self.first_norm(stream)
        if memory is None:
            return self.blocks(stream, normed, allowed)
        return self.blocks(stream, normed, allowed, memory.states, row_mask(memory.allowed))

    def logits(self, hidden: Float[Tensor, "*axes dim"]) -> Float[Tensor, "*axes vocabulary"]:
        """The scores of every entry of the vocabulary."""
        return self.output(hidden)

    def forward(
        self, memory: Memory, tokens: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocabulary"]:
        """The logits after every prefix of `tokens`."""
        return self.logits(self.hidden(memory, tokens))

    def start(self, memory: Memory) -> TransformerState:
        """Projects the Memory's keys and values once for all steps."""
        rows = torch.arange(memory.states.shape[0], device=memory.states.device)
        return TransformerState(self.blocks.start(memory.states), memory.allowed, rows)

    def step(
        self, tokens: Int[Tensor, " batch"], state: TransformerState
    ) -> tuple[Float[Tensor, "batch vocabulary"], TransformerState]:
        """Reads one token a row; gives the logits of the next one."""
        logits, state = self._go_on(tokens[:, None], state, None)
        return logits[:, 0], state

    def read_all(
        self, tokens: Int[Tensor, "batch new"], state: TransformerState
    ) -> tuple[Float[Tensor, "batch new vocabulary"], TransformerState]:
        """Reads several tokens a row in one pass; gives the logits after each."""
        new = tokens.shape[1]
        return self._go_on(tokens, state, causal(new, state.position + new, tokens.device))

    def _go_on(
        self, tokens: Int[Tensor, "batch new"], state: TransformerState, allowed: Mask | None
    ) -> tuple[Float[Tensor, "batch new vocabulary"], TransformerState]:
        stream = self.embedding(tokens, state.position)
        normed = self.first_norm(stream)
        memory_allowed = row_mask(state.memory_allowed)
        normed = self.blocks.step(stream, normed, state.blocks, memory_allowed, allowed)
        state.position += tokens.shape[1]
        return self.logits(normed), state

    def reorder(self, state: TransformerState, rows: Int[Tensor, " rows"]) -> TransformerState:
        """Row i becomes the old row rows[i]."""
        memory_rows = state.memory_rows[rows]
        moved = not torch.equal(memory_rows, state.memory_rows)
        reorder_blocks(state.blocks, rows, memory=moved)
        if moved and state.memory_allowed is not None:
            state.memory_allowed = state.memory_allowed[rows]
        state.memory_rows = memory_rows
        return state


def row_mask(allowed: Allowed | None) -> MemoryMask | None:
    """One row of permissions for all heads and queries."""
    return None if allowed is None else allowed[:, None, None, :]
