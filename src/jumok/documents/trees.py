"""Catalogs in JSON and YAML, and Jupyter's notebooks: texts of a tree, replaced in their places."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from jumok.documents.document import Document, Slot, TextDocument
from jumok.documents.markdown import markdown_page
from jumok.documents.messages import MessagesDocument, Value, unreadable
from jumok.documents.segment import DEEPEST, DocumentSegment, Translated
from jumok.errors import DataError, Location, optional_import

_SIGN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?+\Z)|[{}\[\],]|[^\s"{}\[\],:]++')


class _Scalar(NamedTuple):
    """A text or another value of JSON; `path`: the keys and numbers that lead to it, of five."""

    path: tuple[str | int, ...]
    start: int
    end: int
    value: object


def _scalars(text: str) -> Iterator[_Scalar]:
    """The values of JSON that can be read, in the order of the file."""
    path: list[str | int | None] = []  # None: of an object, before a key
    for match in _SIGN.finditer(text):
        sign = match[0]
        if sign in "{[":
            path.append(0 if sign == "[" else None)
        elif sign in "}]":
            path.pop()
        elif sign == ",":
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None
        elif path and path[-1] is None:
            path[-1] = str(json.loads(sign))
        else:
            known = tuple(key for key in path[:5] if key is not None)
            yield _Scalar(known, *match.span(), json.loads(sign))


def _json_text(content: bytes) -> str:
    """The file's text; raises ValueError or RecursionError: it is not JSON."""
    text = content.decode()
    json.loads(text)
    return text


def read_json(content: bytes) -> MessagesDocument:
    """Reads messages in JSON.

    Raises:
        DataError: it is not JSON, or a value is no text, so that it is no catalog.
    """
    try:
        text = _json_text(content)
    except (ValueError, RecursionError) as error:
        raise unreadable("json", str(error)) from None
    of_language = len({one.path[:1] for one in _scalars(text)}) == 1
    ascii_only = text.isascii() and "\\u" in text
    values = []
    messages = {path[0] for path, *_ in _scalars(text) if path[1:] == ("message",)}
    for path, start, end, value in _scalars(text):
        if _is_name(path) or (path[:1] and path[0] in messages and path[1:] != ("message",)):
            continue
        if isinstance(value, str) and path:
            slashes = "\\/" in text[start:end]
            write = partial(_quoted_scalar, ascii_only=ascii_only, slashes=slashes)
            values.append(Value(start, end, value, write))
        elif not of_language or not path:
            raise _no_catalog("json", f"{path[-1] if path else ''}: {value}")
    return MessagesDocument(text, values)


_NAMES = frozenset(("id", "key", "type", "locale", "lang", "url", "href"))


def _is_name(path: Sequence[str | int]) -> bool:
    """Whether a value is for programs: of a record in a list, or of Flutter's ARB ("@title")."""
    of_record = len(path) > 1 and isinstance(path[-2], int)
    return (of_record and path[-1] in _NAMES) or any(str(key).startswith("@") for key in path)


def _quoted_scalar(text: str, ascii_only: bool = False, slashes: bool = False) -> str:
    lone = any("\ud800" <= letter <= "\udfff" for letter in text)  # which UTF-8 lacks
    written = json.dumps(text, ensure_ascii=ascii_only or lone)
    return written.replace("/", "\\/") if slashes else written


def _no_catalog(format: str, got: str) -> DataError:
    """Values that are no text are left alone under a single key at the top, the language, as Rails
    has it; elsewhere they are a sign of settings, whose texts are names.
    """
    return DataError(
        f"this {format} file is no catalog of messages.",
        expected="texts by their keys",
        got=got,
        do="extract its texts, one sentence per line",
        place=Location(format),
    )


TEXT = "tag:yaml.org,2002:str"
_PROPERTIES = re.compile(r"(?:[&!][^\s]*+\s*+)*+")
"""The anchor and the type before a value."""

_PLAIN_SCALAR = re.compile(
    r"[^\W\d_](?:[^\s:#\[\]{},]|:(?=[^\s\[\]{},])|(?<=\S)\#| (?=\S)(?!\#))*+"
)
_NO_TEXT = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
"""Words that are no text in YAML 1.1 or 1.2."""

_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")


def shallow_yaml() -> tuple[Any, type[Exception]]:
    """A reader of YAML that makes nothing but values, and the error that it raises.

    Raises:
        MissingExtraError: ruamel.yaml is not installed.
    """
    with optional_import("reading YAML files", extra="documents"):
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
        from ruamel.yaml.scanner import Scanner

    class ShallowScanner(Scanner):
        """Its time grows with the square of the depth, so there is a deepest."""

        def fetch_flow_collection_start(self, token: Any, to_push: str) -> None:
            if len(self.flow_context) >= DEEPEST:
                raise YAMLError(f"lists in lists are more than {DEEPEST} deep")
            super().fetch_flow_collection_start(token, to_push)

    yaml = YAML(typ="safe", pure=True)
    yaml.Scanner = ShallowScanner
    yaml.composer.warn_double_anchors = False  # the last one counts; a library need not say so
    return yaml, YAMLError


def read_yaml(content: bytes) -> MessagesDocument:
    """Reads messages in YAML.

    Raises:
        DataError: it is not YAML, or a value is no text, so that it is no catalog.
        MissingExtraError: ruamel.yaml is not installed.
    """
    yaml, fault = shallow_yaml()
    try:
        text = content.decode()
        tree = yaml.compose(text)
    except (fault, ValueError, RecursionError) as error:
        raise unreadable("yaml", str(error)) from None
    if tree is None or isinstance(tree.value, str):
        raise _no_catalog("yaml", "one value")
    values = sorted(_yaml_values(text, tree), key=lambda value: value.start)
    return MessagesDocument(text, values)


