"""A paragraph's text, and the inlines in it: emphasis, links, code, images.

Markup is placed by the word alignment: an element goes around the run of target words that most
links of its own words, and fewest of the others', lead to.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

BLANK = " \t\r\n\f"  # a no-break space is intentional and stays
_WHITE = re.compile(f"[{BLANK}]+")

LONGEST_SHARED = 200
"""Characters of a part of a word that is looked for in the translation."""

WordLinks = Sequence[tuple[int, int]]
"""Pairs of a source and a target word, counted from 0; words are what plain spaces separate."""


class Translated(NamedTuple):
    """A translation, and the links between its words and the source's; None: not known."""

    text: str
    links: WordLinks | None = None


@dataclass(frozen=True)
class Inline:
    """An inline element of a text.

    Attributes:
        start, end: the characters that it encloses; equal for an image and the like.
        before, after: what is written before and after them; an element without text has `before`.
        frozen: its text is not translated: code, a placeholder, an element with translate="no".
        within: the index, in the segment, of the innermost inline around it.
    """

    start: int
    end: int
    before: str
    after: str = ""
    frozen: bool = False
    within: int | None = None


@dataclass(frozen=True)
class DocumentSegment:
    """The text that is translated at once.

    Attributes:
        text: without markup, white space reduced to single spaces.
        inlines: outer ones before inner ones.
    """

    text: str
    inlines: tuple[Inline, ...] = ()


class Chunk(NamedTuple):
    """A part of a paragraph: text, or markup.

    Attributes:
        kind: text, open, close, point (markup without text) or frozen (text that is kept).
        raw: as written in the document.
        name: of an element, to match its two ends.
        write: written in a translation instead of `raw`.
    """

    kind: str
    raw: str
    text: str = ""
    name: str = ""
    write: str | None = None

    @property
    def written(self) -> str:
        return self.raw if self.write is None else self.write


class Paragraph(NamedTuple):
    """A segment, and what precedes and follows it in the document."""

    before: str
    segment: DocumentSegment
    after: str


def paragraph(chunks: Sequence[Chunk]) -> Paragraph | None:
    """The chunks as a segment, markup at its ends outside; None: there is no word in it."""
    first, last = 0, len(chunks)
    partner = _partners(chunks)
    while first < last:
        if _is_edge(chunks[first]) and partner.get(first, -1) < 0:
            first += 1
        elif _is_edge(chunks[last - 1]) and partner.get(last - 1, -1) < 0:
            last -= 1
        elif partner.get(first) == last - 1:
            first, last = first + 1, last - 1
        else:
            break
    inside = chunks[first:last]
    if not any(chunk.kind == "text" and has_word(chunk.text) for chunk in inside):
        return None
    outside = ["".join(one.raw for one in ends) for ends in (chunks[:first], chunks[last:])]
    raw = inside[0].raw
    if inside[0].kind == "text":
        outside[0] += raw[: len(raw) - len(raw.lstrip(BLANK))]
    raw = inside[-1].raw
    if inside[-1].kind == "text":
        outside[1] = raw[len(raw.rstrip(BLANK)) :] + outside[1]
    return Paragraph(outside[0], _segment(inside), outside[1])


def has_word(text: str) -> bool:
    """Whether there is anything to translate: a letter of any script."""
    return any(letter.isalpha() for letter in text)


def _is_edge(chunk: Chunk) -> bool:
    """Whether it can be left out at a paragraph's end: markup, or white space only."""
    return chunk.kind in ("open", "close", "point") or not chunk.text.strip(BLANK)


DEEPEST = 32
"""Elements in elements; the ends of those further inside are apart."""


def _partners(chunks: Sequence[Chunk]) -> dict[int, int]:
    """The index of the other end of each element; ends without one are left out."""
    partner: dict[int, int] = {}
    waiting: list[int] = []
    by_name: Counter[str] = Counter()
    too_deep: Counter[str] = Counter()
    for index, chunk in enumerate(chunks):
        if chunk.kind == "open" and len(waiting) < DEEPEST:
            waiting.append(index)
            by_name[chunk.name] += 1
        elif chunk.kind == "open":
            too_deep[chunk.name] += 1
        elif chunk.kind == "close" and too_deep[chunk.name]:
            too_deep[chunk.name] -= 1
        elif chunk.kind == "close" and by_name[chunk.name]:
            while True:  # what was opened within and not closed has no other end
                opened = waiting.pop()
                by_name[chunks[opened].name] -= 1
                if chunks[opened].name == chunk.name:
                    break
            partner[opened], partner[index] = index, opened
    return partner


