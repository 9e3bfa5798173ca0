"""Subtitles (SRT, WebVTT, ASS and SSA): a cue is a segment; its times and styles are kept."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from jumok.documents.document import Slot, TextDocument
from jumok.documents.html import tagged_chunks
from jumok.documents.markup import escape, unescape
from jumok.documents.placing import rendered
from jumok.documents.segment import Chunk, DocumentSegment, Translated, paragraph, with_frozen
from jumok.errors import DataError, Location

_TIME = r"(?:\d+:)?\d+:\d\d[,.]\d{1,3}"
# The line with the times, then the lines up to a blank one.
CUE = re.compile(rf"^{_TIME}[ \t]*-->[ \t]*{_TIME}[^\n]*\n((?:[^\S\n]*\S[^\n]*(?:\n|\Z))+)", re.M)
SPEAKER = re.compile(r"[ \t]*[-–—][ \t]?")  # two speakers in one cue, a line each
_NAME_BEFORE = r"[ \t]*+(?:>>++[ \t]*+)?[A-Z][A-Z0-9 .'-]{0,30}:(?=\s|\Z)"
NAME_BEFORE = re.compile(_NAME_BEFORE)  # is kept
NAMED_SPEAKER = re.compile(rf"[ \t]*+(?:>>|<v[ .])|{_NAME_BEFORE}")
"""A line of another speaker, who is named."""

SOUND = re.compile(r"[ \t]*(?:\[[^\[\]]*\]|\([^()]*\)|♪[^♪]*♪)[ \t]*")
"""What is heard, and is no part of what is spoken: a line, or the beginning of one."""

WORD_TIME = re.compile(r"<\d+:[\d:.,]*>")  # of the word that follows
SPACE = re.compile(r"<[^<>]*>|\{[^{}]*\}| ")
_STYLE = r"\{[^{}]*\}"
_DRAWING = r"\{(?=[^{}]*\\p[1-9])[^{}]*+\}(?:[^{]|\{(?![^{}]*\\p0)[^{}]*+\})*+"


NO_BREAK = "\xa0"


class _Syntax(NamedTuple):
    """How a format writes what is no text.

    Attributes:
        style: of the words that follow; its matches are kept, and stay beside their words.
        line_end: between the lines of a cue.
        blank: a space that does not break; "" if it is written as such.
        escape, unescape: write and read its signs.
    """

    style: re.Pattern[str]
    line_end: re.Pattern[str]
    blank: str = ""
    escape: Callable[[str], str] = str
    unescape: Callable[[str], str] = str

    def chunks(self, text: str) -> Iterable[Chunk]:
        """The parts of a cue's text, in which a line's end is a space."""
        for chunk in tagged_chunks(text, self.style):
            if self.style.fullmatch(chunk.raw):
                yield Chunk("point", chunk.raw)
            elif chunk.kind == "text":
                for part in with_frozen([chunk], self.line_end):
                    words = part.raw.replace(self.blank, NO_BREAK) if self.blank else part.raw
                    words = " " if part.kind == "frozen" else self.unescape(words)
                    yield Chunk("text", part.raw, words)
            else:
                yield chunk


SRT = _Syntax(
    re.compile(rf"\{{(?:\\|[A-Za-z]:)[^{{}}]*\}}|{WORD_TIME.pattern}"), re.compile(r"\r?\n")
)
VTT = _Syntax(WORD_TIME, SRT.line_end, "&nbsp;", escape, unescape)
ASS = _Syntax(re.compile(f"{_DRAWING}|{_STYLE}"), re.compile(r"\\[Nn]"), r"\h")


def read_subtitles(content: bytes, syntax: _Syntax) -> TextDocument:
    """The cues. A speaker's lines in a cue are one segment, written on as many lines again.

    Raises:
        DataError: there are times, and no cue.
    """
    text = content.decode("utf-8", errors="surrogateescape")
    cues = list(CUE.finditer(text))
    if not cues and "-->" in text:
        raise DataError(
            "the subtitles have no cue that can be read.",
            expected="a line with times (00:00:01,000 --> 00:00:02,000), and lines of text below",
            do="end the lines as on Unix or Windows, and write the times as above",
            place=Location("subtitles"),
        )
    slots = [slot for cue in cues for slot in _slots(text, *cue.span(1), syntax)]
    return TextDocument(text, slots)


def read_ass(content: bytes) -> TextDocument:
    """The dialogue of SubStation Alpha; drawings and comments are kept.

    Raises:
        DataError: no line says in which order the fields of an event are.
    """
    text = content.decode("utf-8", errors="surrogateescape")
    slots: list[Slot] = []
    fields: list[str] = []
    section, at = "", 0
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        start, at = at, at + len(line)
        name, colon, rest = line.partition(":")
        if line.startswith("["):
            section = line.strip().lower()
        elif section != "[events]" or not colon:
            continue
        elif name == "Format":
            fields = [field.strip().lower() for field in rest.split(",")]
        elif name == "Dialogue":
            if not fields or fields[-1] != "text":
                raise DataError(
                    "the order of the fields of an event is not known.",
                    expected="a line Format: ..., Text before the first Dialogue:",
                    place=Location("subtitles", number),
                )
            values = rest.split(",", len(fields) - 1)
            if len(values) == len(fields):
                end = start + len(line.rstrip("\r\n"))
                slots += _slots(text, at - len(values[-1]), end, ASS)
    return TextDocument(text, slots)


def _slots(text: str, first: int, last: int, syntax: _Syntax) -> Iterator[Slot]:
    lines: list[tuple[int, int]] = []
    apart = False
    ends = [*(match.span() for match in syntax.line_end.finditer(text, first, last)), (last, last)]
    for end, after in ends:
        speaker = SPEAKER.match(text, first, end)
        sound = SOUND.fullmatch(text, first, end)
        if lines and (apart or sound or speaker or NAMED_SPEAKER.match(text, first, end)):
            yield from _slot(text, lines, syntax)
            lines = []
        apart = sound is not None
        if speaker or (speaker := NAME_BEFORE.match(text, first, end)):
            first = speaker.end()
        begins = None if lines or sound else SOUND.match(text, first, end)
        if begins:
            yield from _slot(text, [(first, begins.end())], syntax)
            first = begins.end()
        if end > first:
            lines.append((first, end))
        first = after
    if lines:
        yield from _slot(text, lines, syntax)


def _slot(text: str, lines: list[tuple[int, int]], syntax: _Syntax) -> Iterator[Slot]:
    start, end = lines[0][0], lines[-1][1]
    content = paragraph(list(syntax.chunks(text[start:end])))
    if content is not None:
        before, segment, after = content
        line_end = syntax.line_end.search(text, start, end)
        write = partial(
            _broken,
            segment=segment,
            lines=len(lines),
            newline=line_end[0] if line_end else "",
            syntax=syntax,
        )
        yield Slot(start + len(before), end - len(after), segment, write)


def _broken(
    translated: Translated, segment: DocumentSegment, lines: int, newline: str, syntax: _Syntax
) -> str:
    """The translation with its markup, on the number of lines of the source, of similar lengths."""
    written = rendered(segment, translated, syntax.escape)
    if syntax.blank:
        written = written.replace(NO_BREAK, syntax.blank)
    times = iter(sorted(WORD_TIME.findall(written)))  # they rise, in whatever order words are
    written = WORD_TIME.sub(lambda _: next(times), written)
    letters = list(written)
    # Never inside of a tag.
    spaces = [match.start() for match in SPACE.finditer(written) if match[0] == " "]
    left, after = list[int](), 0  # the spaces that are left before the next line, and those behind
    for number in range(1, min(lines, len(spaces) + 1)):
        ideal = len(written) * number // lines
        begun, after = after, max(after, bisect_left(spaces, ideal))
        left += spaces[begun:after]
        if after < len(spaces) and (not left or abs(spaces[after] - ideal) < abs(left[-1] - ideal)):
            letters[spaces[after]] = newline
            after += 1
        else:
            letters[left.pop()] = newline
    return "".join(letters)
