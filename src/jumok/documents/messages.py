"""Catalogs of a program's messages: .properties, .strings, YAML and JSON; and notebooks.

Keys and comments stay; a changed file is written as translate-toolkit and ruamel.yaml write it.
"""

import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jumok.documents.document import Document, TextDocument
from jumok.documents.markdown import read_markdown
from jumok.documents.po import Message
from jumok.documents.segment import DocumentSegment, Translated
from jumok.errors import DataError, Location, optional_import


@dataclass(frozen=True)
class MessagesDocument:
    """A catalog and its units, as translate-toolkit reads them, with their messages."""

    content: bytes
    store: Any
    messages: Sequence[tuple[Any, Message]]

    @property
    def segments(self) -> Sequence[DocumentSegment]:
        return [segment for _, message in self.messages for segment in message.segments]

    def written(self, translations: Sequence[Translated]) -> bytes:
        rest = list(reversed(translations))
        changed = False
        for unit, message in self.messages:
            text = message.written(rest)
            if text != unit.source:
                unit.target, changed = text, True
        return bytes(self.store) if changed else self.content


def read_messages(content: bytes, format: str) -> MessagesDocument:
    """Reads a catalog of a program in Java, or for Apple's systems.

    Args:
        format: "properties" or "strings".

    Raises:
        DataError: it is not of this format.
        MissingExtraError: translate-toolkit is not installed.
    """
    with optional_import(f"reading .{format} files", extra="documents"):
        from translate.storage import base, properties
    kinds = {"properties": properties.javautf8file, "strings": properties.stringsutf8file}
    store = kinds[format]()
    try:
        store.parse(content)
    except (base.ParseError, UnicodeDecodeError, ValueError) as error:
        raise _unreadable(format, str(error)) from None
    units = [(unit, unit.source) for unit in store.units if unit.source]
    return MessagesDocument(content, store, [(unit, Message.of(text)) for unit, text in units])


@dataclass(frozen=True)
class TreeDocument:
    """Messages in a tree of keys: JSON or YAML.

    Attributes:
        texts: for each the mapping or list that it is in, its key there, and its message.
        dump: writes the tree.
    """

    content: bytes
    tree: Any
    texts: Sequence[tuple[Any, Any, Message]]
    dump: Callable[[Any], bytes]

    @property
    def segments(self) -> Sequence[DocumentSegment]:
        return [segment for *_, message in self.texts for segment in message.segments]

    def written(self, translations: Sequence[Translated]) -> bytes:
        rest = list(reversed(translations))
        changed = False
        for container, key, message in self.texts:
            text = message.written(rest)
            if text != container[key]:
                container[key], changed = type(container[key])(text), True
        return self.dump(self.tree) if changed else self.content


def read_json(content: bytes) -> TreeDocument:
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

    def dump(changed: object) -> bytes:
        space = indent[1].decode() if indent else None
        written = json.dumps(changed, indent=space, ensure_ascii=False)
        return (written + end).encode("utf-8", "surrogatepass")

    return TreeDocument(content, tree, list(_texts("json", tree)), dump)


def read_yaml(content: bytes) -> TreeDocument:
    """Reads messages in YAML.

    Raises:
        DataError: it is not YAML, or a value is no text, so that it is no catalog.
        MissingExtraError: ruamel.yaml is not installed.
    """
    with optional_import("reading YAML files", extra="documents"):
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, 10**9
    try:
        tree = yaml.load(content)
    except (YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable("yaml", str(error)) from None

    def dump(changed: object) -> bytes:
        stream = io.BytesIO()
        yaml.dump(changed, stream)
        return stream.getvalue()

    return TreeDocument(content, tree, list(_texts("yaml", tree)), dump)


def _texts(format: str, tree: Any) -> Iterator[tuple[Any, Any, Message]]:
    """The texts of a tree, in order.

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
                yield node, key, Message.of(value)
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
