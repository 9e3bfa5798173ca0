"""The markup of a text in its translation.

It is placed by the word alignment: an element goes around the run of target words that most links
of its own words, and fewest of the others', lead to.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from operator import itemgetter

from jumok.documents.segment import (
    DocumentSegment,
    Inline,
    Translated,
    has_word,
    with_spaces,
)

LONGEST_SHARED = 200
"""Characters of a part of a word that is looked for in the translation."""


@dataclass
class PlacedInline:
    """An inline with those inside of it, and the span of the translation that it encloses."""

    inline: Inline
    index: int
    inside: "list[PlacedInline]" = field(default_factory=list)
    start: int = 0
    end: int = 0


def place_inlines(segment: DocumentSegment, translated: Translated) -> list[PlacedInline]:
    """The outermost inlines in the order of the translation, with those inside of them."""
    nodes = [PlacedInline(inline, index) for index, inline in enumerate(segment.inlines)]
    roots: list[PlacedInline] = []
    for node in nodes:
        outer = node.inline.within
        (roots if outer is None else nodes[outer].inside).append(node)
    _place_within(roots, 0, len(translated.text), _Aligned(segment.text, translated))
    return roots


def _place_within(nodes: list[PlacedInline], first: int, last: int, aligned: "_Aligned") -> None:
    """Places neighbours, which share no character, and what is inside of them."""
    for node in nodes:
        node.start, node.end = aligned.range_of(node.inline)
    nodes.sort(key=lambda node: (node.start, node.end, node.index))
    ends = [*(node.start for node in nodes[1:]), last]
    for node, end in zip(nodes, ends, strict=False):  # without nodes there is one end
        node.start = min(max(node.start, first), last)
        node.end = min(max(node.end, node.start), last)
        if node.end == node.start and not node.inline.frozen:
            node.start, node.end = aligned.word_near(node.inline, node.start, first, end)
        first = node.end
        _place_within(node.inside, node.start, node.end, aligned)


def _spans_of_words(text: str) -> list[tuple[int, int]]:
    """The span of each word; words are what plain spaces separate."""
    spans, start = [], 0
    for word in text.split(" "):
        if word:
            spans.append((start, start + len(word)))
        start += len(word) + 1
    return spans


class _Aligned:
    """A text and its translation, word by word."""

    def __init__(self, source: str, translated: Translated) -> None:
        self.source, self.target = source, translated.text
        links = translated.links
        self.source_words = _spans_of_words(with_spaces(source) if links else source)
        self.target_words = _spans_of_words(self.target)
        many, most = len(self.source_words), len(self.target_words)
        if not links:  # not known: at the same fraction of both
            links = [(word, word * most // many) for word in range(many)] if most else []
        self.linked: dict[int, list[int]] = {}
        linked_to = [0] * most
        for one, other in links:
            if one < many and other < most:
                self.linked.setdefault(one, []).append(other)
                linked_to[other] += 1
        self.in_order = sorted(self.linked)
        self.links_before = list(accumulate(linked_to, initial=0))
        self._places: dict[str, tuple[list[int], list[int]]] = {}

    def range_of(self, inline: Inline) -> tuple[int, int]:
        if inline.start == inline.end:
            point = self._point(inline.start)
            return point, point
        if inline.frozen or not _ONLY_WORDS.fullmatch(self.source, inline.start, inline.end):
            verbatim = self._verbatim(inline)
            if verbatim is not None:
                return verbatim
        first = bisect_right(self.source_words, inline.start, key=itemgetter(1))
        last = bisect_left(self.source_words, inline.end, key=itemgetter(0))
        window = self._window(range(first, last))
        beside = (word for word in (first - 1, last) if 0 <= word < len(self.source_words))
        # What is aligned with code may be the translation of a word beside it that nothing is
        # aligned with.
        if window is None or (inline.frozen and not all(word in self.linked for word in beside)):
            point = self._point(inline.start)
            return point, point
        start, end = self.target_words[window[0]][0], self.target_words[window[1]][1]
        start += self._shared_start(start, end, self.source_words[first][0], inline.start)
        end -= self._shared_end(start, end, inline.end, self.source_words[last - 1][1])
        return start, max(start, end)

    def word_near(self, inline: Inline, at: int, first: int, last: int) -> tuple[int, int]:
        """A word between two places for an element of words that is aligned with none: an empty
        link leads nowhere, and Markdown shows the signs of empty emphasis.
        """
        if has_word(self.source[inline.start : inline.end]):
            number = bisect_left(self.target_words, at, key=itemgetter(0))
            for start, end in self.target_words[max(number - 1, 0) : number + 1][::-1]:
                if first <= start and end <= last:
                    return start, end
        return at, at

    def _shared_start(self, start: int, end: int, first: int, last: int) -> int:
        """How much of a span of the target corresponds to one of the source, at the starts."""
        if last - first > LONGEST_SHARED:
            return 0
        return _shared(
            self.target[start : min(end, start + LONGEST_SHARED)], self.source[first:last]
        )

    def _shared_end(self, start: int, end: int, first: int, last: int) -> int:
        """As `_shared_start`, at the ends of both."""
        if last - first > LONGEST_SHARED:
            return 0
        target = self.target[max(start, end - LONGEST_SHARED) : end]
        return _shared(target[::-1], self.source[first:last][::-1])

    def _verbatim(self, inline: Inline) -> tuple[int, int] | None:
        """The span of the occurrence in the target that corresponds to the source's."""
        kept = self.source[inline.start : inline.end]
        beside = (
            self.source[inline.start - 1 : inline.start],
            self.source[inline.end : inline.end + 1],
        )
        pattern = _whole(kept, *beside)
        if pattern not in self._places:
            both = (self.source, self.target)
            whole = re.compile(pattern, re.IGNORECASE)
            in_source, in_target = ([m.start() for m in whole.finditer(text)] for text in both)
            self._places[pattern] = in_source, in_target
        in_source, in_target = self._places[pattern]
        number = bisect_left(in_source, inline.start)
        if number >= len(in_target):
            return None
        return in_target[number], in_target[number] + len(kept)

    def _window(self, words: range) -> tuple[int, int] | None:
        """The run of target words with most links from these words and fewest from others."""
        inside = Counter(other for word in words for other in self.linked.get(word, ()))
        best, window, start, total = 0, None, 0, 0
        before = 0
        for number in sorted(inside):  # Kadane's largest sum; a run begins and ends at such words
            total -= self.links_before[number] - self.links_before[before]
            if total <= 0:
                start, total = number, 0
            total += 2 * inside[number] - self._links_to(number)
            before = number + 1
            if total > best:
                best, window = total, (start, number)
        if window is None and inside:
            return min(inside), min(inside)
        return window

    def _links_to(self, word: int) -> int:
        return self.links_before[word + 1] - self.links_before[word]

    def _point(self, at: int) -> int:
        """The place in the translation of a place between two characters: next to the same word."""
        first = bisect_left(self.source_words, at, key=itemgetter(1))
        following = bisect_left(self.in_order, first)
        if following == len(self.in_order):
            return 0 if at <= 0 else len(self.target)
        number = self.in_order[following]
        start, end = self.source_words[number]
        if start < at:
            word = self.target_words[max(self.linked[number])]
            return word[1] - self._shared_end(*word, at, end)
        return self.target_words[min(self.linked[number])][0]


