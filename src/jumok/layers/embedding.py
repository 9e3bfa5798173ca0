"""Token ids to vectors, with their positions.

Source: Vaswani et al. 2017, sections 3.4 and 3.5; word dropout: Gal and Ghahramani 2016.
"""

import math
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from torch import nn

from jumok.attention.masks import Documents
from jumok.attention.overrides import ContextAttribute
from jumok.attention.role import Part
from jumok.kernels.noise import Noise
from jumok.kernels.training.embedding import embedded
from jumok.layers.dropout import Dropout
from jumok.layers.positions import Positions
from jumok.shapes import Allowed, Float, Int, States, Tensor

StateEdit = Callable[[States, int], States]
"""Other vectors in the place of these words', given the position of the first."""


@runtime_checkable  # the tests check annotations while they run
class Editable(Protocol):
    """Where vectors are read that can be changed: of words, or of the cells of a picture.

    Attributes:
        edit: changes them before anything is done with them; None: nothing does.
    """

    @property
    def edit(self) -> StateEdit | None:
        """Changes the vectors in this context."""
        ...


class Embedding(nn.Module):
    """E[token] * scale, with positions: + P[position], or joined otherwise.

    Args:
        table: (vocabulary dim), which the output projection may share.
        positions: what brings them in; None where they enter elsewhere (rotary, ALiBi) or not at
            all.
        word_dropout: share of whole words replaced by zeros while training.
        norm: what follows the sum, before dropout: a LayerNorm in BERT (Devlin et al. 2019).
        part: "encoder": it reads whole texts; "decoder": it also reads token by token.
        scale: None: sqrt(dim).

    Attributes:
        frozen: the rows of the table that training does not change
            (`training/optimization/frozen.py`); None where all learn.
        edit: changes the words' vectors before anything is done with them; None: nothing does.
    """

    edit: ContextAttribute[StateEdit | None] = ContextAttribute()

    def __init__(
        self,
        table: nn.Parameter,
        positions: Positions | None,
        dropout: Dropout,
        noise: Noise,
        word_dropout: float = 0.0,
        norm: nn.Module | None = None,
        part: Part = "encoder",
        scale: float | None = None,
    ) -> None:
        super().__init__()
        self.part = part
        self.table = table
        self.positions = positions
        self.dropout = dropout
        self.noise = noise
        self.word_dropout = word_dropout
        self.norm = norm or nn.Identity()
        self.scale = math.sqrt(table.shape[1]) if scale is None else scale
        self.frozen: Int[Tensor, " rows"] | None = None

    def forward(
        self,
        tokens: Int[Tensor, "batch length"],
        position: int = 0,
        lengths: Int[Tensor, " batch"] | None = None,
        documents: Documents | None = None,
    ) -> States:
        """The vectors of `tokens`, the first of which is at `position`.

        Args:
            lengths: of whole sentences, END counted; None where they are still being written.
            documents: where several share a row: positions are counted inside of each.
        """
        states = embedded(tokens, self.table, self.scale)
        edit = self.edit
        if edit is not None:
            states = edit(states, position)
        if self.training and self.word_dropout:
            states = states * self._kept_words(tokens, states.dtype)
        if self.positions is not None:
            states = self.positions(states, position, lengths, documents)
        return self.dropout(self.norm(states))

    def _kept_words(self, tokens: Tensor, dtype: torch.dtype) -> Float[Tensor, "batch length 1"]:
        mask = self.noise.mask(self.word_dropout)
        return mask.keep(tokens.numel(), tokens.device).view(*tokens.shape, 1).to(dtype)


def sentence_lengths(
    tokens: Int[Tensor, "batch length"], allowed: Allowed | None
) -> Int[Tensor, " batch"]:
    """How long each sentence is; `allowed` is True where a token is real, None where all are."""
    if allowed is None:
        return torch.full(tokens.shape[:1], tokens.shape[1], device=tokens.device)
    return allowed.sum(1)


def embedding_table(vocabulary_size: int, dim: int) -> nn.Parameter:
    """Vectors of length about 1, so that scaled by sqrt(dim) their elements are about 1."""
    return nn.Parameter(torch.empty(vocabulary_size, dim).normal_(std=dim**-0.5))
