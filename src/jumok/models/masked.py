"""The masked language model: it reads a whole text at once and predicts its masked tokens.

    START tokens END -> embedding -> encoder blocks -> states
    states of the masked positions -> prediction head -> logits

Source: Devlin et al. 2019 (BERT); lectures 000 and 001.
"""

import torch
import torch.nn.functional as F
from torch import nn

from jumok.config.masked import EncoderConfig, MaskedConfig
from jumok.errors import ModelError
from jumok.kernels.linear import Linear, Projection
from jumok.kernels.noise import Noise
from jumok.layers.embedding import embedding_table
from jumok.models.builder import BlockBuilder
from jumok.models.encoder_decoder import TransformerEncoder
from jumok.shapes import Allowed, Bool, Float, Int, Tensor


def text_encoder(config: EncoderConfig, table: nn.Parameter, noise: Noise) -> TransformerEncoder:
    """The stack that reads whole texts; the masked language model and the classifier share it."""
    return TransformerEncoder(BlockBuilder(config, noise), config.layers, table)


class PredictionHead(nn.Module):
    """States to logits: dense, GELU, norm, and the embedding's own table with a bias."""

    def __init__(self, dim: int, table: nn.Parameter, norm: nn.Module) -> None:
        super().__init__()
        self.dense = Linear(dim, dim)
        self.norm = norm
        self.output = Projection(table)
        self.bias = nn.Parameter(torch.zeros(table.shape[0]))

    def transform(self, states: Float[Tensor, "*axes dim"]) -> Float[Tensor, "*axes dim"]:
        """The vectors that are multiplied with every row of the table."""
        return self.norm(F.gelu(self.dense(states)))

    def forward(self, states: Float[Tensor, "*axes dim"]) -> Float[Tensor, "*axes vocabulary"]:
        return self.output(self.transform(states)) + self.bias


class MissingHead(PredictionHead):
    """In the place of a head that an imported encoder does not have."""

    def __init__(self, table: nn.Parameter) -> None:
        nn.Module.__init__(self)
        self.output = Projection(table)

    def transform(self, states: Float[Tensor, "*axes dim"]) -> Float[Tensor, "*axes dim"]:
        """Raises a ModelError if there is something to predict."""
        if states.numel():
            raise ModelError(
                "this model is an encoder without a prediction head: it fills no gaps.",
                do="jumok embed, look or explain; or train a classifier on it (model.pretrained)",
            )
        return states

    def forward(self, states: Float[Tensor, "*axes dim"]) -> Float[Tensor, "*axes vocabulary"]:
        return self.output(self.transform(states))


class MaskedLanguageModel(nn.Module):
    """An encoder and a prediction head.

    Args:
        pieces: the tokenizer's vocabulary size. The table has one row more, MASK's,
            which no text can spell.
    """

    def __init__(self, config: MaskedConfig, pieces: int) -> None:
        super().__init__()
        self.noise = Noise()
        self.mask = pieces
        table = embedding_table(pieces + 1, config.dim)
        self.encoder = text_encoder(config, table, self.noise)
        norm = BlockBuilder(config, self.noise).norm() if config.head else None
        self.head = MissingHead(table) if norm is None else PredictionHead(config.dim, table, norm)

    def forward(
        self,
        tokens: Int[Tensor, "batch length"],
        allowed: Allowed | None = None,
        chosen: Bool[Tensor, "batch length"] | None = None,
    ) -> Float[Tensor, "*positions vocabulary"]:
        """The logits of every position, or of the chosen ones, one below another."""
        states = self.encoder(tokens, allowed)
        return self.head(states if chosen is None else states[chosen])
