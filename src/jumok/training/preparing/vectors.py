"""Initializes embeddings with pretrained vectors.

The rows are scaled by one factor to a mean norm of 1, as random rows have. Words of several tokens,
and tokens inside words, are initialized at random.

Source: lecture 001 (embeddings by a pre-trained model); Qi et al. 2018 (in translation).
"""

from dataclasses import dataclass

import torch
from torch import nn

from jumok.config.data import VectorsConfig
from jumok.data.files.vectors import read_vectors
from jumok.data.tokenizer import Tokenizer
from jumok.errors import ConfigError, Location
from jumok.layers.embedding import Embedding
from jumok.shapes import Float, Int, Tensor
from jumok.systems.embedding import whole_words
from jumok.systems.words import WordSpace


@dataclass(frozen=True)
class PretrainedRows:
    """The pretrained vectors of a vocabulary.

    Attributes:
        ids: subwords that have a vector.
        words: the number of subwords that are whole words, with or without a vector.
    """

    config: VectorsConfig
    ids: Int[Tensor, " rows"]
    vectors: Float[Tensor, "rows width"]
    words: int

    @property
    def coverage(self) -> str:
        """A message on how many words of the vocabulary have a vector."""
        share = len(self.ids) / max(self.words, 1)
        state = "frozen" if self.config.frozen else "tuned"
        return (
            f"vectors: {len(self.ids):,} of the vocabulary's {self.words:,} whole words "
            f"({share:.1%}) from {self.config.path.name}, {state}"
        )

    @torch.no_grad()
    def initialize(self, model: nn.Module) -> nn.Module:
        """Writes the vectors into every embedding table, frozen if the recipe says so."""
        for module in model.modules():
            if isinstance(module, Embedding):
                self._check_width(module.table.shape[1])
                module.table[self.ids] = self.vectors.to(module.table)
                module.frozen = self.ids if self.config.frozen else None
        return model

    def _check_width(self, width: int) -> None:
        if width != self.vectors.shape[1]:
            raise ConfigError(
                "the vectors are not as wide as the model's embeddings.",
                expected=f"{width} numbers per word",
                got=f"{self.vectors.shape[1]} numbers",
                do=f"set model.dim (of a recurrent model: model.embedding) to "
                f"{self.vectors.shape[1]}, or train vectors of {width} numbers",
                place=Location(self.config.path),
            )


def pretrained_rows(config: VectorsConfig | None, tokenizer: Tokenizer) -> PretrainedRows | None:
    """The vectors of the whole words of the vocabulary; None if the recipe names no file."""
    if config is None:
        return None
    vectors = read_vectors(config.path)
    matrix = torch.from_numpy(vectors.matrix)
    space = WordSpace(vectors.words, matrix)
    words = whole_words(tokenizer)
    rows = {id: row for id, word in words.items() if (row := space.row(word)) is not None}
    if not rows:
        raise ConfigError(
            "no word of the vocabulary has a vector in this file.",
            got=f"{len(words):,} words such as {list(words.values())[:3]}",
            do="use vectors of the corpus's language",
            place=Location(config.path),
        )
    vectors_of_words = matrix[list(rows.values())]
    length = float(vectors_of_words.norm(dim=1).mean())
    return PretrainedRows(
        config, torch.tensor(list(rows)), vectors_of_words / max(length, 1e-12), len(words)
    )
