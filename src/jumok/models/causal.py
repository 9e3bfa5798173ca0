"""The causal language model: a stack of blocks that reads only the tokens before.

    tokens -> embedding -> blocks with the look-ahead mask -> logits of the next token

It is a decoder with an empty Memory, so decoding treats it like other decoders.

Source: Radford et al. 2018 and 2019 (GPT, GPT-2); the look-ahead mask: lectures 000 to 004.
"""

from torch import nn

from jumok.attention.events import observable
from jumok.attention.masks import Documents
from jumok.config.causal import CausalConfig
from jumok.kernels.noise import Noise
from jumok.layers.embedding import embedding_table
from jumok.models.builder import BlockBuilder
from jumok.models.decoder import TransformerDecoder
from jumok.models.memory import Memory
from jumok.shapes import Float, Int, Tensor


class CausalLanguageModel(nn.Module):
    """Predicts the probability of each next token."""

    def __init__(self, config: CausalConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.noise = Noise()
        table = embedding_table(vocabulary_size, config.dim)
        output = table if config.tied else embedding_table(vocabulary_size, config.dim)
        parts = BlockBuilder(config, self.noise, config.parallel)
        self.decoder = TransformerDecoder(
            parts, config.layers, table, output, cross=False, cap=config.logit_cap,
            bias=config.output_bias,
        )  # fmt: skip

    def nothing(self, batch: int = 1) -> Memory:
        """The empty Memory of `batch` texts, for decoding."""
        table = self.decoder.embedding.table
        return Memory(table.new_empty(batch, 0, table.shape[1]))

    @observable
    def hidden(
        self,
        tokens: Int[Tensor, "batch length"],
        documents: Documents | None = None,
    ) -> Float[Tensor, "batch length dim"]:
        """The states from which the logits after every prefix of `tokens` are read.

        Args:
            documents: where several share a row: attention and positions are then limited to a
                token's own document. None: a row is one document.
        """
        return self.decoder.hidden(None, tokens, documents)
