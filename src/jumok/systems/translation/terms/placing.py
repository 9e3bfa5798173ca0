"""The terms of a glossary in the place of the words that translate them.

A model that was not trained with terms does not know them: a search that must write one writes
it beside the word that it would have written. So the plain translation is kept, and the word in it
that the term's source caused is replaced: the one whose log-probability falls most where the source
is read without the term, and rises most where nothing but the term is read, weighted by how much it
attended to the term. What that word carries (punctuation, a Korean particle) is put on the term.
Where no word is surely the term's, the translation stays, and says so.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt

from jumok.alignment.words import Link, Weights, links, merge_words
from jumok.data.texts.tokenizer import NOT_UTF8
from jumok.data.tokenizer import UNKNOWN, plain_words
from jumok.decoding.rank import Ranker
from jumok.systems.translation.drafts import Drafting
from jumok.systems.translation.judging import TERM_FORM
from jumok.systems.translation.kept.inserting import word_spans
from jumok.systems.translation.kept.keeping import Keep
from jumok.systems.translation.result import Draft
from jumok.systems.translation.searching import Searcher
from jumok.systems.translation.segments import Segment
from jumok.systems.translation.sentences import Span
from jumok.systems.translation.terms.glossary import TermPlace
from jumok.systems.translation.terms.particles import (
    PROBES,
    before_noun,
    elided,
    fitted,
    is_article,
    may_not_fit,
    suffixes,
)

SURE = 1.5
"""Nats: the least evidence for a word that is replaced."""

LEAST_MASS = 0.7
"""A share of the evidence of the best word: the next ones that reach it belong to the term, too."""

UNATTENDED = 0.5  # in place of the attention of a model that has none
MOST_TERMS = 64  # terms of a segment; others are missing, as each takes two passes
TERMS_AT_ONCE = 64  # targets that are scored together


Evidence = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Reading:
    """A draft with the words that may be replaced.

    Attributes:
        tokens: of its text. units: the spans of its words. unit_of: the word of each token.
    """

    row: int
    part: Segment
    draft: Draft
    tokens: list[int]
    units: list[Span]
    unit_of: Sequence[int]


@dataclass(frozen=True)
class _Found:
    """The words of a draft that a term's source caused, without what they carry at their edges."""

    reading: _Reading
    place: TermPlace
    first: int
    last: int
    start: int
    end: int

    @property
    def core(self) -> str:
        return self.reading.draft.text[self.start : self.end]

    @property
    def written(self) -> str:
        """The term with what the replaced words carry at their end."""
        term = self.place.term.target
        if self.start == 0 and self.core[0].isupper():
            term = term[0].upper() + term[1:]
        carried = self.reading.draft.text[self.end : self.reading.units[self.last][1]]
        start, end = _without_marks(carried, 0, len(carried))
        return term + (carried if start else fitted(term, carried[:end]) + carried[end:])


