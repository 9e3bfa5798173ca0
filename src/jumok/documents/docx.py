"""DOCX: paragraphs of the text, tables, text boxes, headers, footers and notes.

The runs of one format make a span of the segment, and go around the words that are aligned with
theirs; whatever in a run is not text (an image, a footnote mark) stays next to its word. Fields,
tabs and line breaks end a segment.
"""

import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jumok.data.files.damage import ANYTHING
from jumok.data.files.elements import XmlElement
from jumok.data.files.unpacking import ALWAYS_UNPACKED, check_members, unpacked
from jumok.documents.docx_elements import (
    ENDS,
    HYPHEN,
    INSIDE,
    LETTERS,
    MARKS,
    MOST_PROPERTIES,
    POINTS,
    SILENT,
    STARTS,
    WRAPPERS,
    XML_SPACE,
    W,
    is_text,
)
from jumok.documents.placing import PlacedInline, place_inlines
from jumok.documents.segment import (
    Chunk,
    DocumentSegment,
    Translated,
    has_long_word,
    has_word,
    paragraph,
)
from jumok.errors import DataError, Location, optional_import


@dataclass(frozen=True)
class _WordPart:
    """A run, or a wrapper with a run in it: what is moved as one.

    Attributes:
        element: the child of the paragraph.
        format: equal for parts of one format, which become one span.
    """

    element: XmlElement
    text: str
    format: bytes

    @cached_property
    def _empty(self) -> XmlElement:
        """A copy with one run, and only its properties."""
        new = deepcopy(self.element)
        runs = [new] if new.tag == f"{W}r" else list(new.iter(f"{W}r"))
        for run in runs[1:]:
            _remove(run)
        for child in list(runs[0]):
            if child.tag != f"{W}rPr":
                _remove(child)
        return new

    def with_text(self, text: str) -> XmlElement:
        """The element with another text."""
        new = deepcopy(self._empty)
        run = new if new.tag == f"{W}r" else next(new.iter(f"{W}r"))
        for number, words in enumerate(text.split(HYPHEN)):
            if number:
                run.append(run.makeelement(f"{W}noBreakHyphen"))
            written = run.makeelement(f"{W}t")
            written.text = words
            written.set(XML_SPACE, "preserve")
            run.append(written)
        return new


@dataclass(frozen=True)
class _Sentence:
    """Neighbouring parts that are translated together."""

    parts: Sequence[_WordPart]
    segment: DocumentSegment
    # The parts that inlines were made from, and for each inline its own.
    owners: Sequence[_WordPart]
    of_inline: Sequence[_WordPart]
    plain: _WordPart

    def write(self, translated: Translated) -> None:
        if translated.text == self.segment.text:
            return
        parts = [part for part in self.parts if part.text or part.format == b"point"]
        anchor = parts[0].element
        nodes = place_inlines(self.segment, translated)
        new = list(self._elements(0, len(translated.text), nodes, translated.text, self.plain))
        first, last = parts[0].text, parts[-1].text
        _pad(new[0], first[: len(first) - len(first.lstrip())], "")
        _pad(new[-1], "", last[len(last.rstrip()) :] if last.strip() else "")
        place = anchor.makeelement(f"{W}r")
        anchor.addprevious(place)
        for element in new:  # one that is in the document already moves
            place.addprevious(element)
        for part in parts:
            if part.format != b"point":
                _remove(part.element)
        _remove(place)

    def _elements(
        self, first: int, last: int, nodes: Sequence[PlacedInline], text: str, template: _WordPart
    ) -> Iterator[XmlElement]:
        at = first
        for node in nodes:
            if node.start > at:
                yield template.with_text(text[at : node.start])
            part = self.of_inline[node.index]
            if part.format == b"point":
                yield part.element  # itself: a text box in it has paragraphs of its own
                yield from self._elements(node.start, node.end, node.inside, text, template)
                if end := node.inline.after.strip():
                    yield self.owners[int(end)].element
                if (node.inline.before + node.inline.after).endswith(" "):
                    yield template.with_text(" ")
            else:
                yield from self._elements(node.start, node.end, node.inside, text, part)
            at = node.end
        if last > at:
            yield template.with_text(text[at:last])


def _etree() -> Any:
    with optional_import("reading DOCX files", extra="documents"):
        from lxml import etree
    return etree


def _parent_of(element: XmlElement) -> XmlElement:
    parent = element.getparent()
    assert parent is not None
    return parent


