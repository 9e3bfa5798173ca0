"""Texts as vectors: an encoder's states, averaged over a sentence or over a word's tokens.

Importing it imports no torch: a translator that runs on the native engine is a `SourceReader`, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from jumok.attention.heard import tell
from jumok.data.tokenizer import SPACE, Tokenizer, normalize, plain_words
from jumok.errors import ModelError
from jumok.late import late_imports
from jumok.systems.base import GIVEN, ROWS, Shown, System, torch_at_work
from jumok.systems.given import text_of, texts_in
from jumok.systems.translation.segments import cut_lines

with late_imports():
    import torch
    from torch import nn

    from jumok import shapes
    from jumok.data.files import vectors as files_vectors
    from jumok.data.pairs import batches
    from jumok.layers import embedding as layers_embedding
    from jumok.models import memory as models_memory
    from jumok.systems import words as system_words


@runtime_checkable
class Embedder(Protocol):
    """A system that turns texts into vectors: all that `jumok embed` needs to know of it."""

    def sentence_vectors(
        self, texts: Sequence[str], batch_size: int = 32
    ) -> shapes.Float[torch.Tensor, "texts dim"]:
        """One vector for each text; `batch_size` texts are read together."""
        ...

    def word_vectors(
        self, text: str
    ) -> tuple[tuple[str, ...], shapes.Float[torch.Tensor, "words dim"]]:
        """The words of a text, separated by plain spaces, and a vector for each in its context."""
        ...

    def word_space(self) -> system_words.WordSpace:
        """The words that are one token, with their vectors in the embedding table, before any
        context."""
        ...


class GivenVectors:
    """Vectors from a file (`jumok.data.files.vectors`): a word has the same one in every context.

    An Embedder. A sentence is the mean of its words that have vectors.
    """

    def __init__(self, vectors: files_vectors.Vectors) -> None:
        self._matrix = torch.from_numpy(vectors.matrix)
        self._space = system_words.WordSpace(vectors.words, self._matrix)

    def sentence_vectors(
        self,
        texts: Sequence[str],
        batch_size: int = 32,  # noqa: ARG002  (batches do not make a look-up faster)
    ) -> shapes.Float[torch.Tensor, "texts dim"]:
        """For each text the mean of its words' vectors; zeros if no word has one."""
        found = [self.word_vectors(text)[1] for text in texts]
        sums = [vectors.sum(0) / max(len(vectors), 1) for vectors in found]
        return torch.stack(sums) if sums else self._matrix[:0]

    def word_vectors(
        self, text: str
    ) -> tuple[tuple[str, ...], shapes.Float[torch.Tensor, "words dim"]]:
        """The words of a text that have vectors, and these vectors."""
        found = [(word, self._space.row(word)) for word in plain_words(normalize(text))]
        known = [(word, row) for word, row in found if row is not None]
        return tuple(word for word, _ in known), self._matrix[[row for _, row in known]]

    def word_space(self) -> system_words.WordSpace:
        """All words of the file."""
        return self._space


class SourceReader(System):
    """A system that reads sources with an encoder; an Embedder.

    Of several models the first one is used: the vectors of different models cannot be averaged.

    Attributes:
        max_tokens: tokens of the longest segment that is read at once; longer texts are cut, and
            their segments averaged.
    """

    models: Shown[list[models_memory.SequenceToSequence]]
    tokenizer: Tokenizer
    max_tokens: int

    def read_texts(self, texts: Sequence[str], batch_size: int) -> None:
        """Reads texts for `jumok.states_of`, without writing any."""
        self.sentence_vectors(texts, batch_size)

    @torch_at_work
    def sentence_vectors(
        self, texts: Sequence[str], batch_size: int = 32
    ) -> shapes.Float[torch.Tensor, "texts dim"]:
        """For each text the mean of the encoder's states, END's included; zeros without a word."""
        texts = texts_in(texts)
        parts = cut_lines(texts, self.tokenizer, self.max_tokens)
        tell(self, GIVEN, len(texts))
        vectors: list[torch.Tensor] = []
        lines, counts = [], torch.zeros(len(texts), 1)
        for batch in batches.source_batches([part.ids for part in parts], sentences=batch_size):
            tell(self, ROWS, [parts[row].line for row in batch.rows])
            for row, states in zip(batch.rows, self._states(batch), strict=True):
                real = states[: len(parts[row].ids) + 1]
                vectors.append(real.sum(0))
                lines.append(parts[row].line)
                counts[parts[row].line] += len(real)
        width = len(vectors[0]) if vectors else self._width()
        sums = torch.zeros(len(texts), width)
        if vectors:
            sums.index_add_(0, torch.tensor(lines), torch.stack(vectors))
        return sums / counts.clamp(min=1)

    @torch_at_work
    def word_vectors(
        self, text: str
    ) -> tuple[tuple[str, ...], shapes.Float[torch.Tensor, "words dim"]]:
        """The words of a text, and for each the mean of the encoder's states at its tokens.

        Raises:
            ModelError: the encoder writes one vector for a whole sentence (an RNN's last state).
        """
        words = plain_words(normalize(text_of(text, "text")))
        sums, counts = torch.zeros(len(words), self._width()), torch.zeros(len(words), 1)
        for part in cut_lines([text], self.tokenizer, self.max_tokens):
            (batch,) = batches.source_batches([part.ids], sentences=1)
            rows = part.first_word + torch.tensor(self.tokenizer.words(part.ids))
            # a token that decodes to a space opens a word that the text does not have
            rows.clamp_(max=len(words) - 1)
            states = self._states(batch)[0]
            if len(states) < len(rows):
                raise ModelError(
                    "this model has no word vectors: its encoder writes one vector for a sentence.",
                    do="use sentence vectors, or a model with attention",
                )
            sums.index_add_(0, rows, states[: len(rows)])
            counts.index_add_(0, rows, torch.ones(len(rows), 1))
        return tuple(words), sums / counts.clamp(min=1)

    def word_space(self) -> system_words.WordSpace:
        """The words that are one token, with their vectors in the embedding table."""
        return own_space(self.models[0], self.tokenizer)

    def _states(self, batch: batches.SourceBatch) -> shapes.Float[torch.Tensor, "batch length dim"]:
        device = next(self.models[0].parameters()).device
        allowed = None if batch.allowed is None else batch.allowed.to(device)
        with torch.inference_mode():
            return self.models[0].encode(batch.tokens.to(device), allowed).states.float().cpu()

    def _width(self) -> int:
        """The width of the encoder's states."""
        (nothing,) = batches.source_batches([[]], sentences=1)
        return self._states(nothing).shape[2]


def whole_words(tokenizer: Tokenizer) -> dict[int, str]:
    """The subwords that are whole words, by id: those that begin with the space sign."""
    pieces = enumerate(tokenizer.pieces(range(tokenizer.size)))
    return {id: piece[1:] for id, piece in pieces if piece.startswith(SPACE) and piece != SPACE}


def own_space(model: nn.Module, tokenizer: Tokenizer) -> system_words.WordSpace:
    """The whole words of the vocabulary, with their rows in the model's first embedding table."""
    table = next(m.table for m in model.modules() if isinstance(m, layers_embedding.Embedding))
    words = whole_words(tokenizer)
    return system_words.WordSpace(list(words.values()), table.detach()[list(words)].float().cpu())
