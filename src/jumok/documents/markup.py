"""HTML and XML as slices of the file, so that all that is not translated is kept byte for byte."""

import html
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

_TOKEN = re.compile(
    r"(?P<comment><!--.*?(?:-->|\Z))"
    r"|(?P<cdata><!\[CDATA\[.*?(?:\]\]>|\Z))"
    r"|(?P<template><%(?:(?!%>|<%).)*+%>)"  # without another inside: linear
    r"|(?P<program><\?(?:(?!\?>|<\?).)*+\?>)"
    r"|(?P<declaration><[!?][^>]*(?:>|\Z))"
    r"|(?P<tag></?(?:[A-Za-z_](?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+|\d{1,4}\s?/?)>)"  # <0>: React
    r"|(?P<broken></?[A-Za-z][^<>]*+>)",
    re.DOTALL,
)
_NAME = re.compile(r"</?([^\s/>]+)")
_ATTRIBUTE = re.compile(
    r"(?P<name>[^\s=\"'<>/]+)(?:\s*=\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'"
    r"|(?P<bare>[^\s\"'<>=`]+)))?"
)

_NO_CHARACTER = re.compile("&#(?:[0-9]{8,}+|[xX][0-9A-Fa-f]{8,}+)")
"""A reference to a number that is too large; Python refuses to read the longest."""


class Token(NamedTuple):
    """A slice of the document.

    Attributes:
        kind: text, open, close, empty (an open tag that ends in "/>"), or other.
        start, end: in characters.
        name: of a tag, as written.
    """

    kind: str
    start: int
    end: int
    name: str = ""


def tokens(text: str, raw_elements: frozenset[str] = frozenset()) -> Iterator[Token]:
    """The document's slices in order; concatenated they are the document.

    Args:
        raw_elements: elements whose content has no markup but their own end tag: script, style.
            Their content is a token "other".
    """
    at = 0
    while match := _TOKEN.search(text, at):
        start, end = match.span()
        if start > at:
            yield Token("text", at, start)
        at = end
        tag = match["tag"] or match["broken"]
        if tag is None:
            yield Token("other", start, end)
            continue
        named = _NAME.match(tag)
        name = named[1] if named else ""
        kind = "close" if tag.startswith("</") else "empty" if tag.endswith("/>") else "open"
        yield Token(kind, start, end, name)
        if kind == "open" and name.lower() in raw_elements:
            closing = re.compile(rf"</{re.escape(name)}\s*>", re.IGNORECASE).search(text, at)
            inner = closing.start() if closing else len(text)
            if inner > at:
                yield Token("other", at, inner)
            at = inner
    if at < len(text):
        yield Token("text", at, len(text))


class _Part(Protocol):
    @property
    def kind(self) -> str: ...

    @property
    def name(self) -> str: ...


def end_of(tokens: Sequence[_Part], index: int, name: str) -> int:
    """The index after the tag that closes the element of this name, open before `index`."""
    depth = 1
    for number in range(index, len(tokens)):
        token = tokens[number]
        if token.name.lower() == name.lower():
            depth += {"open": 1, "close": -1}.get(token.kind, 0)
        if depth == 0:
            return number + 1
    return len(tokens)


class Attribute(NamedTuple):
    """An attribute's value, unescaped, and its span inside of the tag."""

    value: str
    start: int
    end: int


def attributes(tag: str) -> dict[str, Attribute]:
    """The attributes of a tag by their names in lower case."""
    values: dict[str, Attribute] = {}
    name = _NAME.match(tag)
    for match in _ATTRIBUTE.finditer(tag, name.end() if name else 0):
        group = next((one for one in ("double", "single", "bare") if match[one] is not None), "")
        value = unescape(match[group]) if group else ""
        start, end = match.span(group) if group else (match.end(), match.end())
        values.setdefault(match["name"].lower(), Attribute(value, start, end))
    return values


def unescape(text: str) -> str:
    """The text with the characters that its references name."""
    return html.unescape(_NO_CHARACTER.sub("&#xfffd", text))


def escape(text: str) -> str:
    """Text escaped for a place between tags."""
    return html.escape(text, quote=False)
