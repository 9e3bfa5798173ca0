"""PO (gettext): entries without a translation are filled in, and marked as fuzzy.

"Fuzzy" is gettext's own word for an entry that needs a review: msgfmt leaves it out without the
option --use-fuzzy.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from jumok.data.files.elements import PoStore, PoUnit
from jumok.data.files.translators import HEADER_LANGUAGE, parse_po
from jumok.documents.document import Languages, check_language
from jumok.documents.html import tagged_chunks
from jumok.documents.segment import DocumentSegment, Paragraph, Translated, paragraph, rendered
from jumok.errors import DataError, Location, optional_import

PLACEHOLDER = re.compile(
    r"%(?:\([\w.]+\))?+(?:\d+\$)?+[-+#0']*+(?:\d+|\*)?+(?:\.\d+)?+(?:hh|h|ll|l|q|z|j|t|L)?"
    r"[diouxXeEfgGcsra%@]"
    r"|%\([\w.]+\)|%%|[$%]?\{[^{}\s]*\}|\{\{[^{}]*\}\}|%\d+"
)
"""Placeholders that a program fills in: %s, %(name)d, %1$s, {name}, ${name}, {{ name }}."""

ACCELERATOR = re.compile(
    r"(?<![\w&~])(?:&(?!\w{1,31};)|[_~])[A-Za-z0-9](?!\w{0,31}_)"
    r"|(?<=[A-Za-z])&(?!\w{1,31};)[a-z]"  # no R&D
)
"""The key of a menu's entry: &File, _File, ~File, E&xit."""

_PO_CHARSET = re.compile(rb"charset=([\w.:-]+)")


@dataclass(frozen=True)
class Message:
    """A message of a program, line by line; tags and placeholders in it are kept."""

    lines: tuple[Paragraph | str, ...]
    accelerator: str = ""

    @classmethod
    def of(cls, text: str) -> "Message":
        """The message in this text; the key of a menu's entry is taken out."""
        marks = list(ACCELERATOR.finditer(text))
        accelerator = marks[0][0] if len(marks) == 1 else ""
        if accelerator:
            text = text[: marks[0].start()] + text[marks[0].start() + 1 :]
        lines = text.split("\n")
        parts = tuple(paragraph(tagged_chunks(one, PLACEHOLDER)) or one for one in lines)
        return cls(parts, accelerator)

    @property
    def segments(self) -> list[DocumentSegment]:
        return [line.segment for line in self.lines if isinstance(line, Paragraph)]

    def written(self, translations: list[Translated]) -> str:
        """The message; removes its translations from the end of the list."""
        lines = []
        for line in self.lines:
            if isinstance(line, Paragraph):
                text = rendered(line.segment, translations.pop())
                lines.append(f"{line.before}{text}{line.after}")
            else:
                lines.append(line)
        return _with_accelerator("\n".join(lines), self.accelerator)


def _with_accelerator(text: str, accelerator: str) -> str:
    """The mark before the same letter, or else the first one; behind a text in another script, as
    in 파일(&F)...
    """
    if not accelerator:
        return text
    mark, key = accelerator[0], accelerator[1]
    letters = [match.start() for match in re.finditer("[A-Za-z0-9]", text)]
    others = sum(letter.isalpha() and not letter.isascii() for letter in text)
    if not letters or others > len(letters):
        end = len(text.rstrip(".…: "))
        return f"{text[:end]}({mark}{key.upper()}){text[end:]}"
    same = (place for place in letters if text[place].casefold() == key.casefold())
    at = next(same, letters[0])
    return text[:at] + mark + text[at:]


@dataclass(frozen=True)
class PoDocument:
    """A catalog; `entries` are to fill, each with the forms of its msgid: one, or singular and
    plural.
    """

    content: bytes
    store: PoStore
    entries: Sequence[tuple[PoUnit, tuple[Message, ...]]]

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
        rest = list(reversed(translations))
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
        count = str(self.store.getheaderplural()[0] or "")
        return int(count) if count.isdecimal() and int(count) > 0 else 2


def read_po_document(content: bytes, languages: Languages) -> PoDocument:
    """The catalog's entries without a translation, or with one that is fuzzy.

    Raises:
        DataError: it is not PO, or not in the character set that it names, or for another language.
        MissingExtraError: translate-toolkit is not installed.
    """
    _check_charset(content)  # the library would read anything as Latin-1
    store = parse_po(content, "PO", "documents")
    entries = []
    for unit in store.units:
        if unit.isheader() and (code := HEADER_LANGUAGE.search(str(unit.target))):
            check_language(code[1], languages.target, "target")
        if unit.isheader() or unit.isobsolete() or (unit.istranslated() and not unit.isfuzzy()):
            continue
        forms = unit.source.strings if unit.hasplural() else [unit.source]
        entries.append((unit, tuple(Message.of(str(form)) for form in forms)))
    return PoDocument(content, store, entries)


def _check_charset(content: bytes) -> None:
    """Raises DataError if the bytes are not in the character set that the header names."""
    match = _PO_CHARSET.search(content)
    named = "utf-8" if match is None or match[1] == b"CHARSET" else match[1].decode()
    try:
        content.decode(named)
    except UnicodeDecodeError as error:
        raise DataError(
            "the file is not in the character set that it names.",
            expected=named,
            got=f"byte {content[error.start]:#04x}",
            do="correct the charset in its header, or convert the file",
            place=Location("PO", content.count(b"\n", 0, error.start) + 1),
        ) from None
    except (LookupError, UnicodeError):  # unknown, or a codec such as "hex"
        raise DataError(
            "the file names a character set that is not known.",
            got=named,
            do="correct the charset in its header",
            place=Location("PO"),
        ) from None
