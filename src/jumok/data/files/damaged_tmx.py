"""The units of a translation memory of which some are not well-formed XML."""

import codecs
import io
import re
from collections.abc import Iterator
from pathlib import Path

from jumok.data.files.elements import XmlElement
from jumok.data.report import CorpusReport
from jumok.errors import DataError, Location, optional_import

LONGEST_UNIT = 1 << 20
"""Characters of a unit at most; what is longer is damaged."""

_READ_SIZE = 1 << 18
_ENCODING = re.compile(rb"<\?xml[^<>]{0,200}encoding\s*=\s*[\"']([\w.:-]{1,40})")
_BEGIN = re.compile(r"<tu(?=[\s>])")
_UNIT_END = re.compile(r"</tu\s*>")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def readable_units(
    stream: io.BufferedReader, file: Path, report: CorpusReport
) -> Iterator[tuple[XmlElement, int]]:
    """The well-formed units, each with its line; `report` counts the others.

    A unit begins with a start tag and ends with the next end tag.
    """
    with optional_import("reading TMX files", extra="formats"):
        from lxml import etree
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    for text, line in _units(stream):
        try:
            yield etree.fromstring(text, parser), line
        except etree.XMLSyntaxError as error:
            report.damaged(
                DataError(
                    "the unit is not well-formed TMX.", got=error.msg, place=Location(file, line)
                ),
                line,
            )


def _units(stream: io.BufferedReader) -> Iterator[tuple[str, int]]:
    """The text of each unit, and the line that it begins in; from 1."""
    head = stream.peek(1024) if isinstance(stream, io.BufferedReader) else b""
    named = _ENCODING.search(head)
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if head.startswith(mark)), None)
    encoding = encoding or (named[1].decode() if named else "utf-8")
    reader = io.TextIOWrapper(stream, encoding, errors="replace", newline="")
    rest, line = "", 1
    while block := reader.read(_READ_SIZE):
        rest += block
        at = 0
        for end in _UNIT_END.finditer(rest):
            begins = list(_BEGIN.finditer(rest, at, end.start()))
            if begins:  # an earlier one has no end
                start = begins[-1].start()
                line += rest.count("\n", at, start)
                yield rest[start : end.end()], line
                line += rest.count("\n", start, end.end())
            else:
                line += rest.count("\n", at, end.end())
            at = end.end()
        if len(rest) - at > LONGEST_UNIT:
            line += rest.count("\n", at)
            at = len(rest)
        rest = rest[at:]
    reader.detach()
