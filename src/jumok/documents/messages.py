"""Catalogs of a program's messages: .properties and .strings; what YAML and JSON share with them.

A text is replaced in its place, with the quotes and escapes of its format; every other
character of the file stays.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

from jumok.documents.po import Message
from jumok.documents.segment import DocumentSegment, Translated
from jumok.errors import DataError, Location


class Value(NamedTuple):
    """A text of a catalog, and the characters of the file that it is written with.

    Attributes:
        write: returns the characters for another text.
    """

    start: int
    end: int
    text: str
    write: Callable[[str], str]


@dataclass(frozen=True)
class MessagesDocument:
    """A catalog; its values are in the order of the file."""

    content: str
    values: Sequence[Value]
    charset: str = "utf-8"

    @cached_property
    def _messages(self) -> list[Message]:
        return [Message.of(value.text) for value in self.values]

    @property
    def segments(self) -> Sequence[DocumentSegment]:
        return [segment for message in self._messages for segment in message.segments]

    def written(self, translations: Sequence[Translated]) -> bytes:
        rest = list(reversed(translations))
        parts, at = [], 0
        for value, message in zip(self.values, self._messages, strict=True):
            new = message.written(rest)
            if new != value.text:
                parts += [self.content[at : value.start], value.write(new)]
                at = value.end
        return "".join([*parts, self.content[at:]]).encode(self.charset)


def unreadable(format: str, fault: str, line: int | None = None) -> DataError:
    """The error for a file that is not of a format."""
    place = Location(format, line)
    return DataError(f"the file is not readable as {format}.", got=fault, place=place)


_LINE_END = r"(?:\r\n?|\n)"
_PROPERTY = re.compile(
    rf"""
    [ \t\f]*+
    (?: {_LINE_END}
      | [\#!][^\r\n]*+
      | (?P<key>(?:[^\\\s=:]|\\(?:\r\n|.))*+)
        (?:[ \t\f]|\\{_LINE_END})*+ [=:]?+ (?:[ \t\f]|\\{_LINE_END})*+
        (?P<value>(?:[^\\\r\n]|\\(?:\r\n|.)|\\\Z)*+)
    ) {_LINE_END}?+
    """,
    re.VERBOSE | re.DOTALL,
)
_PROPERTY_ESCAPE = re.compile(rf"\\(?:{_LINE_END}[ \t\f]*|u([0-9A-Fa-f]{{4}})|(.)|\Z)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {sign: f"\\{letter}" for letter, sign in _CONTROLS.items()} | {"\\": "\\\\"}


def read_properties(content: bytes) -> MessagesDocument:
    """Reads the messages of a Java program: in UTF-8, or else in ISO 8859-1, as Java does.

    A file in ASCII is written in ASCII, with escapes that every version of Java reads.
    """
    charset = "utf-8"
    try:
        text = content.decode()
    except UnicodeDecodeError:
        charset, text = "iso-8859-1", content.decode("iso-8859-1")
    values = []
    at = 0
    while at < len(text) and (match := _PROPERTY.match(text, at)):
        at = match.end()
        if match["value"] and match["value"].strip() not in ("true", "false", "null"):
            words = _PROPERTY_ESCAPE.sub(_property_character, match["value"])
            write = partial(_property, charset="ascii" if text.isascii() else charset)
            values.append(Value(*match.span("value"), _joined_surrogates(words), write))
    return MessagesDocument(text, values, charset)


def _property_character(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return _CONTROLS.get(match[2], match[2]) if match[2] else ""


def _joined_surrogates(text: str) -> str:
    """The text with pairs of surrogates as the characters that they stand for."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _property(text: str, charset: str) -> str:
    escaped = "".join(_ESCAPED.get(letter, letter) for letter in text)
    if escaped.startswith(" "):
        escaped = "\\" + escaped
    return "".join(
        letter if _encodes(letter, charset) else _unicode_escape(letter) for letter in escaped
    )


def _unicode_escape(letter: str) -> str:
    """One or two UTF-16 units, with the capitals that Java's own tools write."""
    units = letter.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _encodes(letter: str, charset: str) -> bool:
    return letter.isascii() or charset == "utf-8" or (charset != "ascii" and letter <= "\xff")


_STRINGS = re.compile(
    r"(?P<comment>/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|//[^\n]*+)"
    r"|\"(?P<string>(?:[^\"\\]|\\.)*+)(?:\"|(?P<open>\\?+\Z))|(?P<sign>[=;])",
    re.DOTALL,
)
_STRINGS_ESCAPE = re.compile(r"\\(?:[Uu]([0-9A-Fa-f]{4})|(.))", re.DOTALL)


def read_strings(content: bytes) -> MessagesDocument:
    """Reads the messages of a program for Apple's systems.

    Raises:
        DataError: it is not in UTF-8, or a text has no end.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise unreadable("strings", f"byte {content[error.start]:#04x}", line) from None
    return MessagesDocument(text, list(_strings_in(text)))


def _strings_in(text: str) -> Iterator[Value]:
    previous = ""
    for match in _STRINGS.finditer(text):
        if match["comment"] is not None:
            continue
        if match["open"] is not None or (previous == "value" and match["sign"] != ";"):
            raise unreadable("strings", match[0][:60], text.count("\n", 0, match.start()) + 1)
        if match["string"] is not None and previous == "=":
            raw = match["string"]
            words = _joined_surrogates(_STRINGS_ESCAPE.sub(_property_character, raw))
            as_they_are = {sign for sign in "\n\t\r" if sign in raw}
            yield Value(*match.span("string"), words, partial(_string, kept=as_they_are))
            previous = "value"
        else:
            previous = match["sign"] or ""


def _string(text: str, kept: set[str]) -> str:
    """The text between quotes; signs that the source has without a backslash get none."""
    escapes = {**_ESCAPED, '"': '\\"'}
    return "".join(letter if letter in kept else escapes.get(letter, letter) for letter in text)
