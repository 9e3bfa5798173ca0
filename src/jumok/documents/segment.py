"""A paragraph's text, and the inlines in it: emphasis, links, code, images."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

BLANK = " \t\r\n\f"  # a no-break space is intentional and stays
_WHITE = re.compile(f"[{BLANK}]+")
_OTHER_SPACE = "[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
_BESIDE_LETTERS = re.compile(
    rf"(?<=[^\W\d]){_OTHER_SPACE}(?=\w)|(?<=[.,;:!?)]){_OTHER_SPACE}(?=\w)"
    rf"|(?<=\d){_OTHER_SPACE}(?=[^\W\d])"
)
_PLACEHOLDER = re.compile(r"\{\d+\}")

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
        text: what of it is text; of frozen that is not written as its text, it is left out: a
            translator gets a placeholder, `{1}`, and cannot translate it a second time.
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


def with_spaces(text: str) -> str:
    """The text with plain spaces between its words; others stay in numbers and beside quotes."""
    return text if text.isascii() else _BESIDE_LETTERS.sub(" ", text)


def has_long_word(text: str) -> bool:
    """Whether there is more than a variable, an exponent, an ordinal's ending, a mark of a note."""
    return sum(letter.isalpha() for letter in text) > (3 if text.isascii() else 1)


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
    stands_for = _placeholders(chunks)
    for index, chunk in enumerate(chunks):
        starts.append(length)
        words = _WHITE.sub(" ", chunk.text)
        if chunk.kind == "frozen" and chunk.text != chunk.raw:
            words = next(stands_for)
        if words.startswith(" ") and spaced:
            words = words[1:]
            if index and _ends_with_point(chunks, index):
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
            after = chunks[other].written + " " * (other in apart)
            inlines.append(Inline(start, starts[other], raw, after, within=within))
        elif chunk.kind == "close" and index in partner:
            around.pop()
        elif chunk.kind != "text":
            raw = chunk.written + " " * (index in apart)
            inlines.append(Inline(start, start, raw, within=within))
    return DocumentSegment(text, tuple(inlines))


def _placeholders(chunks: Sequence[Chunk]) -> Iterator[str]:
    """Placeholders that are in none of these texts."""
    there = {match for chunk in chunks for match in _PLACEHOLDER.findall(chunk.text)}
    return (each for number in count(1) if (each := f"{{{number}}}") not in there)


def _ends_with_point(chunks: Sequence[Chunk], index: int) -> bool:
    """Whether a point, perhaps with elements around it, ends before this chunk."""
    index -= 1
    while index > 0 and chunks[index].kind == "close":
        index -= 1
    return chunks[index].kind == "point"


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