def _segment(chunks: Sequence[Chunk]) -> DocumentSegment:
    partner = _partners(chunks)
    parts: list[str] = []
    length, spaced = 0, True  # what is there already, and whether no space may follow it
    starts: list[int] = []
    apart: set[int] = set()  # points with a space on both sides, of which the text keeps one
    for index, chunk in enumerate(chunks):
        starts.append(length)
        words = _WHITE.sub(" ", chunk.text)
        if words.startswith(" ") and spaced:
            words = words[1:]
            if length and chunks[index - 1].kind == "point":
                apart.add(index - 1)
        parts.append(words)
        length += len(words)
        spaced = words.endswith(" ") if words else spaced
    starts.append(length)
    text = "".join(parts).rstrip(" ")
    starts = [min(start, len(text)) for start in starts]
    inlines: list[Inline] = []
    around: list[int] = []
    for index, chunk in enumerate(chunks):
        start, end = starts[index], starts[index + 1]
        within = around[-1] if around else None
        if chunk.kind == "frozen":
            inlines.append(Inline(start, end, chunk.written, "", True, within))
        elif chunk.kind == "open" and index in partner:
            other, raw = partner[index], chunk.written
            around.append(len(inlines))
            inlines.append(Inline(start, starts[other], raw, chunks[other].written, within=within))
        elif chunk.kind == "close" and index in partner:
            around.pop()
        elif chunk.kind != "text":
            raw = chunk.written + " " * (index in apart)
            inlines.append(Inline(start, start, raw, within=within))
    return DocumentSegment(text, tuple(inlines))


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
    for node in nodes:
        node.start = min(max(node.start, first), last)
        node.end = first = min(max(node.end, node.start), last)
        _place_within(node.inside, node.start, node.end, aligned)


def _words(text: str) -> list[tuple[int, int]]:
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
        self.source_words, self.target_words = _words(source), _words(self.target)
        many, most = len(self.source_words), len(self.target_words)
        links = translated.links
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
        if inline.frozen:
            verbatim = self._verbatim(inline)
            if verbatim is not None:
                return verbatim
        first = bisect_right(self.source_words, inline.start, key=itemgetter(1))
        last = bisect_left(self.source_words, inline.end, key=itemgetter(0))
        window = self._window(range(first, last))
        if window is None:
            point = self._point(inline.start)
            return point, point
        start, end = self.target_words[window[0]][0], self.target_words[window[1]][1]
        start += self._shared_start(start, end, self.source_words[first][0], inline.start)
        end -= self._shared_end(start, end, inline.end, self.source_words[last - 1][1])
        return start, max(start, end)

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
        if kept not in self._places:
            both = (self.source, self.target)
            in_source, in_target = (
                [m.start() for m in re.finditer(re.escape(kept), text)] for text in both
            )
            self._places[kept] = in_source, in_target
        in_source, in_target = self._places[kept]
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


def _shared(target: str, source: str) -> int:
    """The number of characters of `target` that correspond to `source`: equal, or marks."""
    if target[: len(source)].casefold() == source.casefold():
        return len(source)
    if any(letter.isalnum() for letter in source) or not source:
        return 0
    return len(target) - len(target.lstrip(_MARKS))


_MARKS = ".,;:!?…\"'“”‘’«»()[]。、，！？；：「」『』（）-–—"


def rendered(
    segment: DocumentSegment, translated: Translated, escape: Callable[[str], str] = str
) -> str:
    """The translation with the segment's markup in it; `escape` is for its plain text."""

    def written(first: int, last: int, nodes: Iterable[PlacedInline]) -> str:
        parts, at = [], first
        for node in nodes:
            parts += [escape(translated.text[at : node.start]), node.inline.before]
            if not node.inline.frozen:
                parts += [written(node.start, node.end, node.inside), node.inline.after]
            at = node.end
        return "".join([*parts, escape(translated.text[at:last])])

    return written(0, len(translated.text), place_inlines(segment, translated))


def with_frozen(chunks: Iterable[Chunk], pattern: re.Pattern[str]) -> list[Chunk]:
    """The chunks, with all matches in their text cut out as frozen."""
    cut: list[Chunk] = []
    for chunk in chunks:
        if chunk.kind != "text" or chunk.raw != chunk.text:
            cut.append(chunk)
            continue
        at = 0
        for match in pattern.finditer(chunk.text):
            start, end = match.span()
            if before := chunk.text[at:start]:
                cut.append(Chunk("text", before, before))
            cut.append(Chunk("frozen", match[0], match[0]))
            at = end
        if after := chunk.text[at:]:
            cut.append(Chunk("text", after, after))
    return cut
