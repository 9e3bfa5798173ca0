"""The decoder's stack of blocks: with a Memory in a Transformer, without in a language model."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from jumok.attention.events import observable
from jumok.attention.masks import AttentionMask, Documents, mask_of_keys
from jumok.kernels.linear import Projection
from jumok.layers.block import BlockState, reorder_blocks
from jumok.models.builder import BlockBuilder
from jumok.models.memory import Memory
from jumok.shapes import Allowed, Float, Int, Tensor


@dataclass
class TransformerState:
    """The decoder's state between steps.

    Attributes:
        memory_rows: which row of the Memory each row reads. In beam search the rows of one sentence
            are permuted among themselves, so its Memory need not be copied.
    """

    blocks: list[BlockState]
    memory_allowed: Allowed | None
    memory_rows: Int[Tensor, " batch"]
    position: int = 0


class TransformerDecoder(nn.Module):
    """A stack of blocks that attend to the prefix and to the Memory.

    Args:
        table: (vocabulary dim), the vectors of the tokens that are read.
        output: (vocabulary dim), the matrix from states to logits.
        cross: False for a language model, which has no cross-attention.
        cap: the soft cap of the logits; None: they are not capped.
        bias: whether the logits have a bias.
        packs: False if attention depends on the place in the row, which documents may not share.
    """

    def __init__(
        self,
        parts: BlockBuilder,
        layers: int,
        table: nn.Parameter,
        output: nn.Parameter,
        cross: bool = True,
        cap: float | None = None,
        packs: bool = True,
        *,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.packs = packs
        self.vocabulary_size = output.shape[0]
        self.embedding = parts.embedding("decoder", table)
        self.first_norm = parts.first_norm()
        self.blocks = parts.stack("decoder", layers, cross=cross)
        self.output = Projection(output, cap, bias=bias)

    @observable
    def hidden(
        self,
        memory: Memory | None,
        tokens: Int[Tensor, "batch target"],
        documents: Documents | None = None,
    ) -> Float[Tensor, "batch target dim"]:
        """The states from which the logits are read; training projects only the real ones.

        Args:
            memory: None for a language model.
            documents: where several share a row; None: a row is one document.
        """
        allowed = AttentionMask(causal=True, documents=documents)
        stream = self.embedding(tokens, documents=documents)
        normed = self.first_norm(stream)
        if memory is None:
            return self.blocks(stream, normed, allowed)
        of_memory = mask_of_keys(memory.allowed)
        if memory.documents is not None:
            of_memory = AttentionMask(documents=documents, key_documents=memory.documents)
        return self.blocks(stream, normed, allowed, memory.states, of_memory)

    def logits(self, hidden: Float[Tensor, "*axes dim"]) -> Float[Tensor, "*axes vocabulary"]:
        return self.output(hidden)

    @observable
    def forward(
        self,
        memory: Memory | None,
        tokens: Int[Tensor, "batch target"],
        state: TransformerState | None = None,
    ) -> Any:
        """The logits after every prefix of `tokens`: (batch target vocabulary).

        Args:
            state: the state after earlier tokens, with the Memory: `tokens` then continue from it,
                and the state after them is returned too. None: `tokens` are the whole text.
        """
        if state is None:
            return self.logits(self.hidden(memory, tokens))
        new = tokens.shape[1]
        allowed = None if new == 1 else AttentionMask(causal=True)
        stream = self.embedding(tokens, state.position)
        normed = self.first_norm(stream)
        row = mask_of_keys(state.memory_allowed)
        normed = self.blocks(stream, normed, allowed, None, row, state.blocks)
        state.position += new
        return self.logits(normed), state

    @observable
    def start(self, memory: Memory) -> TransformerState:
        """The first state; projects the Memory's keys and values once for all steps."""
        rows = torch.arange(memory.states.shape[0], device=memory.states.device)
        return TransformerState(self.blocks.start(memory.states), memory.allowed, rows)

    @observable
    def step(
        self, tokens: Int[Tensor, " batch"], state: TransformerState
    ) -> tuple[Float[Tensor, "batch vocabulary"], TransformerState]:
        logits, state = self(None, tokens[:, None], state)
        return logits[:, 0], state

    @observable
    def read_all(
        self, tokens: Int[Tensor, "batch new"], state: TransformerState
    ) -> tuple[Float[Tensor, "batch new vocabulary"], TransformerState]:
        logits, state = self(None, tokens, state)
        return logits, state

    @observable
    def reorder(self, state: TransformerState, rows: Int[Tensor, " rows"]) -> TransformerState:
        memory_rows = state.memory_rows[rows]
        moved = not torch.equal(memory_rows, state.memory_rows)
        reorder_blocks(state.blocks, rows, memory=moved)
        if moved and state.memory_allowed is not None:
            state.memory_allowed = state.memory_allowed[rows]
        state.memory_rows = memory_rows
        return state
