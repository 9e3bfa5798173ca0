"""The Transformer for sequence to sequence.

    source -> embedding -> encoder blocks -> Memory
    target -> embedding -> decoder blocks, which look at the Memory -> logits

Source: Vaswani et al. 2017; lectures 000 to 004.
"""

from dataclasses import dataclass

import torch
from torch import nn

from jumok.attention.core import causal
from jumok.config import TransformerConfig
from jumok.kernels.linear import Projection
from jumok.kernels.noise import Noise
from jumok.layers.block import BlockState, MemoryMask, Stack, reorder_blocks
from jumok.layers.embedding import embedding_table, sentence_lengths
from jumok.models.memory import Memory, SequenceToSequence
from jumok.models.parts import Parts
from jumok.shapes import Allowed, Float, Int, Tensor


class Transformer(SequenceToSequence):
    """Encoder and decoder, with one vocabulary.

    Args:
        config: sizes and parts.
        vocabulary_size: entries of the joint vocabulary.

    Attributes:
        noise: where every dropout mask of this model comes from.
    """

    def __init__(self, config: TransformerConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.noise = Noise()
        parts = Parts(config, self.noise)
        table = embedding_table(vocabulary_size, config.dim)
        source_table = (
            table if config.tied == "all" else embedding_table(vocabulary_size, config.dim)
        )
        output = embedding_table(vocabulary_size, config.dim) if config.tied == "none" else table
        self.encoder = TransformerEncoder(parts, config.encoder_layers, source_table)
        self.decoder = TransformerDecoder(parts, config.decoder_layers, table, output)
        layers = range(config.decoder_layers)
        self.looks = tuple(f"decoder.blocks.{layer}.cross_attention" for layer in layers)

    def encode(self, tokens: Int[Tensor, "batch source"], allowed: Allowed | None = None) -> Memory:
        """Reads the source once. `allowed` is True where a token is real; None where all are."""
        return Memory(self.encoder(tokens, allowed), allowed)


class TransformerEncoder(nn.Module):
    """A stack of blocks, each position looking at all others."""

    def __init__(self, parts: Parts, layers: int, table: nn.Parameter) -> None:
        super().__init__()
        self.embedding = parts.embedding(table)
        self.first_norm = parts.first_norm()
        self.blocks = Stack(parts.block(cross=False) for _ in range(layers))

    def forward(
        self, tokens: Int[Tensor, "batch source"], allowed: Allowed | None = None
    ) -> Float[Tensor, "batch source dim"]:
        """One vector a position."""
        stream = self.embedding(tokens, lengths=sentence_lengths(tokens, allowed))
        return self.blocks(stream, self.first_norm(stream), _mask(allowed))


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
    """A stack of blocks that look back at what was written, and at the Memory."""

    def __init__(
        self, parts: Parts, layers: int, table: nn.Parameter, output: nn.Parameter
    ) -> None:
        super().__init__()
        self.vocabulary_size = output.shape[0]
        self.embedding = parts.embedding(table)
        self.first_norm = parts.first_norm()
        self.blocks = Stack(parts.block(cross=True) for _ in range(layers))
        self.output = Projection(output)

    def hidden(
        self, memory: Memory, tokens: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target dim"]:
        """The states from which the logits are read; training projects only the real ones."""
        allowed = causal(tokens.shape[1], tokens.shape[1], tokens.device)
        stream = self.embedding(tokens)
        normed = self.first_norm(stream)
        return self.blocks(stream, normed, allowed, memory.states, _mask(memory.allowed))

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
        stream = self.embedding(tokens[:, None], state.position)
        normed = self.first_norm(stream)
        normed = self.blocks.step(stream, normed, state.blocks, _mask(state.memory_allowed))
        state.position += 1
        return self.logits(normed[:, 0]), state

    def reorder(self, state: TransformerState, rows: Int[Tensor, " rows"]) -> TransformerState:
        """Row i becomes the old row rows[i]."""
        memory_rows = state.memory_rows[rows]
        moved = not torch.equal(memory_rows, state.memory_rows)
        reorder_blocks(state.blocks, rows, memory=moved)
        if moved and state.memory_allowed is not None:
            state.memory_allowed = state.memory_allowed[rows]
        state.memory_rows = memory_rows
        return state


def _mask(allowed: Allowed | None) -> MemoryMask | None:
    """One row of permissions for all heads and queries."""
    return None if allowed is None else allowed[:, None, None, :]
