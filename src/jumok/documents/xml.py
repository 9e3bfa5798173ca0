"""Tags of an XML file and where they are, block by block: of files larger than the memory, too.

A parser's tree forgets how a file was written, and holds all of it. Here every tag comes with its
place, and what is between two places is the file's own text.
"""

import codecs
import html
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from jumok.documents.document import Slot, TextDocument
from jumok.documents.markup import Token, attributes, tokens
from jumok.documents.segment import Piece
from jumok.errors import DataError, Place

TEXT = {"g", "mrk", "pc", "hi", "sub"}  # elements whose content is text
OPENS, CLOSES = {"bpt", "bx", "sc"}, {"ept", "ex", "ec"}  # two elements that enclose text
BLANK = b" \t\r\n"
CDATA = "<![CDATA["
PART = 1 << 15  # bytes whose tags are known at once: a tag takes more memory than its text

_DECLARED = re.compile(rb"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([\w.:-]+)")
_TAG = re.compile(rb"<[^<>\"']*(?:\"[^\"]*\"[^<>\"']*|'[^']*'[^<>\"']*)*>")
_ATTRIBUTES = r"(?:\s[^<>\"']*(?:\"[^\"]*\"[^<>\"']*|'[^']*'[^<>\"']*)*)?"
_PREFIX = r"(?:[\w.-]+:)?"
_TEXT_TAG = re.compile(rf"</?{_PREFIX}(?:{'|'.join(sorted(TEXT))})(?=[\s/>]){_ATTRIBUTES}/?>")
# A code without elements in it, and all of its content: the next end is its own.
_LEAF = re.compile(
    rf"<(?!{_PREFIX}(?:{'|'.join(sorted(TEXT))})[\s/>])[\w.:-]+(?=[\s/>]){_ATTRIBUTES}"
    r"(?:/>|(?<!/)>[^<]*</[^<>]*>)"
)
_REFERENCE = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[A-Za-z_][\w.-]*);")


class Tag(NamedTuple):
    """The start or the end of an element.

    Attributes:
        name: as written, with its prefix.
        local: without it.
        attributes: by their names as written; None: the end of an element.
        start: its place, in bytes of UTF-8.
        line: from 1.
    """

    name: str
    local: str
    attributes: Mapping[str, str] | None
    start: int
    line: int


class XmlFile:
    """The tags of some elements of a file, and what is between them.

    Args:
        blocks: the bytes of the file; its declaration names their character set, UTF-8 by default.
        names: of the elements, without prefixes.
        form: what the file is, for errors: "TMX".

    Attributes:
        charset: that of the file, once its first tag is known.
    """

    def __init__(
        self, blocks: Iterable[bytes], names: frozenset[str], form: str, file: Path | str
    ) -> None:
        self.charset = "utf-8"
        self._blocks, self._form, self._file = blocks, form, file
        self._content, self._begin = bytearray(), 0
        self._ready: list[Tag] = []
        self._parser = self._parser_of(names)

    def tags(self) -> Iterator[Tag]:
        """In their order.

        Raises:
            DataError: the file is not well-formed, or not in its character set.
        """
        try:
            for block in self._utf8():
                self._content += block
                for first in range(0, len(block), PART):
                    self._parser.Parse(block[first : first + PART])
                    yield from self._ready
                    self._ready.clear()
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise DataError(
                f"the file is not well-formed {self._form}.",
                got=expat.ErrorString(error.code),
                place=Place(self._file, error.lineno),
            ) from None
        yield from self._ready

    def between(self, start: int, end: int) -> str:
        """What is written there."""
        return self._content[start - self._begin : end - self._begin].decode()

    def behind(self, tag: Tag) -> int:
        """The place behind a tag."""
        at = tag.start - self._begin
        if tag.attributes is None and not self._content.startswith(b"</", at):
            return tag.start  # the end of an element that is one tag
        found = _TAG.match(self._content, at)
        assert found is not None
        return found.end() + self._begin

    def space_before(self, place: int) -> str:
        """The white space that ends there."""
        start = place - self._begin
        while start and self._content[start - 1] in BLANK:
            start -= 1
        return self.between(start + self._begin, place)

    def forget(self, place: int) -> None:
        """Nothing before this place is asked for any more."""
        del self._content[: place - self._begin]
        self._begin = place

    def document(self, slots: list[Slot]) -> TextDocument:
        """The file with slots, whose places are those of tags."""
        slots.sort(key=lambda slot: slot.start)
        byte = character = 0
        places = []
        for place in chain.from_iterable(slot[:2] for slot in slots):
            character += len(self._content[byte:place].decode())
            byte = place
            places.append(character)
        spans = zip(slots, places[::2], places[1::2], strict=True)
        moved = [slot._replace(start=start, end=end) for slot, start, end in spans]
        return TextDocument(self._content.decode(), moved, self._encoded)

    def _encoded(self, text: str) -> bytes:
        return text.encode(self.charset, errors="xmlcharrefreplace")

    def _utf8(self) -> Iterator[bytes]:
        """The file in UTF-8."""
        blocks = iter(self._blocks)
        first = next(blocks, b"")
        self.charset = self._charset_of(first)
        if self.charset == "utf-8":
            yield first.removeprefix(codecs.BOM_UTF8)
            yield from blocks
            return
        decoder = codecs.getincrementaldecoder(self.charset)()
        try:
            yield decoder.decode(first).encode()
            for block in blocks:
                yield decoder.decode(block).encode()
            yield decoder.decode(b"", True).encode()
        except UnicodeError as error:
            raise DataError(
                "the file is not in the character set that it names.",
                expected=self.charset,
                got=str(error),
                do="correct the encoding in its first line, or convert the file",
                place=Place(self._file),
            ) from None

    def _charset_of(self, head: bytes) -> str:
        """The character set, by the first bytes."""
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        if head.startswith((b"<\0", b"\0<")):
            return "utf-16-le" if head.startswith(b"<\0") else "utf-16-be"
        declared = _DECLARED.match(head.removeprefix(codecs.BOM_UTF8))
        name = declared[1].decode() if declared else "utf-8"
        try:
            charset = codecs.lookup(name).name
            "".encode(charset)  # codecs such as "hex" are none of text
        except LookupError:
            raise DataError(
                "the file names a character set that does not exist.",
                got=name,
                do="correct the encoding in its first line",
                place=Place(self._file, 1),
            ) from None
        # In UTF-16 the name could not have been read here.
        return "utf-8" if charset.startswith(("utf-16", "utf-32")) else charset

    def _parser_of(self, names: frozenset[str]) -> expat.XMLParserType:
        """A parser that adds the tags of these elements to `_ready`."""
        parser, add, known = expat.ParserCreate("utf-8"), self._ready.append, dict[str, str]()

        def tag(name: str, attributes: Mapping[str, str] | None = None) -> None:
            local = known.get(name)
            if local is None:
                local = known[name] = name.rpartition(":")[2]
            if local in names:
                at, line = parser.CurrentByteIndex, parser.CurrentLineNumber
                add(Tag(name, local, attributes, at, line))

        parser.StartElementHandler = parser.EndElementHandler = tag
        # With a handler for all else, no entity is replaced: they may name files, or grow.
        parser.DefaultHandler = bool
        return parser


