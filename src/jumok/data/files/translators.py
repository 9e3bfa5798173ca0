"""Translators' own formats: TMX (translation memories) and PO (gettext)."""

import re
from collections.abc import Iterable
from pathlib import Path

from jumok.data.files.damage import ANYTHING, damaged
from jumok.data.files.elements import PoUnit, XmlElement
from jumok.data.files.reading import one_line, open_bytes, read_lines
from jumok.data.files.tables import Column, Columns, Row, Rows
from jumok.data.report import CorpusReport
from jumok.errors import ConfigError, DataError, JumokError, Place
from jumok.late import late_imports

with late_imports("reading TMX files", extra="formats"):
    from lxml import etree

with late_imports("reading PO files", extra="formats"):
    from translate.storage import poparser, pypo

LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def read_tmx(file: Path, columns: Columns, report: CorpusReport | None = None) -> Rows:
    """The variants in some languages; units without one of them are dropped.

    The columns are language codes. "en" also stands for "en-GB" and the like. Inline
    markup is left out, its text kept except where it is code (`bpt`, `ept`, `it`, `ph`, `ut`).
    """
    named = all(isinstance(language, str) for language in columns)
    codes: dict[str, None] = {}  # in the order of their first appearance
    found = 0
    with open_bytes(file) as stream:
        # A translation memory can exceed the memory, so units are read and discarded one by one;
        # entities are not followed, as they may name files.
        units = etree.iterparse(
            stream, tag="{*}tu", resolve_entities=False, no_network=True, huge_tree=True
        )
        try:
            for _, unit in units:
                variants = _variants(unit)
                codes.update(dict.fromkeys(variants))
                if not named and len(codes) > 1:
                    break
                line = unit.sourceline
                texts = [_text_in(variants, str(language)) for language in columns]
                cells = [one_line(text, report, line) for text in texts if text is not None]
                if len(cells) == len(columns):
                    found += 1
                    yield Row(tuple(cells), line)
                elif report:
                    report.skip(f"no variant in {' and '.join(map(str, columns))}", line)
                unit.clear()
                while unit.getprevious() is not None:
                    del unit.getparent()[0]
        except etree.XMLSyntaxError as error:
            raise DataError(
                "the file is not well-formed TMX.", got=error.msg, place=Place(file, error.lineno)
            ) from None
    if not found:
        both = "both " * (len(columns) > 1)
        asked = f"no unit has a text in {both}{' and '.join(map(str, columns))}."
        raise _other_languages(
            file, codes, asked if named else "which language is the source, and which the target?"
        )


def _other_languages(file: Path, codes: Iterable[str], message: str) -> JumokError:
    """The error for a memory of other languages than those asked for; it names the ones found."""
    found = list(codes)[:20]
    if not found:
        return DataError("there are no translation units in it.", place=Place(file))
    first, second = found[:2] if len(found) > 1 else ("en", "ko")
    return ConfigError(
        message,
        got=f"the languages in it: {', '.join(found)}",
        do=f'--from {first} --to {second}; in a recipe source_column = "{first}", '
        f'target_column = "{second}"',
        place=Place(file),
    )


def _variants(unit: XmlElement) -> dict[str, str]:
    """The text in each language, by its code."""
    texts: dict[str, str] = {}
    for variant in unit.iterfind("{*}tuv"):
        segment = variant.find("{*}seg")
        code = variant.get(LANGUAGE) or variant.get("lang") or ""
        if segment is not None:
            texts.setdefault(_code(code), _segment_text(segment))
    return texts


def _text_in(variants: dict[str, str], language: str) -> str | None:
    """The text of the exact code, or of the first that starts with it."""
    close = (text for other, text in variants.items() if is_language(other, language))
    return variants.get(_code(language), next(close, None))


def _code(language: str) -> str:
    return language.lower().replace("_", "-")


def is_language(found: str, asked: str) -> bool:
    """Whether a language code matches: "en" also stands for "en-GB" and "EN_us"."""
    return _code(found) == _code(asked) or _code(found).startswith(f"{_code(asked)}-")


def _segment_text(segment: XmlElement) -> str:
    parts = [segment.text or ""]
    inside: list[XmlElement | str] = list(reversed(segment))
    while inside:  # an explicit stack: elements may be nested without limit
        child = inside.pop()
        if isinstance(child, str):
            parts.append(child)
            continue
        inside.append(child.tail or "")
        # <hi> and <sub> mark text; the other elements of TMX 1.4b hold native codes.
        if str(child.tag).rpartition("}")[2] in ("hi", "sub"):
            inside += [*reversed(child), child.text or ""]
    return "".join(parts)


def read_po(file: Path, columns: Columns, report: CorpusReport | None = None) -> Rows:
    """Pairs of msgid and msgstr; of plural entries the first form of each.

    The header, obsolete, fuzzy and untranslated entries are dropped. A PO file has one source and
    one target, so the two columns need no names; where the first is the language of its header and
    the second is not, the two sides are exchanged.
    """
    source, target = two_sides(file, columns)
    parse, fault = pypo.pofile.parsestring, poparser.PoParseError
    # Read as UTF-8 here: the library would guess, and read damaged bytes as Latin-1.
    content = "\n".join(read_lines(file, report)).encode()
    try:
        units = parse(content).units
    except fault as error:
        message, line = str(error), re.search(r"on line (\d+)", str(error))
        raise DataError(
            "the file is not well-formed PO.",
            got=message,
            place=Place(file, int(line[1]) if line else None),
        ) from None
    except ANYTHING as error:
        raise damaged(file, "PO", error) from error
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


def two_sides(file: Path, columns: Columns) -> tuple[Column, Column]:
    """The columns of a format that has a source and a target, and nothing else.

    Raises:
        ConfigError: another number of columns is asked for.
    """
    if len(columns) != 2:
        raise ConfigError(
            "this format has two columns: the source and the target.",
            got=", ".join(map(str, columns)),
            place=Place(file),
        )
    return columns[0], columns[1]


def _is_written_in(units: Iterable[PoUnit], language: Column) -> bool:
    """Whether the header says that the translations are in this language."""
    header = next((str(unit.target) for unit in units if unit.isheader()), "")
    said = re.search(r"^Language:[ \t]*(\S+)", header, re.MULTILINE)
    return said is not None and is_language(said[1], str(language))
