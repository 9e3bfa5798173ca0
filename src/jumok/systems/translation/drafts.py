"""Drafts of translations: their scores after changes, and the translations that they become."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jumok.alignment.words import Link, Weights, links, merge_words
from jumok.data.tokenizer import Tokenizer
from jumok.decoding import Hypothesis
from jumok.decoding.rank import Ranker
from jumok.systems.translation.judging import Judge
from jumok.systems.translation.result import (
    Draft,
    Translation,
    aligned_tokens,
    translation_of,
    written_text,
)
from jumok.systems.translation.searching import ReadSources
from jumok.systems.translation.segments import Segment


@dataclass(frozen=True)
class Drafting:
    """Reads drafts with the models that wrote them.

    Attributes:
        ranker: computes the scores of texts that were changed.
        aligns: whether the models have attention to extract alignments from.
        longest: the maximum number of tokens that can be scored; None: no limit.
        language: of the target.
        spaceless: it writes no spaces.
    """

    tokenizer: Tokenizer
    ranker: Ranker
    aligns: bool
    longest: int | None
    language: str
    spaceless: bool
    judge: Judge

    def draft(self, hypothesis: Hypothesis, forced: tuple[str, ...] = ()) -> Draft:
        return Draft(hypothesis, written_text(self.tokenizer, hypothesis.tokens), forced)

    def score_again(self, changed: Sequence[tuple[int, Draft]], read: ReadSources) -> None:
        """Gives changed drafts the tokens and scores of their texts, if those can be read."""
        target = self.tokenizer.target
        encoded = [
            (row, draft, target.encode(draft.text) or list(target.opening))
            for row, draft in changed
        ]
        encoded = [each for each in encoded if self.longest is None or len(each[2]) <= self.longest]
        if not encoded:
            return
        read = read.select([row for row, _, _ in encoded])
        scored = read.score([ids for _, _, ids in encoded], self.ranker)
        for (_, draft, _), hypothesis in zip(encoded, scored, strict=True):
            draft.hypothesis = hypothesis

    def translations(
        self,
        parts: Sequence[Segment],
        read: ReadSources,
        drafts: Sequence[Sequence[Draft]],
        alignments: bool,
    ) -> list[list[Translation]]:
        """For each segment its translations, with alignments from one pass over all of them."""
        unknown = self.judge.unknown([part.text for part in parts])
        plain = [
            [
                self.judge.judged(translation_of(self.tokenizer, part.ids, draft), part.text, share)
                for draft in of_part
            ]
            for part, of_part, share in zip(parts, drafts, unknown, strict=True)
        ]
        if not alignments or not self.aligns:
            return plain
        every = [(row, draft) for row, of_part in enumerate(drafts) for draft in of_part]
        unaligned = [(row, draft) for row, draft in every if draft.alignment is None]
        rows = [row for row, _ in unaligned]
        targets = [
            aligned_tokens(self.tokenizer, draft.hypothesis.tokens, draft.text)
            for _, draft in unaligned
        ]
        weights = read.select(rows).attention(targets) if rows else []
        extracted = iter(
            self._links(parts[row].ids, target, of_tokens)
            for row, target, of_tokens in zip(rows, targets, weights, strict=True)
        )
        links = iter(
            next(extracted) if draft.alignment is None else draft.alignment for _, draft in every
        )
        return [
            [replace(translation, alignment=next(links)) for translation in translated]
            for translated in plain
        ]

    def _links(
        self, source: Sequence[int], target: Sequence[int], weights: Weights
    ) -> tuple[Link, ...]:
        """The links between words; none to the source's END."""
        if not target:
            return ()
        words = self.tokenizer.words
        of_tokens = weights[:, : len(source)]
        return tuple(links(merge_words(of_tokens, words(source), words(target))))
