"""Markdown: paragraphs, headings, items and cells; code, addresses, front matter, math stay."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from jumok.documents.document import Slot, TextDocument
from jumok.documents.html import VOID, slots_of, whole_elements
from jumok.documents.markdown_dialects import (
    COPIED,
    FROZEN,
    SPAN_CLOSE,
    SPAN_OPEN,
    add_dialects,
)
from jumok.documents.markup import tokens
from jumok.documents.placing import rendered
from jumok.documents.segment import Chunk, paragraph
from jumok.errors import DataError, Location, optional_import

if TYPE_CHECKING:
    from markdown_it.token import Token

_LINE_BREAK = re.compile(r"\r\n?|\n")  # as the parser counts lines
FRONT_MATTER = re.compile(
    r"\A(?:---[ \t]*\r?\n.*?\r?\n(?:---|\.\.\.)|\+\+\+[ \t]*\r?\n.*?\r?\n\+\+\+)[ \t]*(?:\r?\n|\Z)",
    re.DOTALL,
)
_SPECIAL = re.compile(r"([\\`*\[\]<]|(?<!\w)_|_(?!\w))")
_OF_DIALECTS = frozenset("$~^={}|@:%")
"""Signs that get a backslash where the source has one before them."""

_BLOCK = re.compile(r"^(\d+)([.)]\s)|^([#>+-])(?=\s|[#>])")


def read_markdown(content: bytes) -> TextDocument:
    """Reads a page as CommonMark with tables, strikethrough, and what dialects add."""
    return markdown_page(content.decode("utf-8", errors="surrogateescape"))


def markdown_page(text: str) -> TextDocument:
    """Reads a page that is text already."""
    front = FRONT_MATTER.match(text)
    start = front.end() if front else 0
    with optional_import("reading Markdown", extra="documents"):
        import markdown_it
    parser = (
        markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    )
    add_dialects(parser)
    body = text[start:]
    starts = [start, *(start + match.end() for match in _LINE_BREAK.finditer(body))]
    page = _Page(text, [*starts, len(text)])
    slots = [slot for token in parser.parse(body) for slot in page.slots(token)]
    return TextDocument(text, slots)


class _Page:
    """Locates the parser's tokens in the text."""

    def __init__(self, text: str, starts: Sequence[int]) -> None:
        self.text, self.starts = text, starts
        self.at = 0
        self.cell = False

    def slots(self, block: "Token") -> Iterator[Slot]:
        if block.type in ("th_open", "td_open", "th_close", "td_close"):
            self.cell = block.nesting == 1
        if block.map is None:
            return
        first, last = (self.starts[min(line, len(self.starts) - 1)] for line in block.map)
        if block.type == "html_block":
            yield from slots_of(self.text[first:last], first)
        elif block.type == "inline" and block.content:
            self.at = max(self.at, first)
            places = self._places(block.content, block.map[0])
            for group, start in _groups(block):
                yield from self._slot(group, start, places)

    def _places(self, content: str, line: int) -> list[int]:
        """The index in the file of each character of a block's content.

        Raises:
            DataError: there is none, so that the translation could not be put there.
        """
        places: list[int] = []
        for number, line_text in enumerate(content.split("\n"), start=line):
            start, end = self.starts[number], self.starts[number + 1]
            if self.cell:
                index = self.text.find(line_text.replace("|", r"\|"), self.at, end)
            else:  # marks of a quotation or an item precede it
                index = self.text.rfind(line_text, start, end)
            if index < 0:
                raise DataError(
                    "a line of the Markdown file could not be located.",
                    got=repr(line_text),
                    do="write the line without tabs, or remove it",
                    place=Location("Markdown", number + 1),
                )
            for character in line_text:
                index += self.cell and character == "|" and self.text[index] == "\\"
                places.append(index)
                index += 1
            self.at = index
            places.append(index)  # the end of the line
        return places

    def _slot(self, chunks: Sequence[Chunk], start: int, places: Sequence[int]) -> Iterator[Slot]:
        content = paragraph(chunks)
        if content is None:
            return
        before, segment, after = content
        end = start + sum(len(chunk.raw) for chunk in chunks) - len(after)
        signs = {chunk.text for chunk in chunks if chunk.raw == f"\\{chunk.text}"} & _OF_DIALECTS
        escape = partial(_escaped, signs=signs | {"|"} if self.cell else signs)
        yield Slot(
            places[start + len(before)], places[end - 1] + 1, segment,
            lambda translated: _begun(rendered(segment, translated, escape)),
        )  # fmt: skip


_COMMENT = re.compile(r"((?:<!--(?:[^-]|-(?!->))*+-->|<[?!][^<>]*+>)\s*+)++")


def _begun(written: str) -> str:
    """The text with comments at its end: at its beginning they would make a block of HTML of it."""
    comments = _COMMENT.match(written)
    return f"{written[comments.end() :]} {comments[0].rstrip()}" if comments else written


def _groups(block: "Token") -> Iterator[tuple[list[Chunk], int]]:
    """The slices between hard line breaks, and where in the content each group begins."""
    group: list[Chunk] = []
    start = at = 0
    for chunk in _Inlines(block.content).chunks(block.children or []):
        at += len(chunk.raw)
        if chunk.name == "break":
            yield [*whole_elements(group)], start
            group, start = [], at
        else:
            group.append(chunk)
    yield [*whole_elements(group)], start


_GAP = re.compile(r"[ \t]*")
_BREAK = re.compile(r"(?:\\|[ \t]*)\n[ \t]*")
_SPACE = re.compile(r"[ \t\n]*")
_TICKS = re.compile("`+")
_TITLE = re.compile(r"\[!|\*\*[^*\n]+\*\*\n")
_LABEL = re.compile(r"\]\[[^\]]++\]")


