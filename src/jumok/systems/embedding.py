"""Sentence and word embeddings: means of an encoder's states.

Importing it imports no torch, which a translator on the native engine does not need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from jumok.attention.events import emit
from jumok.data.tokenizer import SPACE, Tokenizer, normalize, plain_words
from jumok.errors import ModelError
from jumok.systems.base import GIVEN, ROWS, System, numbered
from jumok.systems.given import text_of, texts_in
from jumok.systems.translation.segments import cut_lines

if TYPE_CHECKING:
    import torch
    from torch.nn import Module

    from jumok.data.files.vectors import Vectors
    from jumok.data.pairs.batches import SourceBatch
    from jumok.models.memory import Memory, SequenceToSequence
    from jumok.shapes import Float
    from jumok.systems.words import WordSpace


@runtime_checkable
class Embedder(Protocol):
    """A system that turns texts into vectors."""

    def sentence_vectors(
        self, texts: Sequence[str], batch_size: int = 32
    ) -> Float[torch.Tensor, "texts dim"]:
        """One vector for each text; `batch_size` texts are read together."""
        ...

    def word_vectors(self, text: str) -> tuple[tuple[str, ...], Float[torch.Tensor, "words dim"]]:
        """The words of a text, separated by plain spaces, and a vector for each in its context."""
        ...

    def word_space(self) -> WordSpace:
        """The words that are one token, with their vectors in the embedding table."""
        ...


class GivenVectors:
    """Vectors from a file (`jumok.data.files.vectors`): a word has the same one in every context.

    An Embedder. A sentence is the mean of its words that have vectors.
    """

    def __init__(self, vectors: Vectors) -> None:
        import torch

        self._matrix = torch.from_numpy(vectors.matrix)
        from jumok.systems.words import WordSpace

        self._space = WordSpace(vectors.words, self._matrix)

    def sentence_vectors(
        self,
        texts: Sequence[str],
        batch_size: int = 32,  # noqa: ARG002  (batches do not make a look-up faster)
    ) -> Float[torch.Tensor, "texts dim"]:
        """Zeros for a text of which no word has a vector."""
        words = [self.word_vectors(text)[1] for text in texts_in(texts)]
        sums = [vectors.sum(0) / max(len(vectors), 1) for vectors in words]
        import torch

        return torch.stack(sums) if sums else self._matrix[:0]

    def word_vectors(self, text: str) -> tuple[tuple[str, ...], Float[torch.Tensor, "words dim"]]:
        rows = [(word, self._space.row(word)) for word in plain_words(normalize(text))]
        known = [(word, row) for word, row in rows if row is not None]
        return tuple(word for word, _ in known), self._matrix[[row for _, row in known]]

    def word_space(self) -> WordSpace:
        return self._space


class SourceReader(System):
    """A system that reads sources with an encoder; an Embedder.

    Of several models the first one is used: the vectors of different models cannot be averaged.

    Attributes:
        max_tokens: tokens of the longest segment; longer texts are cut, and their segments
            averaged.
    """

    tokenizer: Tokenizer
    max_tokens: int

    @property
    def _models(self) -> Sequence[SequenceToSequence]:
        raise NotImplementedError

    def read_texts(self, texts: Sequence[str], batch_size: int) -> None:
        """Reads texts for `jumok.states_of`."""
        self.sentence_vectors(texts, batch_size)

    def sentence_vectors(
        self, texts: Sequence[str], batch_size: int = 32
    ) -> Float[torch.Tensor, "texts dim"]:
        """For each text the mean of the encoder's states, END's included; zeros without a word."""
        texts = texts_in(texts)
        parts = cut_lines(texts, self.tokenizer, self.max_tokens)
        numbers = numbered([part.line for part in parts])
        emit(self, GIVEN, len(texts))
        import torch

        vectors: list[torch.Tensor] = []
        lines, counts = [], torch.zeros(len(texts), 1)
        from jumok.data.pairs.batches import source_batches

        for batch in source_batches([part.ids for part in parts], sentences=batch_size):
            lines_read = [parts[row].line for row in batch.rows]
            emit(self, ROWS, lines_read, [numbers[row] for row in batch.rows])
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

    def word_vectors(self, text: str) -> tuple[tuple[str, ...], Float[torch.Tensor, "words dim"]]:
        """The words of a text, and for each the mean of the encoder's states at its tokens.

        Raises:
            ModelError: the encoder writes one vector for a whole sentence (an RNN's last state).
        """
        words = plain_words(normalize(text_of(text, "text")))
        import torch

        sums, counts = torch.zeros(len(words), self._width()), torch.zeros(len(words), 1)
        from jumok.data.pairs.batches import source_batches

        for part in cut_lines([text], self.tokenizer, self.max_tokens):
            (batch,) = source_batches([part.ids], sentences=1)
            rows = torch.tensor(self.tokenizer.words(part.ids))
            of_words = rows >= 0  # names of languages belong to none
            states = self._states(batch)[0]
            if len(states) < len(rows):
                raise ModelError(
                    "this model has no word vectors: its encoder writes one vector for a sentence.",
                    do="use sentence vectors, or a model with attention",
                )
            states = states[: len(rows)][of_words]
            # a token that decodes to a space opens a word that the text does not have
            rows = (part.first_word + rows[of_words]).clamp(max=len(words) - 1)
            sums.index_add_(0, rows, states)
            counts.index_add_(0, rows, torch.ones(len(rows), 1))
        return tuple(words), sums / counts.clamp(min=1)

    def word_space(self) -> WordSpace:
        return own_space(self._models[0], self.tokenizer)

    def read(self, batch: SourceBatch) -> list[Memory]:
        """What the encoder of each model writes about these sources."""
        import torch

        device = next(self._models[0].parameters()).device
        tokens = batch.tokens.to(device)
        allowed = None if batch.allowed is None else batch.allowed.to(device)
        with torch.inference_mode():
            return [model.encode(tokens, allowed) for model in self._models]

    def _states(self, batch: SourceBatch) -> Float[torch.Tensor, "batch length dim"]:
        device = next(self._models[0].parameters()).device
        allowed = None if batch.allowed is None else batch.allowed.to(device)
        import torch

        with torch.inference_mode():
            return self._models[0].encode(batch.tokens.to(device), allowed).states.float().cpu()

    def _width(self) -> int:
        from jumok.data.pairs.batches import source_batches

        (nothing,) = source_batches([[]], sentences=1)
        return self._states(nothing).shape[2]


def whole_words(tokenizer: Tokenizer) -> dict[int, str]:
    """The subwords that are whole words, by id: those that begin with the space sign."""
    pieces = enumerate(tokenizer.pieces(range(tokenizer.size)))
    return {id: piece[1:] for id, piece in pieces if piece.startswith(SPACE) and piece != SPACE}


def own_space(model: Module, tokenizer: Tokenizer) -> WordSpace:
    """The whole words of the vocabulary, with their rows in the model's first embedding table."""
    from jumok.layers.embedding import Embedding

    table = next(m.table for m in model.modules() if isinstance(m, Embedding))
    words = whole_words(tokenizer)
    from jumok.systems.words import WordSpace

    return WordSpace(list(words.values()), table.detach()[list(words)].float().cpu())