def _remove(element: XmlElement) -> None:
    """Removes an element that is not needed any more: lxml removes a full one in quadratic time."""
    element.clear()
    _parent_of(element).remove(element)


def _pad(element: XmlElement, before: str, after: str) -> None:
    """Adds the white space that the translation has lost at its ends."""
    texts = list(element.iter(f"{W}t"))
    if texts and before:
        texts[0].text = before + (texts[0].text or "")
    if texts and after:
        texts[-1].text = (texts[-1].text or "") + after


@dataclass(frozen=True)
class DocxDocument:
    """A document: a zip archive with XML in it."""

    content: bytes

    @cached_property
    def _trees(self) -> dict[str, XmlElement]:
        etree = _etree()
        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
        with zipfile.ZipFile(io.BytesIO(self.content)) as archive:
            names = [name for name in archive.namelist() if is_text(name)]
            size = sum(archive.getinfo(name).file_size for name in names)
            if size > ALWAYS_UNPACKED:
                raise ValueError(f"its text has {size:,} bytes, and may have {ALWAYS_UNPACKED:,}")
            return {
                name: etree.fromstring(unpacked(archive, name), parser) for name in sorted(names)
            }

    @cached_property
    def _sentences(self) -> list[tuple[str, _Sentence]]:
        return [
            (name, sentence)
            for name, tree in self._trees.items()
            for one in tree.iter(f"{W}p")
            for sentence in _sentences_in(one)
        ]

    @property
    def segments(self) -> Sequence[DocumentSegment]:
        return [sentence.segment for _, sentence in self._sentences]

    def written(self, translations: Sequence[Translated]) -> bytes:
        """The document; parts of the archive without changes are kept byte for byte."""
        changed = set()
        for (name, sentence), translated in zip(self._sentences, translations, strict=True):
            if translated.text != sentence.segment.text:
                sentence.write(translated)
                changed.add(name)
        out = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(self.content)) as old,
            zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
        ):
            for info in old.infolist():
                data = unpacked(old, info)
                if info.filename in changed:
                    data = _etree().tostring(
                        self._trees[info.filename],
                        xml_declaration=True,
                        encoding="UTF-8",
                        standalone=True,
                    )
                new.writestr(info, data)
        return out.getvalue()


