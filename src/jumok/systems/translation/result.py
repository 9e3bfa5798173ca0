"""Translations, and what is known of them. Importing this imports no torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import exp, fsum
from typing import TYPE_CHECKING

from jumok.alignment.words import Link
from jumok.data.tokenizer import Tokenizer, normalize, plain_words
from jumok.decoding import Hypothesis
from jumok.systems.base import Facts

if TYPE_CHECKING:
    import torch

    from jumok.shapes import Float


@dataclass(frozen=True)
class Translation:
    """The translation of a line, with its probability by the model.

    Words are separated by plain spaces. If a line was translated in segments, the attributes
    concatenate the segments, and `score` is their sum.

    Attributes:
        text: one line, without a line break; "" for a line without a word.
        score: the score that ranks translations: the log-probability after length and coverage
            penalty. Higher is better; only scores of the same source are comparable.
        tokens: the tokens of the translation, without END.
        token_log_probabilities: natural logarithms, one per token and one for the END of each
            completed segment.
        source_tokens: the tokens of the source, without END.
        alignment: (source word, target word), both from 0. None if it was not requested, or if the
            model has no attention.
        alternatives: the second best translation, the third best, ..., if requested; no two have
            the same text.
        confidence: 0 to 1, of the least certain segment; None for a line without a word. If the
            model card has a calibration (`jumok.bundle.confidence`), the probability that the
            translation is correct by the criterion of the calibration. Otherwise, and for given
            translations and ensembles, the geometric mean of the probabilities of the tokens and
            END: the certainty of the model, not the probability of a correct translation.
        forced: kept strings that the plain search left out and constrained search wrote.
        inserted: kept strings that the model could not write, inserted by the word alignment;
            tokens and log-probabilities are those of the text with them.
        notes: codes of warnings about the source or the translation, each once
            (`jumok.systems.translation.judging`).
        unknown_words: words of the source that are not in the training data.
        terms: the glossary translations that were put in place.
        missing_terms: terms of the source without their glossary translation in the text, because
            no word could be attributed to them with certainty.
    """

    text: str
    score: float = 0.0
    tokens: tuple[str, ...] = ()
    token_log_probabilities: tuple[float, ...] = ()
    source_tokens: tuple[str, ...] = ()
    alignment: tuple[Link, ...] | None = None
    alternatives: tuple[Translation, ...] = ()
    confidence: float | None = None
    forced: tuple[str, ...] = ()
    inserted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unknown_words: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    missing_terms: tuple[str, ...] = ()

    @property
    def log_probability(self) -> float:
        """The log-probability of the whole text given the source (natural logarithm)."""
        return fsum(self.token_log_probabilities)

    def facts(self) -> Facts:
        alternatives = [other.facts() for other in self.alternatives]
        own = {"log_probability": self.log_probability, "alternatives": alternatives}
        return asdict(self) | own


@dataclass(frozen=True)
class WordAttention:
    """How much each target word attended to each source word.

    Attributes:
        weights: each row sums to at most 1; the rest went to the source's END.
        alignment: each target word with the source word it attended to most.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    weights: Float[torch.Tensor, "target_words source_words"]
    alignment: tuple[Link, ...]


@dataclass
class Draft:
    """A hypothesis with its text, and what was done so that the text contains what it must.

    Attributes:
        forced: what constrained search wrote. inserted: what was inserted afterwards.
        notes: as of a Translation.
        terms, missing_terms: as in `Translation`.
        alignment: its links if they are known; None: they are extracted from the attention.
    """

    hypothesis: Hypothesis
    text: str
    forced: tuple[str, ...] = ()
    inserted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    missing_terms: tuple[str, ...] = ()
    alignment: tuple[Link, ...] | None = None


def aligned_tokens(tokenizer: Tokenizer, written: Sequence[int], text: str) -> Sequence[int]:
    """The tokens that were written, or those of their text where its words differ.

    Bytes of a line break, and UNKNOWN, decode to spaces that no token announces.
    """
    if not text:
        return ()
    words = tokenizer.words(written)
    if words and words[-1] + 1 == len(plain_words(text)):
        return written
    return tokenizer.target.encode(text)


def written_text(tokenizer: Tokenizer, tokens: Sequence[int]) -> str:
    """The text of tokens, with single spaces; bytes may decode to a line break, which would break
    the line contract.
    """
    return " ".join(plain_words(normalize(tokenizer.decode(tokens)))).strip()


def noted(parts: Iterable[Translation]) -> tuple[str, ...]:
    """The notes of a line's segments, each once, in their order."""
    return tuple(dict.fromkeys(note for part in parts for note in part.notes))


def translation_of(tokenizer: Tokenizer, source: Sequence[int], draft: Draft) -> Translation:
    """A draft as a translation, without the alignment; the confidence is the model's own."""
    values = draft.hypothesis.token_log_probabilities
    return Translation(
        draft.text,
        draft.hypothesis.score,
        tuple(tokenizer.pieces(draft.hypothesis.tokens)),
        values,
        tuple(tokenizer.pieces(source)),
        confidence=exp(fsum(values) / len(values)) if values else None,
        forced=draft.forced,
        inserted=draft.inserted,
        notes=draft.notes,
        terms=draft.terms,
        missing_terms=draft.missing_terms,
    )


@dataclass(frozen=True)
class Likelihood:
    """The likelihood of a whole text, over its tokens and one END a line.

    Attributes:
        log_probability: the sum over all tokens: natural logarithm.
        tokens: ENDs included.
    """

    log_probability: float
    tokens: int

    @property
    def loss(self) -> float:
        """Nats a token."""
        return -self.log_probability / max(self.tokens, 1)  # without words there are none

    @property
    def perplexity(self) -> float:
        return exp(self.loss)


def likelihood(scored: Iterable[Translation]) -> Likelihood:
    """The likelihood of all lines in a result of `Translator.score`; at least one."""
    values = [value for line in scored for value in line.token_log_probabilities]
    return Likelihood(fsum(values), len(values))
