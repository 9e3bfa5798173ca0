"""A translator's scores and attention for translations that it is given.

Importing it imports no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jumok.alignment.words import links, merge_words_without_torch
from jumok.attention.heard import tell
from jumok.data.pairs.rows import batched_rows
from jumok.data.tokenizer import Tokenizer, normalize, plain_words
from jumok.decoding.rank import Ranker
from jumok.errors import DataError, ModelError
from jumok.late import late_imports
from jumok.systems.base import GIVEN, ROWS, Shown, at_work, torch_at_work
from jumok.systems.embedding import SourceReader
from jumok.systems.given import text_of, texts_in
from jumok.systems.translation.part_writer import Draft, translation_of, written_text
from jumok.systems.translation.result import Translation, WordAttention
from jumok.systems.translation.searching import Searcher
from jumok.systems.translation.segments import check_lengths

with late_imports():
    import torch

    from jumok.alignment import aligner as alignment_aligner
    from jumok.data.pairs import batches
    from jumok.decoding import ensemble
    from jumok.models import memory as models_memory


class GivenTranslations(SourceReader):
    """Reads a source, and scores a given translation of it."""

    tokenizer: Tokenizer
    decoder: Shown[models_memory.Decoder[Any]] = Shown()
    aligner: Shown[alignment_aligner.Aligner] = Shown()
    longest_target: int | None

    @property
    def searcher(self) -> Searcher:
        """What computes now: the native engine, or torch."""
        raise NotImplementedError

    @property
    def aligns(self) -> bool:
        """Whether there is attention to extract alignments from."""
        raise NotImplementedError

    @at_work
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
        tell(self, GIVEN, len(sources))
        scored: list[Translation] = [Translation("")] * len(sources)
        for rows in batched_rows(read, batch_size):
            given = [write[row] for row in rows]
            tell(self, ROWS, rows)
            batch = self.searcher.read([read[row] for row in rows])
            for row, hypothesis in zip(rows, batch.score(given, Ranker()), strict=True):
                draft = Draft(hypothesis, written_text(self.tokenizer, hypothesis.tokens))
                scored[row] = translation_of(self.tokenizer, read[row], draft)
        return scored

    @at_work
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
        tell(self, GIVEN, 1)
        tell(self, ROWS, [0])
        (weights,) = self.searcher.read([read]).attention([write])
        words = merge_words_without_torch(
            weights[:, : len(read)], self.tokenizer.words(read), self.tokenizer.words(write)
        )
        source_words, target_words = map(plain_words, (normalize(source), normalize(target)))
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

    @torch_at_work
    def read(self, batch: batches.SourceBatch) -> models_memory.Memory:
        """The Memory that the encoders of all models write about these sources."""
        with torch.inference_mode():
            return self._memory_of(batch)

    def _memory_of(self, batch: batches.SourceBatch) -> models_memory.Memory:
        device = next(self.models[0].parameters()).device
        tokens = batch.tokens.to(device)
        allowed = None if batch.allowed is None else batch.allowed.to(device)
        memories = [model.encode(tokens, allowed) for model in self.models]
        return memories[0] if len(memories) == 1 else ensemble.join_memories(memories)