def _whole(kept: str, before: str, after: str) -> str:
    """A pattern for this text where it is no part of a longer word, unless it is one in the source,
    by the letters beside it; Korean may follow directly.
    """
    ends = re.match(_CODE_LETTER, kept), re.search(rf"{_CODE_LETTER}\Z", kept)
    left = "" if ends[0] is None or re.match(_CODE_LETTER, before) else rf"(?<!{_CODE_LETTER})"
    right = "" if ends[1] is None or re.match(_CODE_LETTER, after) else rf"(?!{_CODE_LETTER})"
    return left + re.escape(kept) + right


_CODE_LETTER = "[A-Za-z0-9_]"
_ONLY_WORDS = re.compile(r"(?:[^\W\d_]|[\s.,;:!?'’-])+")  # no amount, address, placeholder


def _shared(target: str, source: str) -> int:
    """The number of characters of `target` that correspond to `source`: equal, or marks."""
    if target[: len(source)].casefold() == source.casefold():
        return len(source)
    if any(letter.isalnum() for letter in source) or not source:
        return 0
    return len(target) - len(target.lstrip(_PUNCTUATION))


_PUNCTUATION = ".,;:!?…\"'“”‘’«»()[]。、，！？；：「」『』（）-–—"


def rendered(
    segment: DocumentSegment, translated: Translated, escape: Callable[[str], str] = str
) -> str:
    """The translation with the segment's markup in it; `escape` is for its plain text."""

    def written(first: int, last: int, nodes: Iterable[PlacedInline]) -> str:
        parts, at = [], first
        for node in nodes:
            parts.append(escape(translated.text[at : node.start]))
            if node.inline.frozen and node.start == node.end:
                parts.append(_apart(node.inline, translated.text, node.start))
            else:
                parts.append(node.inline.before)
            if not node.inline.frozen:
                parts += [written(node.start, node.end, node.inside), node.inline.after]
            at = node.end
        return "".join([*parts, escape(translated.text[at:last])])

    return written(0, len(translated.text), place_inlines(segment, translated))


def _apart(inline: Inline, text: str, at: int) -> str:
    """What is kept, between two places of a text, apart from the words beside it."""
    before = " " if inline.end > inline.start and text[at - 1 : at].isalnum() and at else ""
    after = " " if inline.end > inline.start and text[at : at + 1].isalnum() else ""
    return before + inline.before + after
