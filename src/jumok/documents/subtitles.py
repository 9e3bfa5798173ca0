"""Subtitles (SRT and WebVTT): a cue is a segment; its times are kept."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import partial

from jumok.documents.document import Slot, TextDocument
from jumok.documents.html import tagged_chunks
from jumok.documents.segment import Chunk, DocumentSegment, Translated, paragraph, rendered
from jumok.errors import DataError, Location

_TIME = r"(?:\d+:)?\d+:\d\d[,.]\d{1,3}"
# The line with the times, then the lines up to a blank one.
CUE = re.compile(rf"^{_TIME}[ \t]*-->[ \t]*{_TIME}[^\n]*\n((?:[^\S\n]*\S[^\n]*(?:\n|\Z))+)", re.M)
SPEAKER = re.compile(r"[ \t]*[-–—][ \t]?")  # two speakers in one cue, a line each
STYLE = re.compile(r"\{\\[^{}]*\}")  # {\an8}

_TAG_OR_SPACE = re.compile(r"<[^<>]*>| ")


def read_subtitles(content: bytes) -> TextDocument:
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
    slots = [slot for cue in cues for slot in _cue_slots(text, cue)]
    return TextDocument(text, slots)


def _cue_slots(text: str, cue: re.Match[str]) -> Iterator[Slot]:
    lines: list[tuple[int, int]] = []
    for match in re.finditer(r"[^\n]+", cue[1]):
        start, end = cue.start(1) + match.start(), cue.start(1) + match.end()
        speaker = SPEAKER.match(match[0])
        if speaker and lines:
            yield from _cue_slot(text, lines)
            lines = []
        lines.append((start + (speaker.end() if speaker else 0), end))
    yield from _cue_slot(text, lines)


def _cue_slot(text: str, lines: list[tuple[int, int]]) -> Iterator[Slot]:
    start, end = lines[0][0], lines[-1][1]
    inside = text[start:end]
    chunks = [
        Chunk("point", chunk.raw) if STYLE.fullmatch(chunk.raw) else chunk
        for chunk in tagged_chunks(inside, STYLE)
    ]
    content = paragraph(chunks)
    if content is not None:
        before, segment, after = content
        newline = "\r\n" if "\r\n" in inside else "\n"
        write = partial(_broken, segment=segment, lines=len(lines), newline=newline)
        yield Slot(start + len(before), end - len(after), segment, write)


def _broken(translated: Translated, segment: DocumentSegment, lines: int, newline: str) -> str:
    """The translation with its markup, on the number of lines of the source, of similar lengths."""
    written = rendered(segment, translated)
    letters = list(written)
    # Never inside of a tag.
    spaces = [match.start() for match in _TAG_OR_SPACE.finditer(written) if match[0] == " "]
    for number in range(1, min(lines, len(spaces) + 1)):
        ideal = len(written) * number // lines
        after = bisect_left(spaces, ideal)
        near = range(max(after - 1, 0), min(after + 1, len(spaces)))
        space = spaces.pop(min(near, key=lambda index: abs(spaces[index] - ideal)))
        letters[space] = "\n"
    return "".join(letters).replace("\n", newline)
