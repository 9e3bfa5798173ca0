"""XLIFF, versions 1.2 and 2: the pairs in one, and a file with its missing translations."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from jumok.data.files.reading import BLOCK, one_line, open_bytes
from jumok.data.files.tables import Column, Columns, Row, Rows
from jumok.data.report import CorpusReport
from jumok.documents.document import (
    Languages,
    Slot,
    TextDocument,
    check_language,
    is_language,
    two_sides,
)
from jumok.documents.markup import escape
from jumok.documents.segment import DocumentSegment, Translated, paragraph, rendered
from jumok.documents.xml import Tag, XmlFile, pieces_of, plain_text
from jumok.errors import ConfigError, Place

FILES, UNITS = ("xliff", "file"), ("trans-unit", "segment")
SIDES = ("source", "target", "seg-source")
ELSEWHERE = ("alt-trans", "matches", "originalData", "notes")  # their sources are not the unit's
NAMES = frozenset((*FILES, *UNITS, *SIDES, *ELSEWHERE))
UNFINISHED = {"new", "needs-translation", "initial"}
LANGUAGES = (("source-language", "target-language"), ("srcLang", "trgLang"))


@dataclass
class XliffSide:
    """A source or target: its first tag, where its element ends, and its content as written."""

    tag: Tag
    end: int
    raw: str


@dataclass
class XliffUnit:
    """A unit of translation: its first tag, and its sides by their names without prefixes."""

    tag: Tag
    sides: dict[str, XliffSide] = field(default_factory=dict)

    @property
    def attributes(self) -> Mapping[str, str]:
        return self.tag.attributes or {}

    @property
    def translation(self) -> str | None:
        """The text of the target, if it is finished."""
        target = self.sides.get("target")
        if target is None:
            return None
        state = (target.tag.attributes or {}).get("state") or self.attributes.get("state")
        text = plain_text(target.raw)
        return None if state in UNFINISHED or not text.strip() else text


def units(file: XmlFile, *, kept: bool) -> Iterator[XliffUnit | Tag]:
    """The units in order, and the tags that name languages.

    Args:
        kept: whether what was read is kept, for places in it.
    """
    unit: XliffUnit | None = None
    side: Tag | None = None
    inside = elsewhere = 0
    for tag in file.tags():
        opens = tag.attributes is not None
        if tag.local in ELSEWHERE:
            elsewhere += 1 if opens else -1
        elif elsewhere:
            continue
        elif tag.local in FILES and opens:
            yield tag
        elif tag.local in UNITS:
            if unit is not None and not opens:
                yield unit
            unit = XliffUnit(tag) if opens else None
            if not kept:
                file.forget(tag.start)
        elif tag.local in SIDES and opens:
            side, inside = tag, file.behind(tag)
        elif tag.local in SIDES and unit is not None and side is not None:
            raw = file.between(inside, max(inside, tag.start))
            unit.sides[tag.local] = XliffSide(side, file.behind(tag), raw)


def read_xliff_pairs(file: Path, columns: Columns, report: CorpusReport | None = None) -> Rows:
    """Pairs of source and target; units without a translation are dropped.

    The columns may be the two languages, in either order, or numbers, which are ignored. The text
    of inline markup is kept except where it is code (`bpt`, `ept`, `it`, `ph`, `x`, ...).
    """
    first, second = two_sides(file, columns)
    exchanged = False
    with open_bytes(file) as stream:
        blocks = iter(lambda: stream.read(BLOCK), b"")
        for unit in units(XmlFile(blocks, NAMES, "XLIFF", file), kept=False):
            if isinstance(unit, Tag):
                exchanged |= _exchanged(file, unit, first, second)
                continue
            source, target, line = unit.sides.get("source"), unit.translation, unit.tag.line
            if source is None or target is None:
                if report:
                    report.skip("without a translation", line)
                continue
            texts = [one_line(text, report, line) for text in (plain_text(source.raw), target)]
            yield Row((texts[exchanged], texts[not exchanged]), line)


def _exchanged(file: Path, tag: Tag, source: Column, target: Column) -> bool:
    """Whether source and target are exchanged.

    Raises:
        ConfigError: the file has other languages.
    """
    said, asked = tag.attributes or {}, (source, target)
    for names in LANGUAGES:
        has = [said.get(name) or "" for name in names]
        if not all(has) or isinstance(source, int) or isinstance(target, int):
            continue
        for exchanged in (False, True):
            codes = reversed(has) if exchanged else has
            if all(is_language(code, str(one)) for code, one in zip(codes, asked, strict=True)):
                return exchanged
        raise ConfigError(
            "the XLIFF file has other languages.",
            expected=f"{source} and {target}",
            got=" and ".join(has),
            place=Place(file, tag.line),
        )
    return False


def read_xliff(content: bytes, languages: Languages) -> TextDocument:
    """Reads the units without a finished translation.

    A new translation gets the state "needs-review-translation" (1.2) or "translated" (2).
    """
    file, slots = XmlFile([content], NAMES, "XLIFF", "XLIFF"), list[Slot]()
    for unit in units(file, kept=True):
        if isinstance(unit, Tag):
            slots += _target_language(file, unit, languages)
        elif unit.attributes.get("translate") != "no" and unit.translation is None:
            slots += _slots(file, unit)
    return file.document(slots)


def _target_language(file: XmlFile, tag: Tag, languages: Languages) -> Iterator[Slot]:
    """Adds the target language if the file names only the source language.

    Raises:
        DataError: the file has other languages.
    """
    said = tag.attributes or {}
    for source, target in LANGUAGES:
        if source not in said:
            continue
        check_language(said[source], languages.source, "source")
        if target in said:
            check_language(said[target], languages.target, "target")
        elif languages.target:
            place = file.behind(tag) - 1
            named = partial(_constant, text=f' {target}="{languages.target}"')
            yield Slot(place, place, DocumentSegment(""), named, keep=False)


def _constant(_: Translated, text: str) -> str:
    return text


def _slots(file: XmlFile, unit: XliffUnit) -> Iterator[Slot]:
    """Where the unit's translation belongs; none, if there is nothing to translate."""
    source, target = unit.sides.get("source"), unit.sides.get("target")
    parts = paragraph(pieces_of(source.raw)) if source else None
    if source is None or parts is None:
        return
    prefix = source.tag.name.removesuffix("source")
    state = ' state="needs-review-translation"' if unit.tag.local == "trans-unit" else ""
    space = "" if target else file.space_before(source.tag.start)

    def write(translated: Translated) -> str:
        inside = f"{parts.before}{rendered(parts.segment, translated, escape)}{parts.after}"
        return f"{space}<{prefix}target{state}>{inside}</{prefix}target>"

    after = unit.sides.get("seg-source", source).end
    start, end = (target.tag.start, target.end) if target else (after, after)
    yield Slot(start, end, parts.segment, write, keep=False)
