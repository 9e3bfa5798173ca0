"""XLIFF, versions 1.2 and 2: an exchange format of translators."""

from pathlib import Path

from jumok.data.files.elements import XmlElement
from jumok.data.files.reading import one_line, open_bytes
from jumok.data.files.tables import Column, Columns, Row, Rows
from jumok.data.files.translators import is_language, two_sides
from jumok.data.report import CorpusReport
from jumok.errors import ConfigError, DataError, Place
from jumok.late import late_imports

with late_imports("reading XLIFF files", extra="formats"):
    from lxml import etree

# Elements in a segment whose content is text; that of the others is code.
TEXT = {"g", "mrk", "pc", "sub"}
UNFINISHED = {"new", "needs-translation", "initial"}


def read_xliff(file: Path, columns: Columns, report: CorpusReport | None = None) -> Rows:
    """Pairs of source and target; units without a translation are dropped.

    The columns may be the two languages, in either order, or numbers, which are ignored. The text
    of inline markup is kept except where it is code (`bpt`, `ept`, `it`, `ph`, `x`, ...).
    """
    source, target = two_sides(file, columns)
    with open_bytes(file) as stream:
        events = etree.iterparse(
            stream, events=("start", "end"), resolve_entities=False, no_network=True, huge_tree=True
        )
        exchanged = False
        try:
            for event, element in events:
                name = local_name(element)
                if event == "start":
                    if name in ("file", "xliff"):
                        exchanged |= _exchanged(file, element, source, target)
                elif name in ("trans-unit", "segment"):
                    line = element.sourceline
                    sides = _sides(element)
                    if sides is None:
                        if report:
                            report.skip("without a translation", line)
                    else:
                        texts = [one_line(text, report, line) for text in sides]
                        yield Row((texts[exchanged], texts[not exchanged]), line)
                    element.clear()
        except etree.XMLSyntaxError as error:
            raise DataError(
                "the file is not well-formed XLIFF.", got=error.msg, place=Place(file, error.lineno)
            ) from None


def local_name(element: XmlElement) -> str:
    """An element's name without its namespace; "" of comments and instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _exchanged(file: Path, element: XmlElement, source: Column, target: Column) -> bool:
    """Whether source and target are exchanged.

    Raises:
        ConfigError: the file has other languages.
    """
    has = [
        element.get(f"{side}-language") or element.get(short) or ""
        for side, short in (("source", "srcLang"), ("target", "trgLang"))
    ]
    asked = (source, target)
    if not all(has) or isinstance(source, int) or isinstance(target, int):
        return False
    for exchanged in (False, True):
        given = reversed(has) if exchanged else has
        if all(is_language(one, str(other)) for one, other in zip(given, asked, strict=True)):
            return exchanged
    raise ConfigError(
        "the XLIFF file has other languages.",
        expected=f"{source} and {target}",
        got=" and ".join(has),
        place=Place(file, element.sourceline),
    )


def _sides(unit: XmlElement) -> list[str] | None:
    """The texts of source and target; None without a translation."""
    source, target = unit.find("{*}source"), unit.find("{*}target")
    if source is None or target is None:
        return None
    state = target.get("state") or unit.get("state") or ""
    texts = [text_of(side) for side in (source, target)]
    return None if state in UNFINISHED or not texts[1].strip() else texts


def text_of(side: XmlElement) -> str:
    """The text of a segment without its inline codes."""
    parts = [side.text or ""]
    for child in side:
        if local_name(child) in TEXT:
            parts.append(text_of(child))
        parts.append(child.tail or "")
    return "".join(parts)