def _yaml_values(text: str, tree: Any) -> Iterator[Value]:
    of_language = _is_mapping(tree) and len(tree.value) == 1
    # Aliases may lead to one node many times, or round in a circle.
    seen: set[int] = set()
    waiting = [("", tree)]
    while waiting:
        name, node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if not isinstance(node.value, str):
            pairs = node.value if _is_mapping(node) else ((None, one) for one in node.value)
            waiting += [(str(key.value) if key else name, one) for key, one in pairs]
        elif node.tag == TEXT and not (node.style is None and node.value.lower() in _NO_TEXT):
            begin = _PROPERTIES.match(text, node.start_mark.index, node.end_mark.index)
            start = begin.end() if begin else node.start_mark.index
            raw = text[start : node.end_mark.index]
            if node.style in ("|", ">"):
                raw = raw[: len(raw) - len(raw.lstrip())] + raw.strip(" \t")
            write = partial(_yaml, raw=raw, old=node.value)
            yield Value(start, start + len(raw), node.value, write)
        elif not of_language and node.tag != TEXT:
            raise _no_catalog("yaml", f"{name}: {node.value}")


def _is_mapping(node: Any) -> bool:
    """A sequence has nodes, and a mapping pairs of them; an empty one may be either."""
    return bool(node.value) and isinstance(node.value[0], tuple)


def _yaml(text: str, raw: str, old: str) -> str:
    """A text in the style of the characters that it replaces, or else in quotes."""
    fine = not _UNPRINTABLE.search(text)
    if raw[:1] in ("|", ">") and fine:
        return _block_scalar(text, raw, old) or _yaml_quoted(text)
    if raw.startswith("'") and fine and "\n" not in text:
        return "'" + text.replace("'", "''") + "'"
    plain = raw[:1] not in ("'", '"', "|", ">") and text.lower() not in _NO_TEXT
    return text if plain and fine and _PLAIN_SCALAR.fullmatch(text) else _yaml_quoted(text)


def _yaml_quoted(text: str) -> str:
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", _quoted_scalar(text))


_HEADER = re.compile(r"[|>]([-+0-9]*+)([^\r\n]*+)(\r?\n)")


def _block_scalar(text: str, raw: str, old: str) -> str | None:
    """A block of lines, each as it is; None: it cannot be one."""
    header = _HEADER.match(raw)
    first = [_first_line(each) for each in (text, old)]
    if header is None or not all(first) or any(each[0] in " \t" for each in first):
        return None
    body = raw[header.end() :]
    inner = _first_line(body)
    indent = inner[: len(inner) - len(inner.lstrip(" "))]
    end = body[len(body.rstrip("\r\n ")) :]
    lines = text.rstrip("\n").split("\n")
    written = header[3].join(indent + line if line else "" for line in lines)
    return f"|{header[1]}{header[2]}{header[3]}{written}{end}"


def _first_line(text: str) -> str:
    """The first line that is not blank; "": there is none."""
    return next((line for line in text.split("\n") if line.strip()), "")


@dataclass(frozen=True)
class NotebookDocument:
    """A Jupyter notebook: the cells in Markdown, and what replaces each in the file."""

    content: str
    cells: Sequence[tuple[Slot, TextDocument]]

    @property
    def segments(self) -> Sequence[DocumentSegment]:
        return [segment for _, page in self.cells for segment in page.segments]

    def written(self, translations: Sequence[Translated]) -> bytes:
        texts, at = [], 0
        for _, page in self.cells:
            after = at + len(page.segments)
            texts.append(Translated(page.replaced(translations[at:after])))
            at = after
        return TextDocument(self.content, [slot for slot, _ in self.cells]).written(texts)


def read_notebook(content: bytes) -> Document:
    """Reads a Jupyter notebook.

    Raises:
        DataError: it is no notebook.
    """
    try:
        text = _json_text(content)
        cells = json.loads(text)["cells"]
        kept = {number for number, cell in enumerate(cells) if cell["cell_type"] != "markdown"}
        sources = ["".join(cell["source"]) for cell in cells]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(
            "the file is not readable as a Jupyter notebook.",
            expected="a JSON object with cells (format 4)",
            got=str(error),
            place=Location("notebook"),
        ) from None
    spans: dict[int, list[_Scalar]] = {}
    for one in _scalars(text):
        if one.path[:1] == ("cells",) and one.path[2:3] == ("source",):
            spans.setdefault(int(one.path[1]), []).append(one)
    ascii_only = text.isascii() and "\\u" in text
    pages = []
    for number, parts in spans.items():
        if number in kept:
            continue
        between = text[parts[0].end : parts[1].start] if len(parts) > 1 else ",\n    "
        joint = between if len(parts[0].path) == 4 else ""
        write = partial(_source_scalar, joint=joint, ascii_only=ascii_only)
        segment = DocumentSegment(sources[number])
        slot = Slot(parts[0].start, parts[-1].end, segment, write)
        pages.append((slot, markdown_page(sources[number])))
    return NotebookDocument(text, pages)


def _source_scalar(translated: Translated, joint: str, ascii_only: bool) -> str:
    """A cell's text: in one string, or in one for each line, with this between them."""
    lines = translated.text.splitlines(keepends=True) if joint else [translated.text]
    return joint.join(_quoted_scalar(line, ascii_only) for line in lines)
