"""The sequence-to-sequence Transformer.

    source -> embedding -> encoder blocks -> Memory
    target -> embedding -> decoder blocks, which attend to the Memory -> logits

Source: Vaswani et al. 2017; lectures 000 to 004.
"""

import torch
from torch import nn

from jumok.attention.events import observable
from jumok.attention.masks import AttentionMask, Documents, mask_of_keys
from jumok.config import TransformerConfig
from jumok.kernels.noise import Noise
from jumok.layers.embedding import embedding_table, sentence_lengths
from jumok.models.builder import BlockBuilder
from jumok.models.decoder import TransformerDecoder
from jumok.models.memory import Memory, SequenceToSequence
from jumok.shapes import Allowed, Bool, Float, Int, Tensor


class Transformer(SequenceToSequence):
    """Encoder and decoder, with one vocabulary."""

    def __init__(self, config: TransformerConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.noise = Noise()
        self.source_end = config.source_end
        parts = BlockBuilder(config, self.noise)
        table = embedding_table(vocabulary_size, config.dim)
        source_table, output = (
            table if config.tied in shared else embedding_table(vocabulary_size, config.dim)
            for shared in (("all", "inputs"), ("all", "target"))
        )
        self.encoder = TransformerEncoder(parts, config.encoder_layers, source_table)
        written = BlockBuilder(config.decoder, self.noise)
        self.decoder = TransformerDecoder(
            written, config.decoder_layers, table, output, cap=config.logit_cap,
            bias=config.output_bias,
        )  # fmt: skip

    @observable
    def encode(
        self,
        tokens: Int[Tensor, "batch source"],
        allowed: Allowed | None = None,
        documents: Documents | None = None,
    ) -> Memory:
        """Reads the source once. `allowed` is True where a token is real; None where all are.

        Args:
            documents: where several sources share a row; `allowed` is None then.
        """
        if not self.source_end:
            assert documents is None, "sources whose END is not read have rows of their own"
            allowed = before_end(tokens, allowed)
        return Memory(self.encoder(tokens, allowed, documents), allowed, documents=documents)


def before_end(
    tokens: Int[Tensor, "batch source"], allowed: Allowed | None
) -> Bool[Tensor, "batch source"]:
    """True where a token is real and is not the last, which is END; of a text without words END is
    read, too.
    """
    last = sentence_lengths(tokens, allowed).sub(1).clamp(min=1)
    return torch.arange(tokens.shape[1], device=tokens.device) < last[:, None]


class TransformerEncoder(nn.Module):
    """A stack of blocks, each position attending to all others."""

    def __init__(self, parts: BlockBuilder, layers: int, table: nn.Parameter) -> None:
        super().__init__()
        self.embedding = parts.embedding("encoder", table)
        self.first_norm = parts.first_norm()
        self.blocks = parts.stack("encoder", layers)

    def forward(
        self,
        tokens: Int[Tensor, "batch source"],
        allowed: Allowed | None = None,
        documents: Documents | None = None,
    ) -> Float[Tensor, "batch source dim"]:
        """One vector for each position; see `Transformer.encode`."""
        lengths = sentence_lengths(tokens, allowed)
        stream = self.embedding(tokens, lengths=lengths, documents=documents)
        mask = mask_of_keys(allowed) if documents is None else AttentionMask(documents=documents)
        return self.blocks(stream, self.first_norm(stream), mask)
