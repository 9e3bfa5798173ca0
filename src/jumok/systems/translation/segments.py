"""Segmentation of lines for a model, and joining of their translations."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Literal, TypedDict, get_args

from jumok.alignment.words import Link
from jumok.data.tokenizer import Tokenizer, normalize, plain_words
from jumok.errors import ConfigError, DataError, ModelError
from jumok.systems.translation.kept.edges import LONG_WORD
from jumok.systems.translation.kept.letter_case import Recased
from jumok.systems.translation.result import Translation, noted
from jumok.systems.translation.sentences import Span, language_code, sentences, split

_WORD = re.compile("[^ ]+")

LONGEST_WHOLE = 2048
"""Tokens of the longest line that is not cut; its attention takes the square of them in memory."""

Split = Literal["auto", "sentences", "length", "none"]
"""How lines are cut: as the model was trained, after every sentence, only if too long, or never."""


class HowRead(TypedDict):
    """Arguments of `Translator.translate`."""

    split: Split
    keep: bool


MODEL_ALONE: HowRead = {"split": "length", "keep": False}
"""How a model is measured by itself, whole line by whole line, as in papers."""


@dataclass(frozen=True)
class Segment:
    """What is translated at once: a line, or a part of one.

    Attributes:
        line: the index of its line.
        ids: its tokens, without END.
        first_word: the index in the line of the word that it starts with, or in.
        text: what was encoded; without tokens it is copied.
        before, after: signs at its edges, which are copied.
        given: its text in the case that it was given in; "" if that is `text`.
    """

    line: int
    ids: list[int]
    first_word: int = 0
    text: str = ""
    before: str = ""
    after: str = ""
    given: str = ""

    @property
    def source(self) -> str:
        """Its part of the line, with the signs."""
        return f"{self.before}{self.given or self.text}{self.after}"

    @property
    def is_long_word(self) -> bool:
        """Whether it is copied because it is longer than any word."""
        return not self.ids and LONG_WORD.fullmatch(self.text) is not None

    @property
    def copied(self) -> Translation:
        """What becomes of it if there is nothing to translate in it."""
        same = tuple((word, word) for word in range(len(plain_words(self.text))))
        return Translation(self.text, alignment=same)

    def written(self, text: str) -> str:
        """A translation between its signs; an ellipsis takes the place of a full stop."""
        if self.after.startswith(("...", "…")):
            text = text.rstrip(".。")
        return f"{self.before}{text}{self.after}"

    def with_edges(self, translation: Translation) -> Translation:
        """As `written`, with its alignment."""
        if not (self.before or self.after):
            return translation
        links = translation.alignment
        if links is not None:
            links = self._links_with_edges(links, len(plain_words(translation.text)))
        return replace(translation, text=self.written(translation.text), alignment=links)

    def _links_with_edges(self, links: Sequence[Link], words: int) -> tuple[Link, ...]:
        """The links of a text of so many words, and those of each sign to itself.

        A sign without a space to the text is a part of its first or last word.
        """
        first = len(plain_words(self.before)) - len(self.before[-1:].strip())
        here = len(plain_words(self.text))
        of_signs = [(word - first, word) for word in range(first)]
        glued = len(self.after[:1].strip())
        for word in range(len(plain_words(self.after)) - glued):
            of_signs.append((here + word, first + words + word))
        moved = [(source, target + first) for source, target in links]
        return tuple(sorted([*of_signs, *moved]))


def cuts_sentences(split: Split, languages: tuple[str, str], common: int | None) -> bool:
    """Whether lines are cut after every sentence.

    "auto" cuts them unless the training lines usually held several sentences. A model whose two
    languages are the same answers or rewrites, and is given whole lines.

    Args:
        languages: those of source and target.
        common: the usual number of sentences in a line of training (`BundleConfig.sentences`);
            None: not known.

    Raises:
        ConfigError: there is no such way to split.
    """
    if split not in get_args(Split):
        raise ConfigError(
            "there is no such way to split lines.",
            expected=" | ".join(get_args(Split)),
            got=repr(split),
        )
    if split != "auto":
        return split == "sentences"
    source, target = map(language_code, languages)
    return source != target and (common or 1) == 1


def cut_lines(
    texts: Sequence[str],
    tokenizer: Tokenizer,
    limit: int | None,
    after_sentences: bool = False,
    language: str = "",
    core: Callable[[str], Span | None] | None = None,
    recased: Callable[[str, str], Recased | None] | None = None,
) -> list[Segment]:
    """The segments of all lines, in order; empty lines have none.

    Args:
        limit: the maximum length of a segment in tokens. None: no limit.
        core: the span of a segment that is encoded; where it is None, nothing is. None: all is.
        after_sentences: cut after every sentence, and not only where a line is too long.
        language: of the texts, for where their sentences end.
        recased: a segment (of a line) in the case that it is read in, if that is another one.
    """
    parts = []
    for line, ids in enumerate(tokenizer.encode_batch(texts)):
        if not ids:
            continue
        text = normalize(texts[line])
        spans: Sequence[Span] = [(0, len(text))]
        if after_sentences:
            spans = sentences(text, language)
        if core is not None:
            spans = _around_long_words(text, spans)
        whole = len(spans) == 1 and (limit is None or len(ids) <= limit)
        if (
            whole
            and (core is None or core(text) == (0, len(text)))
            and not (recased and recased(text, text))
        ):
            parts.append(Segment(line, ids, text=text))
            continue
        parts += _segments_of(line, text, spans, tokenizer, limit, core, recased)
    return parts


def _around_long_words(text: str, spans: Sequence[Span]) -> Sequence[Span]:
    """The spans, cut before and after each string that is longer than any word."""
    edges = {place for match in LONG_WORD.finditer(text) for place in match.span()}
    if not edges:
        return spans
    edges.update(place for span in spans for place in span)
    return list(pairwise(sorted(edges)))


def _segments_of(
    line: int,
    text: str,
    spans: Sequence[Span],
    tokenizer: Tokenizer,
    limit: int | None,
    core: Callable[[str], Span | None] | None,
    recased: Callable[[str, str], Recased | None] | None,
) -> Iterator[Segment]:
    starts = [match.start() for match in _WORD.finditer(text)]

    def measure(part: str) -> int:
        return len(tokenizer.encode(part))

    def word(start: int) -> int:
        """The index of the word that begins at a place, or that the place is inside of."""
        inside = start > 0 and " " not in text[start - 1 : start + 1]
        return bisect_left(starts, start) - inside

    for first, last in spans:
        whole = text[first:last]
        span = (0, len(whole)) if core is None else core(whole)
        if span is None:
            yield Segment(line, [], word(first), whole.strip())
            continue
        edges = [whole[: span[0]].lstrip(), whole[span[1] :].rstrip()]
        given = whole[slice(*span)]
        found = recased(given, text) if recased else None
        read = given if found is None else found.text
        inner = [(0, len(given))] if limit is None else split(read, limit, measure)
        for start, end in inner:
            part = read[start:end]
            ids = tokenizer.encode(part)
            before = edges[0] if start == 0 else ""
            after = edges[1] if end == len(given) else ""
            if ids or before or after:
                first_word = word(first + span[0] + start)
                own = "" if found is None else given[start:end]
                yield Segment(line, ids, first_word, part, before, after, own)


def join(
    lines: int,
    parts: Sequence[Segment],
    translated: Sequence[Sequence[Translation]],
    joint: str,
    nbest: int | None = None,
) -> list[Translation]:
    """One translation a line, with its alternatives.

    The n best of a line of several segments are the n combinations of its segments' translations
    with the highest sums of scores, each text once.

    Args:
        lines: the number of lines; those without a segment stay empty.
        translated: for each segment its translations, best first.
        joint: put between the translations of a line's segments.
        nbest: the number of translations a line. None: the first of each segment together, then
            the second of each, in the order of the samples.
    """
    joined = [Translation("", alignment=()) for _ in range(lines)]
    pairs = zip(parts, translated, strict=True)
    for line, group in groupby(pairs, key=lambda pair: pair[0].line):
        of_line = list(group)
        each = [list(map(part.with_edges, translations)) for part, translations in of_line]
        ranks = zip(*each, strict=False) if nbest is None else _best(each, joint, nbest)
        words = [part.first_word for part, _ in of_line]
        best, *others = [_join_one(words, rank, joint) for rank in ranks]
        joined[line] = replace(best, alternatives=tuple(others))
    return joined


def _best(
    translated: Sequence[Sequence[Translation]], joint: str, nbest: int
) -> list[tuple[Translation, ...]]:
    """The combinations with the highest sums, each text once, best first.

    A prefix that is not among the n best cannot begin one of the n best lines.
    """
    best: list[tuple[float, str, tuple[Translation, ...]]] = [(0.0, "", ())]
    for translations in translated:
        longer = [
            (score + one.score, _joined_pair(text, one.text, joint), (*chosen, one))
            for score, text, chosen in best
            for one in translations
        ]
        longer.sort(key=lambda combination: -combination[0])
        first: dict[str, tuple[float, str, tuple[Translation, ...]]] = {}
        for combination in longer:
            first.setdefault(combination[1], combination)
        best = list(first.values())[:nbest]
    return [chosen for _, _, chosen in best]


def _joined_pair(before: str, after: str, joint: str) -> str:
    return f"{before}{joint if before and after else ''}{after}"


def _join_one(first_words: Sequence[int], parts: Sequence[Translation], joint: str) -> Translation:
    if len(parts) == 1 and not first_words[0]:
        return parts[0]
    text = ""
    alignment: list[Link] = []
    for first_word, part in zip(first_words, parts, strict=True):
        # Without a space between them the last word so far and the segment's first become one.
        glued = bool(text) and not (joint and part.text)
        first_target = len(plain_words(text)) - glued
        links = part.alignment or ()
        alignment += [(source + first_word, target + first_target) for source, target in links]
        text = _joined_pair(text, part.text, joint)
    return Translation(
        text,
        sum(part.score for part in parts),
        tuple(piece for part in parts for piece in part.tokens),
        tuple(value for part in parts for value in part.token_log_probabilities),
        tuple(piece for part in parts for piece in part.source_tokens),
        tuple(sorted(alignment)) if parts[0].alignment is not None else None,
        confidence=min(
            (part.confidence for part in parts if part.confidence is not None), default=None
        ),
        forced=tuple(each for part in parts for each in part.forced),
        inserted=tuple(each for part in parts for each in part.inserted),
        notes=noted(parts),
        unknown_words=tuple(each for part in parts for each in part.unknown_words),
        terms=tuple(each for part in parts for each in part.terms),
        missing_terms=tuple(each for part in parts for each in part.missing_terms),
    )


def forced_beginnings(
    parts: Sequence[Segment], lines: int, prefixes: Sequence[str] | None, tokenizer: Tokenizer
) -> list[list[int]] | None:
    """For each segment the tokens it has to begin with: those that open every target, and the
    line's prefix in its first segment. None: nothing is forced.

    Raises:
        ModelError: the numbers of prefixes and lines differ.
    """
    opening = list(tokenizer.target.opening)
    if prefixes is None:
        return [opening] * len(parts) if opening else None
    if len(prefixes) != lines:
        raise ModelError(
            "every line needs its own prefix, which may be empty.",
            expected=f"{lines} prefixes",
            got=str(len(prefixes)),
        )
    encoded = tokenizer.target.encode_batch(prefixes)
    begun: set[int] = set()
    forced = []
    for part in parts:
        forced.append(opening if part.line in begun else encoded[part.line] or opening)
        if part.ids:
            begun.add(part.line)
    return forced


def check_lengths(longest: int | None, *sides: Sequence[Sequence[int]]) -> None:
    """Raises DataError if a line has more tokens than the model's positions, or than LONGEST_WHOLE.

    Args:
        longest: of the model's positions; None: they set no limit.
    """
    most = min(longest or LONGEST_WHOLE, LONGEST_WHOLE)
    for side in sides:
        for line, ids in enumerate(side, start=1):
            if len(ids) > most:
                raise DataError(
                    f"line {line} is longer than the model can read at once.",
                    expected=f"at most {most} tokens",
                    got=f"{len(ids)} tokens",
                    do="cut the line, here and in the other file",
                )
