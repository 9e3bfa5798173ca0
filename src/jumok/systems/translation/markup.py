"""Markup in lines of text: removed before a model reads them, and restored by the alignment.

A model that never saw `<b>` reads words where there are none. So tags are removed, the rest is
translated, and the word alignment tells where a tag and its closing one belong: around the target
words that the source words between them are linked to, from the first to the last. A single tag
goes before the words linked to the source word after it. Every tag comes back once, unchanged, and
tags that were nested correctly still are.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from jumok.alignment.words import Link
from jumok.data.tokenizer import normalize
from jumok.systems.translation.inserting import word_spans
from jumok.systems.translation.keeping import Keep
from jumok.systems.translation.result import Translation

TAG = re.compile(
    r"<!--.*?-->"
    r"|</?(?P<name>[A-Za-z][\w:.-]*)"
    r"(?:\s+[\w:@.-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>=]+))?)*\s*/?>"
)


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
        self._given = [normalize(text) if "<" in text else "" for text in texts]
        for text, given in zip(texts, self._given, strict=True):
            bare, elements = undress(given) if given else (text, [])
            self.texts.append(bare if elements else text)
            self._elements.append(elements)
        self.any = any(self._elements)

    def dressed(self, translations: Sequence[Translation], alignments: bool) -> list[Translation]:
        """The translations with their tags, each of their alternatives too.

        Args:
            alignments: whether alignments were requested; their words are then those of the texts
                with tags.
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
    bare = ""
    begin = 0
    top: list[Element] = []
    waiting: list[tuple[str, Element, list[Element]]] = []
    level = top
    for match in TAG.finditer(text):
        bare += text[begin : match.start()]
        begin, tag, name = match.end(), match[0], (match["name"] or "").lower()
        names = [each[0] for each in waiting]
        if tag.startswith("</") and name in names:
            while waiting:
                opened, element, outer = waiting.pop()
                level = outer
                if opened == name:
                    element.close, element.end = tag, len(bare)
                    break
                # A tag without a closing one is single, and what followed it was not inside.
                level += element.inside
                element.inside = []
            continue
        spaced = bare.endswith(" ") and text[begin : begin + 1] == " "
        if spaced:
            begin += 1
        element = Element(tag, len(bare), len(bare), spaced=spaced)
        level.append(element)
        if not tag.startswith(("</", "<!")) and not tag.endswith("/>"):
            waiting.append((name, element, level))
            level = element.inside
    while waiting:
        _, element, level = waiting.pop()
        level += element.inside
        element.inside = []
    return bare + text[begin:], top


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
    placed = [
        (next((end for start, end in whole if start < place < end), place), tag)
        for place, tag in placed
    ]
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
        self.source_words, self.target_words = word_spans(self.source), word_spans(self.target)
        self.linked: dict[int, list[int]] = {}
        for source, target in self.alignment:
            self.linked.setdefault(source, []).append(target)

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
        if not self.source[: element.start].strip() and not self.source[element.end :].strip():
            return 0, len(self.target)
        held = [
            target
            for word, (start, end) in enumerate(self.source_words)
            if start < element.end and element.start < end
            for target in self.linked.get(word, ())
        ]
        if not held or not self.target_words:
            return self._share(element.start), self._share(element.end)
        first, last = min(held), min(max(held), len(self.target_words) - 1)
        (start, _), (_, end) = self.target_words[min(first, last)], self.target_words[last]
        if element.end < len(self.source) and self.source[element.end] != " ":
            # What follows the closing tag in the source, such as a comma, follows it here.
            end -= len(re.search(r"[^\w\s]*\Z", self.target[start:end])[0])  # type: ignore[index]
        return start, max(end, start)

    def _point(self, offset: int) -> int:
        if not self.source[offset:].strip():
            return len(self.target)
        if not self.source[:offset].strip():
            return 0
        for word, (_, end) in enumerate(self.source_words):
            if end > offset and word in self.linked and self.target_words:
                target = min(*self.linked[word], len(self.target_words) - 1)
                return self.target_words[target][0]
        return self._share(offset)

    def _share(self, offset: int) -> int:
        """As far into the target as `offset` is into the source, at the start of a word."""
        near = round(len(self.target) * offset / max(len(self.source), 1))
        if len(self.target_words) < 2:
            return near
        starts = [start for start, _ in self.target_words] + [len(self.target)]
        return min(starts, key=lambda start: abs(start - near))


def _with_tags(text: str, placed: Sequence[tuple[int, str]]) -> str:
    done, begin = "", 0
    for place, tag in placed:
        done += text[begin:place]
        begin = place
        # One of the two spaces around a tag between words is already there.
        done = done.rstrip(" ") if tag.startswith(" ") else done
        done += tag
    return done + text[begin:]


def _words_after(bare: str, dressed: str) -> list[int]:
    """For each word of a bare text its index in the text with tags."""
    words = word_spans(dressed)
    found: list[int] = []
    at = word = 0
    tags = [match.span() for match in TAG.finditer(dressed)]
    for start, end in word_spans(bare):
        for letter in bare[start:end][:1]:
            while any(low <= at < high for low, high in tags) or dressed[at] != letter:
                at += 1
        while words[word][1] <= at:
            word += 1
        found.append(word)
        remaining = end - start
        while remaining and at < len(dressed):
            inside = next((high for low, high in tags if low <= at < high), None)
            if inside is not None:
                at = inside
            else:
                remaining -= dressed[at] != " "
                at += 1
    return found
