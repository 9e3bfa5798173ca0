"""TMX, translation memories: the pairs in one, and a memory with one more language."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from jumok.data.files.reading import BLOCK, one_line, open_bytes
from jumok.data.files.tables import Columns, Row, Rows
from jumok.data.report import CorpusReport
from jumok.documents.document import Languages, Slot, TextDocument, is_language, normal_code
from jumok.documents.markup import escape
from jumok.documents.segment import Translated, paragraph, rendered
from jumok.documents.xml import Tag, XmlFile, pieces_of, plain_text
from jumok.errors import ConfigError, DataError, JumokError, Place

NAMES = frozenset(("header", "tu", "tuv", "seg"))


class Variant(NamedTuple):
    """A unit's text in one language.

    Attributes:
        start, end: of its element.
        raw: its segment as written.
    """

    language: str
    start: int
    end: int
    raw: str


@dataclass
class TmxUnit:
    """A translation unit, and its line."""

    line: int
    variants: list[Variant] = field(default_factory=list)

    def variant(self, language: str) -> Variant | None:
        """That of the exact code, or of the first that it stands for."""
        exact = (each for each in self.variants if each.language == normal_code(language))
        close = (each for each in self.variants if is_language(each.language, language))
        return next(exact, None) or next(close, None)


def units(file: XmlFile, *, kept: bool) -> Iterator[TmxUnit | Tag]:
    """The units in order, and the header's tag before them.

    Args:
        kept: whether what was read is kept, for places in it.
    """
    unit, language, begin, raw = TmxUnit(0), "", 0, None
    inside = 0
    for tag in file.tags():
        opens = tag.attributes is not None
        if tag.local == "header" and opens:
            yield tag
        elif tag.local == "tu" and opens:
            unit = TmxUnit(tag.line)
            if not kept:
                file.forget(tag.start)
        elif tag.local == "tu":
            yield unit
        elif tag.local == "tuv" and tag.attributes is not None:
            language = tag.attributes.get("xml:lang") or tag.attributes.get("lang") or ""
            begin, raw = tag.start, None
        elif tag.local == "seg" and opens:
            inside = file.behind(tag)
        elif tag.local == "seg" and raw is None:
            raw = file.between(inside, max(inside, tag.start))
        elif tag.local == "tuv" and raw is not None:
            end = file.behind(tag)
            unit.variants.append(Variant(normal_code(language), begin, end, raw))


def read_tmx_pairs(file: Path, columns: Columns, report: CorpusReport | None = None) -> Rows:
    """The variants in some languages; units without one of them are dropped.

    The columns are language codes. "en" also stands for "en-GB" and the like. Inline
    markup is left out, its text kept except where it is code (`bpt`, `ept`, `it`, `ph`, `ut`).
    """
    named = all(isinstance(language, str) for language in columns)
    codes: dict[str, None] = {}  # in the order of their first appearance
    rows = 0
    with open_bytes(file) as stream:
        blocks = iter(lambda: stream.read(BLOCK), b"")
        for unit in units(XmlFile(blocks, NAMES, "TMX", file), kept=False):
            if isinstance(unit, Tag):
                continue
            codes.update((each.language, None) for each in unit.variants)
            if not named and len(codes) > 1:
                break
            variants = [unit.variant(str(language)) for language in columns]
            cells = [
                one_line(plain_text(variant.raw), report, unit.line)
                for variant in variants
                if variant is not None
            ]
            if len(cells) == len(columns):
                rows += 1
                yield Row(tuple(cells), unit.line)
            elif report:
                report.skip(f"no variant in {' and '.join(map(str, columns))}", unit.line)
    if not rows:
        both = "both " * (len(columns) > 1)
        asked = f"no unit has a text in {both}{' and '.join(map(str, columns))}."
        raise _other_languages(
            file, codes, asked if named else "which language is the source, and which the target?"
        )


def _other_languages(file: Path, codes: Iterable[str], message: str) -> JumokError:
    """The error for a memory of other languages than those asked for; it names the ones in it."""
    known = list(codes)[:20]
    if not known:
        return DataError("there are no translation units in it.", place=Place(file))
    first, second = known[:2] if len(known) > 1 else ("en", "ko")
    return ConfigError(
        message,
        got=f"the languages in it: {', '.join(known)}",
        do=f'--from {first} --to {second}; in a recipe source_column = "{first}", '
        f'target_column = "{second}"',
        place=Place(file),
    )


def read_tmx(content: bytes, languages: Languages) -> TextDocument:
    """Reads the units that have the source language and not the target language, which is added.

    Raises:
        DataError: the target language is not known, or no unit is in the source language.
    """
    if not languages.target:
        raise DataError(
            "the model's target language is not known, and a TMX file needs it.",
            do="train with data.target_language set, or translate another format",
        )
    file = XmlFile([content], NAMES, "TMX", "TMX")
    source, slots, any_source = languages.source, list[Slot](), False
    for unit in units(file, kept=True):
        if isinstance(unit, Tag):
            source = source or (unit.attributes or {}).get("srclang", "")
            continue
        any_source |= unit.variant(source) is not None
        slot = _slot(file, unit, source, languages.target)
        slots += [slot] if slot else []
    if not any_source:
        raise DataError(
            "no unit of the TMX file is in the model's source language.",
            expected=source or "a language in the header: srclang",
        )
    return file.document(slots)


def _slot(file: XmlFile, unit: TmxUnit, source: str, target: str) -> Slot | None:
    """Where the unit's translation belongs; None: it has one, or there is nothing to translate."""
    text, there = unit.variant(source), unit.variant(target)
    if text is None or (there and plain_text(there.raw)):
        return None
    parts = paragraph(pieces_of(text.raw))
    if parts is None:
        return None
    space = "" if there else file.space_before(text.start)

    def write(translated: Translated) -> str:
        inside = f"{parts.before}{rendered(parts.segment, translated, escape)}{parts.after}"
        return f'{space}<tuv xml:lang="{target}"><seg>{inside}</seg></tuv>'

    start, end = (there.start, there.end) if there else (unit.variants[-1].end,) * 2
    return Slot(start, end, parts.segment, write, keep=False)
