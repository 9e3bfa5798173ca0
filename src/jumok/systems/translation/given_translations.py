"""Teacher-forced scores and attention of given translations.

Importing it imports no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jumok.alignment.words import links, merge_words_without_torch
from jumok.attention.events import emit
from jumok.data.pairs.rows import batched_rows
from jumok.data.tokenizer import Tokenizer, normalize, plain_words
from jumok.decoding.rank import Ranker
from jumok.errors import DataError, ModelError
from jumok.systems.base import GIVEN, ROWS
from jumok.systems.embedding import SourceReader
from jumok.systems.given import text_of, texts_in
from jumok.systems.translation.part_writer import Draft, translation_of, written_text
from jumok.systems.translation.result import Translation, WordAttention
from jumok.systems.translation.searching import Searcher
from jumok.systems.translation.segments import check_lengths

if TYPE_CHECKING:
    from jumok.alignment.aligner import Aligner
    from jumok.data.pairs.batches import SourceBatch
    from jumok.models.memory import Memory


class GivenTranslations(SourceReader):
    """Reads a source, and scores a given translation of it."""

    tokenizer: Tokenizer
    longest_target: int | None

    @property
    def _aligner(self) -> Aligner:
        raise NotImplementedError

    @property
    def searcher(self) -> Searcher:
        """What computes now: the native engine, or torch."""
        raise NotImplementedError

    @property
    def aligns(self) -> bool:
        """Whether there is attention to extract alignments from."""
        raise NotImplementedError

    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, batch_size: int = 32
    ) -> list[Translation]:
        """The log-probabilities of each token and END of given translations.

        Lines are not cut: a pair is scored whole.

        Raises:
            DataError: the numbers of sources and targets differ, a line is longer than the model
                can read, or something is not a list of texts.
        """
        sources, targets = texts_in(sources, "sources"), texts_in(targets, "targets")
        if len(sources) != len(targets):
            raise DataError(
                "every source needs its target.",
                expected=f"{len(sources):,} targets",
                got=f"{len(targets):,}",
            )
        read = self.tokenizer.encode_batch(sources)
        write = self.tokenizer.encode_batch(targets)
        check_lengths(self.longest_target, read, write)
        emit(self, GIVEN, len(sources))
        searcher = self.searcher
        scored: list[Translation] = [Translation("")] * len(sources)
        for rows in batched_rows(read, batch_size):
            row_targets = [write[row] for row in rows]
            emit(self, ROWS, rows)
            batch = searcher.read([read[row] for row in rows])
            for row, hypothesis in zip(rows, batch.score(row_targets, Ranker()), strict=True):
                draft = Draft(hypothesis, written_text(self.tokenizer, hypothesis.tokens))
                scored[row] = translation_of(self.tokenizer, read[row], draft)
        return scored

    def attention(self, source: str, target: str) -> WordAttention:
        """How much each word of `target` attended to each word of `source`.

        Raises:
            DataError: a text has no word, or is longer than the model can read.
            ModelError: the model has no attention.
        """
        self.check_alignments()
        source, target = text_of(source, "source"), text_of(target, "target")
        read, write = self.tokenizer.encode(source), self.tokenizer.encode(target)
        if not read or not write:
            raise DataError("attention needs a word on both sides.", got=repr((source, target)))
        check_lengths(self.longest_target, [read], [write])
        emit(self, GIVEN, 1)
        emit(self, ROWS, [0])
        (weights,) = self.searcher.read([read]).attention([write])
        words = merge_words_without_torch(
            weights[:, : len(read)], self.tokenizer.words(read), self.tokenizer.words(write)
        )
        source_words, target_words = map(plain_words, (normalize(source), normalize(target)))
        import torch

        return WordAttention(
            tuple(source_words), tuple(target_words), torch.from_numpy(words), tuple(links(words))
        )

    def check_alignments(self) -> None:
        """Raises ModelError if there is no attention to extract alignments from."""
        if not self.aligns:
            raise ModelError(
                "this model has no attention: it reads a whole sentence as one vector.",
                expected="attention over the source",
                do="use a model with attention, or leave alignments out",
            )

    def read(self, batch: SourceBatch) -> list[Memory]:
        """What the encoder of each model writes about these sources."""
        import torch

        device = next(self._models[0].parameters()).device
        tokens = batch.tokens.to(device)
        allowed = None if batch.allowed is None else batch.allowed.to(device)
        with torch.inference_mode():
            return [model.encode(tokens, allowed) for model in self._models]