def read_docx(content: bytes) -> DocxDocument:
    """Reads a document.

    Raises:
        DataError: it is not DOCX, or is damaged.
        MissingExtraError: lxml is not installed.
    """
    fault = _etree().XMLSyntaxError
    document = DocxDocument(content)
    try:  # everything is read here, so that faults are found before anything is translated
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            check_members(archive, len(content))
            broken = archive.testzip()
        if broken is not None:
            raise ValueError(f"{broken} is damaged")
        if not document.segments and not document._trees:
            raise ValueError("there is no word/document.xml in it")
    except (*ANYTHING, fault, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
        raise DataError(
            "the file is not readable as DOCX.",
            got=str(error),
            do="open it in a word processor and save it again",
            place=Location("DOCX"),
        ) from None
    return document


def _sentences_in(container: XmlElement) -> Iterator[_Sentence]:
    _split_runs(container)
    parts: list[_WordPart] = []
    for child in list(container):
        part = _as_part(child)
        if part is not None:
            parts.append(part)
        elif child.tag == f"{W}r" or _holds_text(child):
            yield from _sentence(parts)
            parts = []
            if child.tag in INSIDE:
                yield from _sentences_in(child)
            for content in child.findall(f"{W}sdtContent"):
                yield from _sentences_in(content)
    yield from _sentence(parts)


def _holds_text(child: XmlElement) -> bool:
    return next(child.iter(f"{W}t"), None) is not None


def _has_word(child: XmlElement) -> bool:
    return any(has_word(node.text or "") for node in child.iter(f"{W}t"))


def _split_runs(container: XmlElement) -> None:
    """Gives each tab, line break and image that shares a run with text a run of its own."""
    for run in container.findall(f"{W}r"):
        groups: list[list[XmlElement]] = []
        for child in run:
            if child.tag in SILENT:
                continue
            if child.tag in LETTERS and groups and groups[-1][-1].tag in LETTERS:
                groups[-1].append(child)
            else:
                groups.append([child])
        if len(groups) < 2:
            continue
        properties = _properties(run)
        for group in groups:
            new = run.makeelement(f"{W}r", dict(run.attrib))
            run.addprevious(new)  # lxml moves elements within a document in linear time
            new.extend([*([deepcopy(properties)] if properties is not None else []), *group])
        _remove(run)


def _as_part(child: XmlElement) -> _WordPart | None:
    """A child of a paragraph as a part; None: it is not a run, or it ends the sentence."""
    if child.tag in MARKS or (child.tag == f"{W}fldSimple" and not _has_word(child)):
        return _WordPart(child, "", b"point")
    if child.tag in WRAPPERS:
        inside = child.find(f"{W}sdtContent") if child.tag == f"{W}sdt" else child
        if inside is None:
            return None
        runs = inside.findall(f"{W}r")
        others = [node for node in inside if node.tag not in (f"{W}r", f"{W}proofErr")]
        parts = [_as_part(run) for run in runs]
        if others or not runs or any(part is None or part.format == b"point" for part in parts):
            return None
        text = "".join(part.text for part in parts if part)
        return _WordPart(child, text, repr((child.tag, sorted(child.attrib.items()))).encode())
    if child.tag != f"{W}r":
        return None
    kinds = {node.tag for node in child} - SILENT
    if kinds <= LETTERS:
        text = "".join(
            node.text or "" if node.tag == f"{W}t" else HYPHEN
            for node in child
            if node.tag not in SILENT
        )
        if _is_raised(child) and not has_long_word(text):
            return _WordPart(child, "", b"point")
        return _WordPart(child, text, _look(child))
    if len(kinds) == 1 and kinds <= POINTS:
        return _WordPart(child, "", b"point")
    return None


def _is_raised(run: XmlElement) -> bool:
    """Whether it is set above or below the line: an exponent, an index, the number of a note."""
    return run.find(f"{W}rPr/{W}vertAlign") is not None


def _properties(run: XmlElement) -> XmlElement | None:
    """Its format. Each part of a run has a copy, so there is a limit."""
    properties = run.find(f"{W}rPr")
    if properties is not None and sum(1 for _ in properties.iter("*")) > MOST_PROPERTIES:
        raise ValueError(f"a run has more than {MOST_PROPERTIES} properties")
    return properties


def _look(run: XmlElement) -> bytes:
    """A run's format as bytes, without what spelling checkers write into it."""
    properties = _properties(run)
    if properties is None:
        return b""
    kept = deepcopy(properties)
    for unimportant in ("lang", "noProof"):
        for node in kept.findall(f"{W}{unimportant}"):
            kept.remove(node)
    return bytes(_etree().tostring(kept)) if len(kept) else b""


def _sentence(parts: Sequence[_WordPart]) -> Iterator[_Sentence]:
    """The parts as one segment: those of the most frequent format are its plain text."""
    with_text = [index for index, part in enumerate(parts) if part.text.strip()]
    parts = parts[with_text[0] : with_text[-1] + 1] if with_text else ()
    amount: dict[bytes, int] = {}
    for part in parts:
        amount[part.format] = amount.get(part.format, 0) + len(part.text)
    if not amount:
        return
    # What is in a link or a control is no plain text if there is any other.
    bare = {part.format for part in parts if part.element.tag not in WRAPPERS and part.text.strip()}
    commonest = max(amount, key=lambda format: (format in bare, amount[format]))
    chunks: list[Chunk] = []
    owners: list[_WordPart] = []
    previous: bytes | None = None
    opened = ""
    for part in parts:
        if previous not in (None, commonest, b"point") and part.format != previous:
            chunks.append(Chunk("close", "", name=opened))
        if part.format == b"point":
            owners.append(part)
            chunks.append(_mark(part.element, str(len(owners) - 1)))
        elif part.format != commonest and part.format != previous:
            owners.append(part)
            opened = str(len(owners))
            chunks.append(Chunk("open", str(len(owners) - 1), name=opened))
        if part.format != b"point":
            chunks.append(Chunk("text", part.text, part.text))
        previous = part.format
    if previous not in (None, commonest, b"point"):
        chunks.append(Chunk("close", "", name=opened))
    plain = next(part for part in parts if part.format == commonest)
    if commonest == b"point":
        return
    content = paragraph(chunks)
    if content is not None:
        of_inline = [owners[int(inline.before)] for inline in content.segment.inlines]
        yield _Sentence(parts, content.segment, owners, of_inline, plain)


def _mark(element: XmlElement, number: str) -> Chunk:
    """A part that is not text: the start or the end of what is marked, or a point."""
    for kind, of in (("open", STARTS), ("close", ENDS)):
        if what := of.get(str(element.tag)):
            return Chunk(kind, number, name=f"{what} {element.get(f'{W}id')}")
    return Chunk("point", number)
