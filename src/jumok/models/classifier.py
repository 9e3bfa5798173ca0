"""The text classifier: an encoder, one vector for each text, one logit for each label.

Source: Devlin et al. 2019, section 3.2 (fine-tuning); lecture 001.
"""

from torch import nn

from jumok.config.masked import TextClassifierConfig
from jumok.kernels.linear import Linear
from jumok.kernels.noise import Noise
from jumok.layers.dropout import Dropout
from jumok.layers.embedding import embedding_table
from jumok.layers.pooling import POOLINGS
from jumok.models.masked import text_encoder
from jumok.shapes import Allowed, Float, Int, States, Tensor


class TextClassifier(nn.Module):
    """An encoder, pooling, and a linear layer.

    Args:
        pieces: the tokenizer's vocabulary size. The table has one row more, as that
            of a masked language model, whose weights can thus be taken over as they are.
    """

    def __init__(self, config: TextClassifierConfig, pieces: int, labels: int) -> None:
        super().__init__()
        self.noise = Noise()
        table = embedding_table(pieces + 1, config.dim)
        self.encoder = text_encoder(config, table, self.noise)
        self.pool = POOLINGS[config.pooling]
        self.dropout = Dropout(config.dropout, self.noise)
        self.output = Linear(config.dim, labels)

    def vectors(
        self, tokens: Int[Tensor, "batch length"], allowed: Allowed | None = None
    ) -> Float[Tensor, "batch dim"]:
        """One vector for each text."""
        return self.pool(self.encoder(tokens, allowed), allowed)

    def forward(
        self, tokens: Int[Tensor, "batch length"], allowed: Allowed | None = None
    ) -> Float[Tensor, "batch labels"]:
        return self.logits(self.encoder(tokens, allowed), allowed)

    def logits(self, states: States, allowed: Allowed | None) -> Float[Tensor, "batch labels"]:
        """Those of the encoder's states."""
        return self.output(self.dropout(self.pool(states, allowed)))