def unescaped(raw: str) -> str:
    """The characters of text between tags; references to what the file defines are left out."""
    if "&" not in raw:
        return raw
    return _REFERENCE.sub(_character, raw)


def _character(reference: re.Match[str]) -> str:
    character = html.unescape(reference[0])
    return "" if character == reference[0] else character


def plain_text(raw: str) -> str:
    """The text of a segment without its inline codes."""
    left = _TEXT_TAG.sub("", _LEAF.sub("", raw)) if "<" in raw else raw
    if "<" in left:  # codes within codes, comments and the like
        return "".join(piece.text for piece in pieces_of(raw))
    return unescaped(left)


def pieces_of(raw: str) -> list[Piece]:
    """The parts of a segment's content."""
    pieces: list[Piece] = []
    inside = list(tokens(raw))
    index = 0
    while index < len(inside):
        token = inside[index]
        written, name = raw[token.start : token.end], token.name.rpartition(":")[2]
        said = attributes(written) if token.kind in ("open", "empty") else {}
        first, index = index, index + 1
        if token.kind == "text":
            pieces.append(Piece("text", written, unescaped(written)))
            continue
        if written.startswith(CDATA):
            pieces.append(Piece("text", written, written[len(CDATA) :].removesuffix("]]>")))
            continue
        if name in TEXT and "translate" not in said and token.kind in ("open", "close"):
            pieces.append(Piece(token.kind, written, name=name))
            continue
        if token.kind == "open":  # a code with all its content
            last = _end_of(inside, index, token.name)
            written, index = raw[token.start : inside[last - 1].end], last
        number = next(
            (said[key].value for key in ("i", "rid", "startref", "id") if key in said), ""
        )
        kind = "open" if name in OPENS else "close" if name in CLOSES else "point"
        frozen = name == "mrk"
        texts = [each for each in inside[first:index] if frozen and each.kind == "text"]
        words = unescaped("".join(raw[each.start : each.end] for each in texts))
        pieces.append(Piece("frozen" if frozen else kind, written, words, f"code {number}"))
    return pieces


def _end_of(inside: list[Token], index: int, name: str) -> int:
    depth = 1
    for place in range(index, len(inside)):
        if inside[place].name == name:
            depth += {"open": 1, "close": -1}.get(inside[place].kind, 0)
        if depth == 0:
            return place + 1
    return len(inside)