class _Inlines:
    """Locates the parser's inline tokens in the content of a block."""

    def __init__(self, content: str) -> None:
        self.content, self.at = content, 0
        self.titled = _TITLE.match(content) is not None
        self.terms = re.search(r"\n:[ \t]", content) is not None  # several of one definition
        self.labels: list[int] = []

    def chunks(self, children: "Sequence[Token]") -> Iterator[Chunk]:
        """The slices in order; concatenated they are the content."""
        rest = iter(children)
        for child in rest:
            if child.type in ("softbreak", "hardbreak"):
                # The title of a quotation that is a note is a line of its own.
                titled = self.titled and "\n" not in self.content[: self.at]
                raw = self._take(_BREAK.match(self.content, self.at))
                ends = titled or self.terms or child.type == "hardbreak"
                yield Chunk("text", raw, " ", "break" if ends else "")
                continue
            gap = self._gap(child)
            if gap:
                yield Chunk("text", gap, gap)
            if child.type == "link_open" and child.markup == "autolink":
                address = next(rest).content
                next(rest)
                yield Chunk("frozen", self._slice(self.content.index(">", self.at) + 1), address)
            else:
                yield self._chunk(child)
        if self.at < len(self.content):
            yield Chunk("text", self.content[self.at :], self.content[self.at :])

    def _gap(self, child: "Token") -> str:
        """The white space that the parser left out before this."""
        written = child.content if child.type in ("text", "html_inline") else child.markup
        if written and self.content.startswith(written, self.at):
            return ""
        return self._take(_GAP.match(self.content, self.at))

    def _chunk(self, child: "Token") -> Chunk:
        if child.type == "text":
            return Chunk("text", self._slice(self.at + len(child.content)), child.content)
        if child.type == "text_special":
            return Chunk("text", self._slice(self.at + len(child.markup)), child.content)
        if child.type == "code_inline":
            marks = _TICKS.finditer(self.content, self.at + len(child.markup))
            end = next((mark.end() for mark in marks if mark[0] == child.markup), None)
            raw = self._slice(len(self.content) if end is None else end)
            return Chunk("frozen", raw, child.content)
        if child.type == COPIED:
            return Chunk("point", self._slice(self.at + len(child.content)))
        if child.type == FROZEN:
            variable = child.content if child.content.startswith("{") else ""
            return Chunk("frozen", self._slice(self.at + len(child.content)), variable)
        if child.type in (SPAN_OPEN, SPAN_CLOSE):
            kind = "open" if child.type == SPAN_OPEN else "close"
            return Chunk(kind, self._slice(self.at + len(child.content)), name="span")
        if child.type == "image":
            label = _label_end(self.content, self.at + 2)
            return Chunk("point", self._slice(_address_end(self.content, label) or label + 1))
        if child.type == "html_inline":
            token = next(tokens(child.content))
            kind = token.kind if token.kind in ("open", "close") else "point"
            alone = child.content.endswith("/>") or token.name.lower() in VOID
            kind = "point" if alone else kind
            return Chunk(kind, self._slice(self.at + len(child.content)), name=token.name.lower())
        if child.type == "link_open":
            self.labels.append(self.at + 1)
            return Chunk("open", self._slice(self.at + 1), name="a")
        if child.type == "link_close":
            return self._link_end(self.labels.pop())
        kind = "open" if child.nesting == 1 else "close"
        return Chunk(kind, self._slice(self.at + len(child.markup)), name=child.tag)

    def _link_end(self, start: int) -> Chunk:
        label = self.content[start : self.at]
        end = _address_end(self.content, self.at)
        if end:
            return Chunk("close", self._slice(end), name="a")
        # [label] and [label][]: the address is elsewhere, under the label in the source language.
        raw = self._slice(self.at + (3 if self.content.startswith("][]", self.at) else 1))
        return Chunk("close", raw, name="a", write=f"][{label}]")

    def _take(self, match: re.Match[str] | None) -> str:
        return self._slice(match.end()) if match else ""

    def _slice(self, end: int) -> str:
        start, self.at = self.at, end
        return self.content[start:end]


def _label_end(content: str, start: int) -> int:
    """The index of the bracket that closes the one opened before `start`."""
    depth, at = 1, start
    while at < len(content):
        if content[at] == "\\":
            at += 1
        depth += {"[": 1, "]": -1}.get(content[at : at + 1], 0)
        if depth == 0:
            return at
        at += 1
    return len(content)


def _address_end(content: str, at: int) -> int | None:
    """The index behind the address of the label that closes at `at`; None as in [label][]."""
    if content.startswith("](", at):
        start = end = _after_space(content, at + 2)
        with optional_import("reading Markdown", extra="documents"):
            from markdown_it import helpers
            from markdown_it.common import normalize_url
        address = helpers.parseLinkDestination(content, start, len(content))
        if address.ok:
            if normalize_url.validateLink(normalize_url.normalizeLink(address.str)):
                end = address.pos
            start = _after_space(content, end)
            title = helpers.parseLinkTitle(content, start, len(content))
            end = _after_space(content, title.pos) if title.ok and start > end else start
        if content.startswith(")", end):
            return end + 1
    label = _LABEL.match(content, at)
    return label.end() if label else None


def _after_space(content: str, at: int) -> int:
    match = _SPACE.match(content, at)
    return match.end() if match else at


def _escaped(text: str, signs: Iterable[str]) -> str:
    """Plain text, with a backslash before what would be markup, and before these signs."""
    safe = _SPECIAL.sub(r"\\\1", text)
    for sign in signs:
        safe = safe.replace(sign, f"\\{sign}")
    return _BLOCK.sub(lambda match: f"{match[1] or ''}\\{match[2] or match[3]}", safe)