@dataclass(frozen=True)
class TermPlacer:
    """Puts terms into drafts.

    Where the language writes no spaces between words, tokens are what is replaced.
    """

    drafting: Drafting
    searcher: Searcher
    keep: Keep | None

    def place(
        self,
        parts: Sequence[Segment],
        places: Sequence[Sequence[TermPlace]],
        drafts: Sequence[Sequence[Draft]],
    ) -> list[tuple[int, Draft]]:
        """Replaces the words of terms in drafts; those that were changed, with their rows."""
        readings, changed = [], []
        for row, (part, its) in enumerate(zip(parts, places, strict=True)):
            for draft in drafts[row] if its else ():
                if _is_whole(part.text, its[0]):
                    _write_alone(part.text, its[0], draft)
                    changed.append((row, draft))
                elif (reading := self._reading(row, part, draft)) is not None:
                    readings.append(reading)
                else:
                    draft.missing_terms = tuple(each.term.source for each in its)
        if not readings:
            return changed
        found = self._locate(readings, [places[each.row][:MOST_TERMS] for each in readings])
        for reading, of_reading in zip(readings, self._without_suffixes(found), strict=True):
            if _replace(reading, places[reading.row], of_reading, self.drafting.language):
                changed.append((reading.row, reading.draft))
        return changed

    def _reading(self, row: int, part: Segment, draft: Draft) -> _Reading | None:
        """None: nothing can be said of its words."""
        tokens = self.drafting.tokenizer.target.encode(draft.text)
        source_words = self.drafting.tokenizer.words(part.ids)
        if not tokens or source_words[-1] + 1 != len(word_spans(part.text)) or self._long(tokens):
            return None
        if self.drafting.spaceless:
            ends = [0]
            for end in range(1, len(tokens) + 1):
                begun = self.drafting.tokenizer.decode(tokens[:end])
                ends.append(ends[-1] if begun.endswith(NOT_UTF8) else len(begun))
            units = list(pairwise(ends))
            return _Reading(row, part, draft, tokens, units, range(len(tokens)))
        words = [max(word, 0) for word in self.drafting.tokenizer.words(tokens)]
        units = word_spans(draft.text)
        known = words[-1] + 1 == len(units)
        return _Reading(row, part, draft, tokens, units, words) if known else None

    def _long(self, tokens: Sequence[int]) -> bool:
        return self.drafting.longest is not None and len(tokens) > self.drafting.longest

    def _locate(
        self, readings: Sequence[_Reading], places: Sequence[Sequence[TermPlace]]
    ) -> list[list[_Found]]:
        """For each draft the words of the terms that surely have some."""
        pairs = []
        for reading, its in zip(readings, places, strict=True):
            part = reading.part
            every = range(len(word_spans(part.text)))
            hidden: list[Collection[int]] = [(), every]
            for place in its:
                words = _words_of(part.text, place)
                hidden += [words, set(every) - set(words)]
            pairs += [(self._without(part, words), reading.tokens) for words in hidden]
        scored = iter(self._scored(pairs))
        located = []
        for reading, weights, its in zip(readings, self._attention(readings), places, strict=True):
            plain, blank = next(scored), next(scored)
            evidence = []
            for place in its:
                falls, rises = plain - next(scored), next(scored) - blank
                of_words = [
                    np.bincount(reading.unit_of, nats, len(reading.units)).clip(0)
                    for nats in (falls, rises)
                ]
                words = _words_of(reading.part.text, place)
                attended = UNATTENDED if weights is None else weights[:, words].sum(axis=1)
                evidence.append((of_words[0] + of_words[1]) * attended)
            located.append(self._chosen(reading, its, evidence))
            if weights is not None and not self.drafting.spaceless:
                reading.draft.alignment = tuple(links(weights))
        return located

    def _attention(self, readings: Sequence[_Reading]) -> list[Weights | None]:
        """Between the words of each source and those that may be replaced; None: there is none."""
        if not self.drafting.aligns:
            return [None] * len(readings)
        read = self.searcher.read([each.part.ids for each in readings])
        words = self.drafting.tokenizer.words
        return [
            merge_words(weights[:, :-1], words(each.part.ids), list(each.unit_of))
            for each, weights in zip(
                readings, read.attention([each.tokens for each in readings]), strict=True
            )
        ]

    def _without(self, part: Segment, words: Collection[int]) -> list[int]:
        """The tokens of a source, UNKNOWN in the place of these words."""
        ids = zip(part.ids, self.drafting.tokenizer.words(part.ids), strict=True)
        return [UNKNOWN if word in words else token for token, word in ids]

    def _scored(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[Evidence]:
        """The log-probabilities of each target's tokens, without that of END."""
        scored: list[Evidence] = []
        for begin in range(0, len(pairs), TERMS_AT_ONCE):
            here = pairs[begin : begin + TERMS_AT_ONCE]
            read = self.searcher.read([source for source, _ in here])
            for one in read.score([target for _, target in here], Ranker()):
                scored.append(np.array(one.token_log_probabilities[: len(one.tokens)]))
        return scored

    def _chosen(
        self, reading: _Reading, places: Sequence[TermPlace], evidence: Sequence[Evidence]
    ) -> list[_Found]:
        """The words of each term: those that are the surest first, and each only once."""
        text, units = reading.draft.text, reading.units
        language = self.drafting.language
        article = np.array([is_article(text[start:end], language) for start, end in units])
        free = np.ones(len(units), dtype=bool)
        for kept in self.keep.find(text) if self.keep else ():
            free &= [end <= kept.start or start >= kept.end for start, end in units]
        found = []
        in_order = sorted(zip(places, evidence, strict=True), key=lambda each: -each[1].max())
        for place, nats in in_order:
            best = int(np.where(free, nats, -1).argmax())
            if not free[best] or nats[best] < SURE:
                continue
            same = free & (nats > LEAST_MASS * nats[best])
            first = last = best
            while first > 0 and same[first - 1] and " " in place.term.source:
                first -= 1
            while last + 1 < len(units) and same[last + 1]:
                last += 1
            if article[first : last + 1].all():
                continue
            while article[first]:  # it stays, unless the term has its own
                first += 1
            own = is_article(place.term.target.split()[0], language)
            first -= int(own and first > 0 and article[first - 1])
            free[first : last + 1] = False
            start, end = _without_marks(text, units[first][0], units[last][1])
            start += elided(text[start:end], language)
            found.append(_Found(reading, place, first, last, start, end))
        return sorted(found, key=lambda each: each.first)

    def _without_suffixes(self, found: Sequence[Sequence[_Found]]) -> list[list[_Found]]:
        """The same without the particles at their ends.

        Where the end of a word may be a particle or not (고양이, 소년이), the noun is the one that
        the model would more readily write with another particle.
        """
        every = [each for of_draft in found for each in of_draft]
        pairs, tried = [], []
        best: dict[int, tuple[float, str]] = {}
        for number, each in enumerate(every):
            ends = suffixes(each.core, self.drafting.language)
            best[number] = -np.inf, ends[0]
            for suffix in ends if len(ends) > 1 else ():
                noun = each.core.removesuffix(suffix)
                for form in {noun + fitted(noun, probe) for probe in PROBES} - {each.core}:
                    tokens = self.drafting.tokenizer.target.encode(
                        each.reading.draft.text[: each.start] + form
                    )
                    words = _words_of(each.reading.part.text, each.place)
                    if not self._long(tokens):
                        pairs.append((self._without(each.reading.part, words), tokens))
                        tried.append((number, suffix))
        for (number, suffix), (_, tokens), values in zip(
            tried, pairs, self._scored(pairs), strict=True
        ):
            # What is one token is a word that was often in the training data.
            words = self.drafting.tokenizer.words(tokens)[-2:]
            alone = len(set(words)) == len(words)
            value = 0.0 if alone else float(values[-1])
            best[number] = max(best[number], (value, suffix))
        nouns = iter(
            replace(each, end=each.end - len(best[number][1])) for number, each in enumerate(every)
        )
        return [[next(nouns) for _ in of_draft] for of_draft in found]


def _without_marks(text: str, start: int, end: int) -> Span:
    """The span from its first letter or digit to its last; all of it where there is none."""
    first, last = start, end
    while first < last and not text[first].isalnum():
        first += 1
    while last > first and not text[last - 1].isalnum():
        last -= 1
    return (first, last) if first < last else (start, end)


def _replace(
    reading: _Reading, places: Sequence[TermPlace], found: Sequence[_Found], language: str
) -> bool:
    """Writes the terms into a draft; whether its text was changed."""
    draft, text = reading.draft, reading.draft.text
    linked = draft.alignment
    for each in reversed(found):
        if each.core == each.place.term.target:
            continue
        end = reading.units[each.last][1]
        before = before_noun(text[: each.start], each.written, language)
        changed = before + each.written + text[end:]
        if may_not_fit(before, each.written, language):
            draft.notes = tuple(dict.fromkeys((*draft.notes, TERM_FORM)))
        if linked is not None:
            more = len(plain_words(changed)) - len(plain_words(text))
            linked = _moved(linked, each, more, _words_of(reading.part.text, each.place))
        text = changed
    draft.terms = tuple(each.place.term.target for each in found)
    draft.missing_terms = tuple(
        each.term.source
        for each in places
        if each not in [one.place for one in found]
        and text.count(each.term.target) <= draft.terms.count(each.term.target)
    )
    is_changed = text != draft.text
    draft.text, draft.alignment = text, linked
    return is_changed


def _moved(
    linked: Sequence[Link], found: _Found, more: int, source_words: Sequence[int]
) -> tuple[Link, ...]:
    """The links after a replacement that made so many words more: the term's are its source's."""
    moved = [
        (source, target + more * (target > found.last))
        for source, target in linked
        if not found.first <= target <= found.last
    ]
    words = range(found.first, found.last + more + 1)
    return tuple(sorted([*moved, *product(source_words, words)]))


def _words_of(source: str, place: TermPlace) -> list[int]:
    """The indices of the words that hold a term."""
    return [
        word
        for word, (start, end) in enumerate(word_spans(source))
        if start < place.end and place.start < end
    ]


def _is_whole(source: str, place: TermPlace) -> bool:
    """Whether a source is a term and nothing else."""
    return not re.search(r"\w", source[: place.start] + source[place.end :])


def _write_alone(source: str, place: TermPlace, draft: Draft) -> None:
    draft.text = source[: place.start] + place.term.target + source[place.end :]
    draft.terms, draft.missing_terms = (place.term.target,), ()
    words = range(len(plain_words(draft.text)))
    draft.alignment = tuple(product(_words_of(source, place), words))
