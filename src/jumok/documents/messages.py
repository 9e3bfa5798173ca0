"""Catalogs of a program's messages: .properties, .strings, YAML and JSON; and notebooks.

Keys and comments stay; a changed file is written as translate-toolkit and ruamel.yaml write it.
"""

import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any
from warnings import catch_warnings

from jumok.documents.document import Document, TextDocument
from jumok.documents.markdown import read_markdown
from jumok.documents.po import Message
from jumok.documents.segment import DEEPEST, DocumentSegment, Translated
from jumok.errors import DataError, Location, optional_import


@dataclass(frozen=True)
class MessagesDocument:
    """A catalog.

    Attributes:
        texts: each with what puts another text in its place.
        dump: writes the catalog with the new texts.
    """

    content: bytes
    texts: Sequence[tuple[str, Callable[[str], None]]]
    dump: Callable[[], bytes]

    @cached_property
    def _messages(self) -> list[Message]:
        return [Message.of(text) for text, _ in self.texts]

    @property
    def segments(self) -> Sequence[DocumentSegment]:
        return [segment for message in self._messages for segment in message.segments]

    def written(self, translations: Sequence[Translated]) -> bytes:
        rest = list(reversed(translations))
        changed = False
        for (text, put), message in zip(self.texts, self._messages, strict=True):
            new = message.written(rest)
            if new != text:
                put(new)
                changed = True
        return self.dump() if changed else self.content


def read_properties(content: bytes) -> MessagesDocument:
    """Reads the messages of a Java program.

    A file in ASCII is written in ASCII, with escapes that every version of Java reads.
    """
    with optional_import("reading .properties files", extra="documents"):
        from translate.storage.properties import javafile
    store = javafile()
    document = _read_units(content, "properties", store)
    if content.isascii():
        store.encoding = "iso-8859-1"  # what is not in it is escaped
    return document


def read_strings(content: bytes) -> MessagesDocument:
    """Reads the messages of a program for Apple's systems."""
    with optional_import("reading .strings files", extra="documents"):
        from translate.storage.properties import stringsutf8file
    return _read_units(content, "strings", stringsutf8file())


def _read_units(content: bytes, format: str, store: Any) -> MessagesDocument:
    """Reads a file by a store of translate-toolkit; raises DataError: it is not of the format."""
    from translate.storage.base import ParseError

    try:
        store.parse(content)
    except (ParseError, UnicodeDecodeError, ValueError) as error:
        raise _unreadable(format, str(error)) from None
    texts = [(unit.source, partial(setattr, unit, "target")) for unit in store.units if unit.source]
    return MessagesDocument(content, texts, partial(bytes, store))


def read_json(content: bytes) -> MessagesDocument:
    """Reads messages in JSON; they are written with the indentation of the file.

    Raises:
        DataError: it is not JSON, or a value is no text, so that it is no catalog.
    """
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _unreadable("json", str(error)) from None
    indent = re.search(rb"\n([ \t]+)\S", content)
    end = "\n" if content.endswith(b"\n") else ""

    def dump() -> bytes:
        space = indent[1].decode() if indent else None
        written = json.dumps(tree, indent=space, ensure_ascii=False)
        return (written + end).encode("utf-8", "surrogatepass")

    return MessagesDocument(content, list(_texts("json", tree)), dump)


def read_yaml(content: bytes) -> MessagesDocument:
    """Reads messages in YAML.

    Raises:
        DataError: it is not YAML, or a value is no text, so that it is no catalog.
        MissingExtraError: ruamel.yaml is not installed.
    """
    with optional_import("reading YAML files", extra="documents"):
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
        from ruamel.yaml.scanner import RoundTripScanner

    class Scanner(RoundTripScanner):
        """Its time grows with the square of the depth, so there is a deepest."""

        def fetch_flow_collection_start(self, *args: Any, **named: Any) -> None:
            if len(self.flow_context) >= DEEPEST:
                raise YAMLError(f"lists in lists are more than {DEEPEST} deep")
            super().fetch_flow_collection_start(*args, **named)

    yaml = YAML()
    yaml.Scanner = Scanner
    yaml.preserve_quotes, yaml.width = True, 10**9
    try:
        with catch_warnings(action="ignore"):  # of names that are used twice
            tree = yaml.load(content)
    except (YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable("yaml", str(error)) from None

    def dump() -> bytes:
        stream = io.BytesIO()
        yaml.dump(tree, stream)
        return stream.getvalue()

    return MessagesDocument(content, list(_texts("yaml", tree)), dump)


def _texts(format: str, tree: Any) -> Iterator[tuple[str, Callable[[str], None]]]:
    """The texts of a tree, in order, each with what puts another one in its place.

    Values that are no text are left alone under a single key at the top, the language, as Rails
    has it; elsewhere they are a sign of settings, whose texts are names.
    """
    of_language = isinstance(tree, dict) and len(tree) == 1
    if not isinstance(tree, (dict, list)):
        raise _unreadable(format, "it is one value")
    # YAML's aliases may lead to one node many times, or round in a circle.
    seen: set[int] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        children = []
        for key, value in list(node.items() if isinstance(node, dict) else enumerate(node)):
            if isinstance(value, str):
                yield value, partial(_put, node, key)
            elif isinstance(value, (dict, list)):
                children.append(value)
            elif not of_language:
                raise DataError(
                    f"this {format} file is no catalog of messages.",
                    expected="texts by their keys",
                    got=f"{key}: {value}",
                    do="extract its texts, one sentence per line",
                    place=Location(format),
                )
        waiting += reversed(children)


def _put(node: Any, key: Any, text: str) -> None:
    node[key] = type(node[key])(text)  # of YAML's own kinds, which keep the quotes


def _unreadable(format: str, fault: str) -> DataError:
    return DataError(f"the file is not readable as {format}.", got=fault, place=Location(format))


@dataclass(frozen=True)
class NotebookDocument:
    """A Jupyter notebook: the cells in Markdown."""

    content: bytes
    notebook: dict[str, object]
    cells: Sequence[tuple[dict[str, object], TextDocument]]

    @property
    def segments(self) -> Sequence[DocumentSegment]:
        return [segment for _, page in self.cells for segment in page.segments]

    def written(self, translations: Sequence[Translated]) -> bytes:
        """The notebook as Jupyter writes it."""
        if all(
            one.text == other.text for one, other in zip(self.segments, translations, strict=True)
        ):
            return self.content
        at = 0
        for cell, page in self.cells:
            after = at + len(page.segments)
            text = page.replaced(translations[at:after])
            cell["source"] = (
                text.splitlines(keepends=True) if isinstance(cell["source"], list) else text
            )
            at = after
        written = json.dumps(self.notebook, indent=1, ensure_ascii=False)
        return (written + "\n").encode("utf-8", "surrogatepass")


def read_notebook(content: bytes) -> Document:
    """Reads a Jupyter notebook.

    Raises:
        DataError: it is no notebook.
    """
    try:
        notebook = json.loads(content)
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
        texts = ["".join(cell["source"]) for cell in cells]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(
            "the file is not readable as a Jupyter notebook.",
            expected="a JSON object with cells (format 4)",
            got=str(error),
            place=Location("notebook"),
        ) from None
    pages = [read_markdown(text.encode("utf-8", "surrogatepass")) for text in texts]
    return NotebookDocument(content, notebook, list(zip(cells, pages, strict=True)))
