"""Removal of markup before translation, and its restoration by the alignment.

A model that never saw `<b>` reads words where there are none. So tags are removed, the rest is
translated, and a tag and its closing one go around the target words that the source words between
them are linked to. A single tag goes before the words linked to the source word after it. Every tag
comes back once, unchanged, and tags that were nested correctly still are.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from jumok.alignment.words import Link
from jumok.data.tokenizer import normalize
from jumok.systems.translation.kept.inserting import after_kept, word_spans
from jumok.systems.translation.kept.keeping import Keep
from jumok.systems.translation.result import Translation

TAG = re.compile(
    r"<!--(?:[^<\n-]|-(?!->)|<(?!!--))*+-->"
    r"|</?(?P<name>[A-Za-z][\w:.-]*|\d{1,4}(?=\s?/?>))"
    r"(?:\s+[\w:@.-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>=]+))?)*\s*/?>"
    r"|\{\{(?P<ends>/)(?P<ended>\w+)\s*\}\}|\{\{#(?P<section>\w++)[^{}]*+\}\}"  # of a template
    r"|\{%-?\s*(?P<end>end)?(?P<block>if|for|unless|with|block)\b[^{}%]*+%\}"
)

_BEGINS = re.compile(r"<|\{[{%]")

DEEPEST_TAGS = 100  # tags in tags; those further inside are single ones
MARK = re.compile(r"[^\w\s]")


@dataclass
class Element:
    """A tag with its closing one and what is nested in it; or a single tag.

    Attributes:
        start, end: the span of the bare text between its two tags.
        close: the closing tag; None: a single tag, and `end` is `start`.
        spaced: a single tag had spaces on both sides.
    """

    open: str
    start: int
    end: int
    close: str | None = None
    spaced: bool = False
    inside: list["Element"] = field(default_factory=list)


class Bare:
    """Texts without their tags, which `dressed` restores.

    Attributes:
        texts: one for each given text; those without a tag are unchanged.
        any: whether one of them holds a tag.
    """

    def __init__(self, texts: Sequence[str], keep: Keep | None = None) -> None:
        self._keep = keep or Keep()
        self.texts: list[str] = []
        self._elements: list[list[Element]] = []
        self._given = [normalize(text) if _BEGINS.search(text) else "" for text in texts]
        for text, given in zip(texts, self._given, strict=True):
            bare, elements = undress(given) if given else (text, [])
            self.texts.append(bare if elements else text)
            self._elements.append(elements)
        self.any = any(self._elements)

    def dressed(self, translations: Sequence[Translation], alignments: bool) -> list[Translation]:
        """The translations with their tags, each of their alternatives too.

        Args:
            alignments: whether alignments were requested; their words are those of the texts with
                tags.
        """
        if not self.any:
            return list(translations)
        done = []
        rows = zip(translations, self.texts, self._given, self._elements, strict=True)
        for translation, bare, given, elements in rows:
            every = [
                _dress(one, bare, given, elements, alignments, self._keep)
                for one in (translation, *translation.alternatives)
            ]
            done.append(replace(every[0], alternatives=tuple(every[1:])))
        return done


def undress(text: str) -> tuple[str, list[Element]]:
    """A text without its tags, and the tags as a forest in their order."""
    parts: list[str] = []
    begin = length = 0
    top: list[Element] = []
    waiting: list[tuple[str, Element, list[Element]]] = []
    names: Counter[str] = Counter()
    level, last = top, ""
    for match in TAG.finditer(text):
        parts.append(text[begin : match.start()])
        length, last = length + len(parts[-1]), parts[-1][-1:] or last
        begin, tag, name = match.end(), match[0], _name_of(match)
        closes = tag.startswith("</") or bool(match["ends"] or match["end"])
        if closes and names[name]:
            unclosed: list[Element] = []
            while waiting:
                opened, element, outer = waiting.pop()
                names[opened] -= 1
                if opened == name:
                    element.close, element.end = tag, length
                    _make_single(unclosed, element.inside)
                    level = outer
                    break
                unclosed.append(element)
            continue
        spaced = last == " " and text[begin : begin + 1] == " "
        if spaced:
            begin += 1
        element = Element(tag, length, length, spaced=spaced)
        level.append(element)
        if (
            not closes
            and not tag.startswith("<!")
            and not tag.endswith("/>")
            and len(waiting) < DEEPEST_TAGS
        ):
            waiting.append((name, element, level))
            names[name] += 1
            level = element.inside
    _make_single([element for _, element, _ in reversed(waiting)], top)
    return "".join([*parts, text[begin:]]), top


def _name_of(match: re.Match[str]) -> str:
    """What a tag and its closing one have in common."""
    of_template = match["section"] or match["ended"] or match["block"]
    return f"{{{of_template}" if of_template else (match["name"] or "").lower()


def _make_single(unclosed: Sequence[Element], level: list[Element]) -> None:
    """Tags without a closing one are single, and what followed them was not inside.

    Args:
        unclosed: from inside out.
        level: that of the outermost.
    """
    for element in reversed(unclosed):
        level += element.inside
        element.inside = []


def _dress(
    translation: Translation,
    bare: str,
    given: str,
    elements: Sequence[Element],
    alignments: bool,
    keep: Keep,
) -> Translation:
    if not elements:
        return translation if alignments else replace(translation, alignment=None)
    alignment = translation.alignment
    placing = Placing(bare, translation.text, alignment or ())
    placed = placing.forest(elements, 0, len(translation.text))
    whole = [(one.start, one.end) for one in keep.find(translation.text)]
    # No tag goes into a kept string; the order of the tags stays.
    placed = [(after_kept(whole, place), tag) for place, tag in placed]
    text = _with_tags(translation.text, placed)
    if not alignments or alignment is None:
        return replace(translation, text=text, alignment=None)
    before, after = _words_after(bare, given), _words_after(translation.text, text)
    linked = sorted((before[source], after[target]) for source, target in alignment)
    return replace(translation, text=text, alignment=tuple(linked))


@dataclass
class Placing:
    """The places in a translation where the tags of its source go."""

    source: str
    target: str
    alignment: Sequence[Link]

    def __post_init__(self) -> None:
        self.target_words = word_spans(self.target)
        spans = word_spans(self.source)
        self.starts, self.ends = [start for start, _ in spans], [end for _, end in spans]
        self.linked: dict[int, list[int]] = {}
        for source, target in self.alignment:
            self.linked.setdefault(source, []).append(target)
        self.words = sorted(word for word in self.linked if word < len(spans))
        self.target_starts = [*(start for start, _ in self.target_words), len(self.target)]
        self.first = len(self.source) - len(self.source.lstrip())
        self.last = len(self.source.rstrip())

    def forest(self, elements: Sequence[Element], low: int, high: int) -> list[tuple[int, str]]:
        """(place, tag) of neighbouring elements, between two places of the target, in order."""
        spans = [(self.span(element), element) for element in elements]
        spans.sort(key=lambda each: each[0])
        placed: list[tuple[int, str]] = []
        reached = low
        for (start, end), element in spans:
            start = min(max(start, reached), high)
            end = min(max(end, start), high)
            if element.close is None:
                spaced = f" {element.open} " if element.spaced else element.open
                placed.append((start, spaced))
            else:
                placed.append((start, element.open))
                placed += self.forest(element.inside, start, end)
                placed.append((end, element.close))
            reached = end
        return placed

    def span(self, element: Element) -> tuple[int, int]:
        """The span of the words that are aligned with those of an element, nested ones included."""
        if element.close is None or element.start == element.end:
            place = self._point(element.start)
            return place, place
        if element.start <= self.first and element.end >= self.last:
            return 0, len(self.target)
        held = [
            target
            for word in range(
                bisect_right(self.ends, element.start), bisect_left(self.starts, element.end)
            )
            for target in self.linked.get(word, ())
        ]
        if not held or not self.target_words:
            return self._share(element.start), self._share(element.end)
        first, last = min(held), min(max(held), len(self.target_words) - 1)
        (start, _), (_, end) = self.target_words[min(first, last)], self.target_words[last]
        if element.end < len(self.source) and self.source[element.end] != " ":
            # What follows the closing tag in the source, such as a comma, follows it here.
            while end > start and MARK.match(self.target, end - 1):
                end -= 1
        return start, max(end, start)

    def _point(self, offset: int) -> int:
        if offset >= self.last:
            return len(self.target)
        if offset <= self.first:
            return 0
        next_linked = bisect_left(self.words, bisect_right(self.ends, offset))
        if next_linked < len(self.words) and self.target_words:
            linked = self.linked[self.words[next_linked]]
            return self.target_starts[min(*linked, len(self.target_words) - 1)]
        return self._share(offset)

    def _share(self, offset: int) -> int:
        """As far into the target as `offset` is into the source, at the start of a word."""
        near = round(len(self.target) * offset / max(len(self.source), 1))
        if len(self.target_words) < 2:
            return near
        after = bisect_left(self.target_starts, near)
        around = self.target_starts[max(after - 1, 0) : after + 1]
        return min(around, key=lambda start: abs(start - near))


def _with_tags(text: str, placed: Sequence[tuple[int, str]]) -> str:
    parts: list[str] = []
    begin = 0
    for place, tag in placed:
        parts.append(text[begin:place])
        begin = place
        # One of the two spaces around a tag between words is already there.
        while tag.startswith(" ") and parts:
            parts[-1] = parts[-1].rstrip(" ")
            if parts[-1]:
                break
            parts.pop()
        parts.append(tag)
    return "".join([*parts, text[begin:]])


def _words_after(bare: str, dressed: str) -> list[int]:
    """For each word of a bare text its index in the text with tags."""
    words = word_spans(dressed)
    indices: list[int] = []
    at = word = 0
    tagged = bytearray(len(dressed))
    for match in TAG.finditer(dressed):
        tagged[match.start() : match.end()] = b"\1" * len(match[0])
    for start, end in word_spans(bare):
        while tagged[at] or dressed[at] != bare[start]:
            at += 1
        while words[word][1] <= at:
            word += 1
        indices.append(word)
        remaining = end - start
        while remaining and at < len(dressed):
            remaining -= not tagged[at] and dressed[at] != " "
            at += 1
    return indices
