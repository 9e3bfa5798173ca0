"""Translators' own formats: TMX (translation memories), XLIFF 1.2 and 2, and PO (gettext)."""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from jumok.data.files.damage import ANYTHING, damaged
from jumok.data.files.damaged_tmx import readable_units
from jumok.data.files.elements import PoStore, PoUnit, XmlElement
from jumok.data.files.reading import one_line, open_bytes, read_lines
from jumok.data.files.tables import Column, Columns, Row, Rows
from jumok.data.report import CorpusReport
from jumok.errors import ConfigError, DataError, JumokError, Location, optional_import

TEXT_ELEMENTS = {"g", "mrk", "pc", "hi", "sub"}
"""Elements in a segment whose content is text; that of the others (bpt, ph, x, ...) is code."""
UNFINISHED = {"new", "needs-translation", "initial"}
"""States of an XLIFF target that is no translation yet."""
HEADER_LANGUAGE = re.compile(r"^Language:[ \t]*(\S+)", re.MULTILINE)
"""The language of the translations in the header of a PO file."""
XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def read_tmx(file: Path, columns: Columns, report: CorpusReport | None = None) -> Rows:
    """The variants in some languages; units without one of them are dropped.

    The columns are language codes; "en" also stands for "en-GB" and the like. Inline codes are
    left out.
    """
    named = all(isinstance(language, str) for language in columns)
    codes: dict[str, None] = {}  # in the order of their first appearance
    any_unit = False
    with open_bytes(file) as stream:
        if report is not None and report.skip_damaged:
            units = readable_units(stream, file, report)
        else:
            whole = _elements(stream, file, "TMX", ["tu"])
            units = ((unit, unit.sourceline) for unit in whole)
        for unit, line in units:
            variants = _variants(unit)
            codes.update(dict.fromkeys(variants))
            if not named and len(codes) > 1:
                break
            texts = [_variant(variants, str(language)) for language in columns]
            cells = [one_line(text, report, line) for text in texts if text is not None]
            if len(cells) == len(columns):
                any_unit = True
                yield Row(tuple(cells), line)
            elif report:
                report.skip(f"no variant in {' and '.join(map(str, columns))}", line)
    if not any_unit:
        both = "both " * (len(columns) > 1)
        lacking = f"no unit has a text in {both}{' and '.join(map(str, columns))}."
        raise _other_languages(
            file, codes, lacking if named else "which language is the source, and which the target?"
        )


def _elements(
    stream: io.BufferedReader,
    file: Path,
    kind: str,
    names: Sequence[str],
    opening: Sequence[str] = (),
) -> Iterator[XmlElement]:
    """The elements of some names one by one; those of `opening` when they begin, and empty."""
    with optional_import(f"reading {kind} files", extra="formats"):
        from lxml import etree
    events = etree.iterparse(
        stream,
        events=("start", "end") if opening else ("end",),
        tag=[f"{{*}}{name}" for name in (*opening, *names)],
        resolve_entities=False,  # they may name files
        no_network=True,
        huge_tree=True,
    )
    try:
        for event, element in events:
            if local_name(element) in opening:
                if event == "start":
                    yield element
            elif event == "end":
                yield element
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
    except etree.XMLSyntaxError as error:
        raise DataError(
            f"the file is not well-formed {kind}.",
            got=error.msg,
            do="correct it"
            + (", or leave such units out: --skip-damaged" if kind == "TMX" else ""),
            place=Location(file, error.lineno),
        ) from None


def _other_languages(file: Path, codes: Iterable[str], message: str) -> JumokError:
    languages = list(codes)[:20]
    if not languages:
        return DataError("there are no translation units in it.", place=Location(file))
    first, second = languages[:2] if len(languages) > 1 else ("en", "ko")
    return ConfigError(
        message,
        got=f"the languages in it: {', '.join(languages)}",
        do=f'--from {first} --to {second}; in a recipe source_column = "{first}", '
        f'target_column = "{second}"',
        place=Location(file),
    )


def _variants(unit: XmlElement) -> dict[str, str]:
    """The text in each language, by its code."""
    texts: dict[str, str] = {}
    for variant in unit.iterfind("{*}tuv"):
        segment = variant.find("{*}seg")
        code = variant.get(XML_LANGUAGE) or variant.get("lang") or ""
        if segment is not None:
            texts.setdefault(_canonical_code(code), _text_of(segment))
    return texts


def _variant(variants: dict[str, str], language: str) -> str | None:
    """The text of the exact code, or of the first that starts with it."""
    close = (text for other, text in variants.items() if is_language(other, language))
    return variants.get(_canonical_code(language), next(close, None))


def _canonical_code(language: str) -> str:
    return language.lower().replace("_", "-")


def is_language(code: str, language: str) -> bool:
    """Whether a code is that of a language: "en" also stands for "en-GB" and "EN_us"."""
    return _canonical_code(code) == _canonical_code(language) or _canonical_code(code).startswith(
        f"{_canonical_code(language)}-"
    )


