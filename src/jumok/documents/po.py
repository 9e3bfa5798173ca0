"""PO (gettext): the pairs in a catalog, and a catalog whose missing translations are filled in.

They are marked as fuzzy, gettext's own word for an entry that needs a review: msgfmt leaves it out
without the option --use-fuzzy.
"""

import codecs
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from jumok.data.files.damage import ANYTHING, damaged
from jumok.data.files.reading import one_line, open_bytes
from jumok.data.files.tables import Column, Columns, Row, Rows
from jumok.data.report import CorpusReport
from jumok.documents.document import Languages, check_language, is_language, two_sides
from jumok.documents.html import tagged_pieces
from jumok.documents.segment import DocumentSegment, Paragraph, Translated, paragraph, rendered
from jumok.errors import DataError, Place, optional_import

PLACEHOLDER = re.compile(
    r"%(?:\([\w.]+\))?+(?:\d+\$)?+[-+#0']*+(?:\d+|\*)?+(?:\.\d+)?+(?:hh|h|ll|l|q|z|j|t|L)?"
    r"[diouxXeEfgGcsra%@]"
    r"|%\([\w.]+\)|%%|\$?\{[^{}\s]*\}|\{\{[^{}]*\}\}|%\d+"
)
"""Placeholders that a program fills in: %s, %(name)d, %1$s, {name}, ${name}, {{ name }}."""


_CHARSET = re.compile(rb"charset=([\w.:-]+)")
_LANGUAGE = re.compile(r"^Language:[ \t]*(\S+)", re.MULTILINE)


@dataclass(frozen=True)
class _Message:
    """A form of an entry's msgid, line by line; its line breaks are kept."""

    lines: tuple[Paragraph | str, ...]

    @classmethod
    def of(cls, text: str) -> "_Message":
        lines = (paragraph(tagged_pieces(line, PLACEHOLDER)) or line for line in text.split("\n"))
        return cls(tuple(lines))

    @property
    def segments(self) -> list[DocumentSegment]:
        return [line.segment for line in self.lines if isinstance(line, Paragraph)]

    def written(self, translations: list[Translated]) -> str:
        """The message; removes its translations from the front of the list."""
        lines = []
        for line in self.lines:
            if isinstance(line, Paragraph):
                text = rendered(line.segment, translations.pop(0))
                lines.append(f"{line.before}{text}{line.after}")
            else:
                lines.append(line)
        return "\n".join(lines)


@runtime_checkable  # the tests check annotations while they run
class PoUnit(Protocol):
    """An entry, as translate-toolkit reads it.

    Attributes:
        source, target: msgid and msgstr: strings with their plural forms.
        line_number: its line in the file, from 1.
    """

    target: str

    @property
    def source(self) -> Any: ...

    def hasplural(self) -> bool: ...

    @property
    def line_number(self) -> int: ...

    def isheader(self) -> bool: ...

    def isobsolete(self) -> bool: ...

    def isfuzzy(self) -> bool: ...

    def istranslated(self) -> bool: ...

    def markfuzzy(self) -> None: ...


class PoStore(Protocol):
    """A catalog, as translate-toolkit reads it."""

    units: Sequence[PoUnit]

    def getheaderplural(self) -> Sequence[str | None]:
        """The number of plural forms, and the formula that chooses one."""
        ...

    def __bytes__(self) -> bytes: ...


@dataclass(frozen=True)
class PoDocument:
    """A catalog.

    Attributes:
        store: translate-toolkit's.
        entries: those to fill, each with the forms of its msgid: one, or singular and plural.
    """

    content: bytes
    store: PoStore
    entries: Sequence[tuple[PoUnit, tuple[_Message, ...]]]

    @property
    def segments(self) -> Sequence[DocumentSegment]:
        return [
            segment
            for _, forms in self.entries
            for message in forms
            for segment in message.segments
        ]

    def written(self, translations: Sequence[Translated]) -> bytes:
        """The catalog; the first plural form is the singular, all others are the plural."""
        if not self.entries:
            return self.content
        rest = list(translations)
        with optional_import("reading PO files", extra="documents"):
            from translate.misc import multistring
        for unit, forms in self.entries:
            written = [message.written(rest) for message in forms]
            if len(written) > 1:
                many = self._plural_forms()
                unit.target = multistring.multistring(
                    [*written[:1], *written[1:] * max(1, many - 1)][-many:]
                )
            else:
                unit.target = written[0]
            unit.markfuzzy()
        return bytes(self.store)

    def _plural_forms(self) -> int:
        said = str(self.store.getheaderplural()[0] or "")
        return int(said) if said.isdecimal() and int(said) > 0 else 2


def read_po(content: bytes, languages: Languages) -> PoDocument:
    """The catalog's entries without a translation, or with one that is fuzzy.

    Raises:
        DataError: it is not PO, or not in the character set that it names, or for another language.
        MissingExtraError: translate-toolkit is not installed.
    """
    store = _catalog(content, "PO")
    if (language := _language(store.units)) is not None:
        check_language(language, languages.target, "target")
    entries = []
    for unit in store.units:
        if unit.isheader() or unit.isobsolete() or (unit.istranslated() and not unit.isfuzzy()):
            continue
        forms = unit.source.strings if unit.hasplural() else [unit.source]
        entries.append((unit, tuple(_Message.of(str(form)) for form in forms)))
    return PoDocument(content, store, entries)


def read_po_pairs(file: Path, columns: Columns, report: CorpusReport | None = None) -> Rows:
    """Pairs of msgid and msgstr; of plural entries the first form of each.

    The header, obsolete, fuzzy and untranslated entries are dropped. A PO file has one source and
    one target, so the two columns need no names; where the first is the language of its header and
    the second is not, the two sides are exchanged.
    """
    source, target = two_sides(file, columns)
    with open_bytes(file) as stream:
        units = _catalog(stream.read().removeprefix(codecs.BOM_UTF8), file).units
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


def _language(units: Iterable[PoUnit]) -> str | None:
    """The language of the translations, if the header says it."""
    header = next((str(unit.target) for unit in units if unit.isheader()), "")
    said = _LANGUAGE.search(header)
    return said[1] if said else None


def _is_written_in(units: Iterable[PoUnit], language: Column) -> bool:
    """Whether the header says that the translations are in this language."""
    code = _language(units)
    return code is not None and is_language(code, str(language))


def _catalog(content: bytes, file: Path | str) -> PoStore:
    """The catalog in these bytes."""
    with optional_import("reading PO files", extra="formats"):
        from translate.storage import poparser, pypo

    _check_charset(content, file)  # the library would read anything as Latin-1
    try:
        store: PoStore = pypo.pofile.parsestring(content)
    except poparser.PoParseError as error:
        message, line = str(error), re.search(r"on line (\d+)", str(error))
        raise DataError(
            "the file is not well-formed PO.",
            got=message,
            place=Place(file, int(line[1]) if line else None),
        ) from None
    except ANYTHING as error:
        raise damaged(file, "PO", error) from error
    return store


def _check_charset(content: bytes, file: Path | str) -> None:
    """Raises DataError if the bytes are not in the character set that the header names."""
    found = _CHARSET.search(content)
    named = "utf-8" if found is None or found[1] == b"CHARSET" else found[1].decode()
    try:
        content.decode(named)
    except LookupError:
        pass  # the library names the line
    except UnicodeDecodeError as error:
        raise DataError(
            "the file is not in the character set that it names.",
            expected=named,
            got=f"byte {content[error.start]:#04x}",
            do="correct the charset in its header, or convert the file",
            place=Place(file, content.count(b"\n", 0, error.start) + 1),
        ) from None
