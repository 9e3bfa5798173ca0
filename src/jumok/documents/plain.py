"""Plain text in paragraphs: wrapped lines are joined, translated, and wrapped again."""

import re
import textwrap
import unicodedata
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from jumok.documents.document import Slot, TextDocument
from jumok.documents.segment import DocumentSegment, Translated, has_word

ITEM = re.compile(r"[ \t]*(?:(?:[-*+•·]|\d+[.)])[ \t]+)?")


_SENTENCE_END = re.compile(r"[.!?] +\S")


def read_plain(content: bytes) -> TextDocument:
    """The paragraphs: lines between blank ones; a list item, and an indented line, begin one.

    A paragraph of several lines is wrapped to the width of its longest line.
    """
    text = content.decode("utf-8", errors="surrogateescape")
    return TextDocument(text, list(_paragraph_slots(text)))


def looks_wrapped(text: str) -> bool:
    """Whether lines seem to continue in the next one: paragraphs, and not one sentence a line.

    There have to be blank lines, or ends of sentences inside of lines, or a sentence that ends on
    another line than it begins; and a third of the lines with another one below has to end within
    a sentence: that one begins in lower case, which Hangul does not have.
    """
    lines = [line.strip() for line in text.splitlines()]
    joints = [(line, after) for line, after in pairwise(lines) if line and after]
    broken = [each for each in joints if each[1][0].islower() and each[0][-1] not in ".!?:;…"]
    ended = any(after[-1] in ".!?" for _, after in broken) and joints[0][0][0].isupper()
    inside = ended or "" in lines or any(_SENTENCE_END.search(line) for line in lines)
    return inside and bool(broken) and 3 * len(broken) >= len(joints)


class _Line(NamedTuple):
    """A line's words: their span in the file, and their first column."""

    start: int
    end: int
    column: int


def _paragraph_slots(text: str) -> Iterator[Slot]:
    lines: list[_Line] = []
    for match in re.finditer(r"[^\n]*\n?", text):
        line = match[0].rstrip()
        begin = ITEM.match(line)
        column = begin.end() if begin else 0
        item = bool(line[:column].strip())
        if lines and (not line or item or column > lines[-1].column):
            yield from _paragraph_slot(text, lines)
            lines = []
        if line:
            lines.append(_Line(match.start() + column, match.start() + len(line), column))
    if lines:
        yield from _paragraph_slot(text, lines)


def _paragraph_slot(text: str, lines: list[_Line]) -> Iterator[Slot]:
    words = " ".join(" ".join(text[line.start : line.end].split()) for line in lines)
    if not has_word(words):
        return
    start, end = lines[0].start, lines[-1].end
    width = max(line.end - line.start for line in lines) if len(lines) > 1 else 0
    newline = "\r\n" if "\r\n" in text[start:end] else "\n"
    joint = newline + " " * lines[min(1, len(lines) - 1)].column
    yield Slot(start, end, DocumentSegment(words), partial(_wrapped, width=width, joint=joint))


def _wrapped(translated: Translated, width: int, joint: str) -> str:
    if not width:
        return translated.text
    # A Chinese, Japanese or Korean character is as wide as two others.
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in translated.text)
    share = 1 + wide / max(1, len(translated.text))
    lines = textwrap.wrap(
        translated.text, max(1, int(width / share)), break_long_words=False, break_on_hyphens=False
    )
    for number, line in enumerate(lines[1:], start=1):
        words = lines[number - 1].split(" ")
        item = ITEM.match(f"{line} ")
        if item and item[0] and len(words) > 1:  # it would begin an item
            lines[number - 1], lines[number] = " ".join(words[:-1]), f"{words[-1]} {line}"
    return joint.join(lines)