def local_name(element: XmlElement) -> str:
    """An element's name without its namespace; "" of comments and instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _text_of(segment: XmlElement) -> str:
    """The text of a segment without its inline codes."""
    parts = [segment.text or ""]
    stack: list[XmlElement | str] = list(reversed(segment))
    while stack:  # and no recursion: elements may be nested without limit
        child = stack.pop()
        if isinstance(child, str):
            parts.append(child)
            continue
        stack.append(child.tail or "")
        if local_name(child) in TEXT_ELEMENTS:
            stack += [*reversed(child), child.text or ""]
    return "".join(parts)


def read_xliff(file: Path, columns: Columns, report: CorpusReport | None = None) -> Rows:
    """Pairs of source and target; units without a translation are dropped.

    The columns may be the two languages, in either order, or numbers, which are ignored. Inline
    codes are left out.
    """
    languages = _two_sides(file, columns)
    exchanged = False
    with open_bytes(file) as stream:
        units = ("trans-unit", "segment")
        for element in _elements(stream, file, "XLIFF", units, opening=("xliff", "file")):
            line = element.sourceline
            if local_name(element) not in units:
                exchanged |= _exchanged(file, element, languages)
            elif (sides := _source_and_target(element)) is not None:
                texts = [one_line(text, report, line) for text in sides]
                yield Row((texts[exchanged], texts[not exchanged]), line)
            elif report:
                report.skip("without a translation", line)


def _exchanged(file: Path, element: XmlElement, languages: tuple[Column, Column]) -> bool:
    """Whether source and target are exchanged; raises ConfigError for other languages."""
    codes = [
        element.get(f"{side}-language") or element.get(short) or ""
        for side, short in (("source", "srcLang"), ("target", "trgLang"))
    ]
    if not all(codes) or any(isinstance(language, int) for language in languages):
        return False
    for exchanged in (False, True):
        pairs = zip(reversed(codes) if exchanged else codes, languages, strict=True)
        if all(is_language(code, str(language)) for code, language in pairs):
            return exchanged
    raise ConfigError(
        "the XLIFF file has other languages.",
        expected=" and ".join(map(str, languages)),
        got=" and ".join(codes),
        place=Location(file, element.sourceline),
    )


def _source_and_target(unit: XmlElement) -> list[str] | None:
    """The texts of source and target; None without a translation."""
    source, target = unit.find("{*}source"), unit.find("{*}target")
    if source is None or target is None:
        return None
    state = target.get("state") or unit.get("state") or ""
    texts = [_text_of(side) for side in (source, target)]
    return None if state in UNFINISHED or not texts[1].strip() else texts


def read_po(file: Path, columns: Columns, report: CorpusReport | None = None) -> Rows:
    """Pairs of msgid and msgstr; of plural entries the first form of each.

    The header, obsolete, fuzzy and untranslated entries are dropped. A PO file has one source and
    one target, so the two columns need no names; where the first is the language of its header and
    the second is not, the two sides are exchanged.
    """
    source, target = _two_sides(file, columns)
    # Read as UTF-8 here: the library would guess, and read damaged bytes as Latin-1.
    units = parse_po("\n".join(read_lines(file, report)).encode(), file, "formats").units
    exchanged = _is_written_in(units, source) and not _is_written_in(units, target)
    for unit in units:
        if unit.isheader() or unit.isobsolete():
            continue
        line = unit.line_number
        if unit.isfuzzy() or not unit.istranslated():
            if report:
                report.skip("fuzzy or untranslated", line)
            continue
        # Line breaks inside are how PO wraps text: nothing to report.
        sides = [one_line(str(text), None, line) for text in (unit.source, unit.target)]
        yield Row((sides[exchanged], sides[not exchanged]), line)


def parse_po(content: bytes, file: Path | str, extra: str) -> PoStore:
    """The entries of a PO file.

    Args:
        file: its name in errors.
        extra: the one that brings translate-toolkit.

    Raises:
        DataError: it is not PO.
        MissingExtraError: translate-toolkit is not installed.
    """
    with optional_import("reading PO files", extra=extra):
        from translate.storage import poparser, pypo
    parse, fault = pypo.pofile.parsestring, poparser.PoParseError
    try:
        store: PoStore = parse(content)
    except fault as error:
        line = re.search(r"on line (\d+)", str(error))
        raise DataError(
            "the file is not well-formed PO.",
            got=str(error),
            place=Location(file, int(line[1]) if line else None),
        ) from None
    except ANYTHING as error:
        raise damaged(file, "PO", error) from error
    return store


def _two_sides(file: Path, columns: Columns) -> tuple[Column, Column]:
    """The columns of a format that has a source and a target, and nothing else."""
    if len(columns) != 2:
        raise ConfigError(
            "this format has two columns: the source and the target.",
            got=", ".join(map(str, columns)),
            place=Location(file),
        )
    return columns[0], columns[1]


def _is_written_in(units: Iterable[PoUnit], language: Column) -> bool:
    header = next((str(unit.target) for unit in units if unit.isheader()), "")
    code = HEADER_LANGUAGE.search(header)
    return code is not None and is_language(code[1], str(language))
