"""PO (gettext): entries without a translation are filled in, and marked as fuzzy.

"Fuzzy" is gettext's own word for an entry that needs a review: msgfmt leaves it out without the
option --use-fuzzy.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jumok.data.files.elements import PoStore, PoUnit
from jumok.data.files.translators import HEADER_LANGUAGE, parse_po
from jumok.documents.document import Languages, check_language
from jumok.documents.html import tagged_chunks
from jumok.documents.placing import rendered
from jumok.documents.segment import DocumentSegment, Paragraph, Translated, paragraph
from jumok.errors import DataError, Location, optional_import

PLACEHOLDER = re.compile(
    r"%(?:\([\w.]+\))?+(?:\d+\$)?+[-+#0']*+(?:\d+|\*)?+(?:\.\d+)?+(?:hh|h|ll|l|q|z|j|t|L)?"
    r"[diouxXeEfgGcsra%@]"
    r"|%\([\w.]+\)|%%|[$%#]?\{[^{}\s]*\}|\{\{[^{}]*\}\}|%\d+"
    r"|\{\s*\w+\s*,\s*choice\s*,(?:[^{}]|\{[^{}]*\})*+\}"
    r"|\$t\([^()]*\)|(?<!\w)@(?:\.\w+)?:(?:[\w.]*\w|\([\w.]+\)|\{[^{}]*\})"  # another message
    r"|(?<![\w-])(?:--[A-Za-z][\w-]*+|-[A-Za-z](?=[,\s]|\Z))"
)
"""Placeholders that a program fills in: %s, %(name)d, %1$s, {name}, ${name}, {{ name }}; and the
options of a command: -v, --verbose.
"""

COLUMNS = re.compile(r"(\n|\t+ *| {2,}| \|+ )")
"""What separates the lines, columns and plural forms of a message, each of which is translated by
itself.
"""

ACCELERATOR = re.compile(
    r"(?<![\w&~])(?:&(?!\w{1,31};)[A-Za-z0-9]|[_~](?!id\b)[A-Za-z])(?!\w{0,31}_)"  # no ~5
    r"|(?<=[A-Za-z])(?:&(?!\w{1,31};)|~)[a-z]"  # no R&D
)
"""The key of a menu's entry: &File, _File, ~File, E&xit."""

FIRST_LABEL = re.compile(r"[A-Z]\S*+(?: \S++){0,3}+")
"""A text in which the key may be a small letter: Save _as."""

_FORMAT = re.compile(r"(?<![\w-])(?!no-|impossible-)(?:possible-)?+([a-z-]++)(?<=-format)")
_PERCENT = re.compile(
    r"%(?:\([\w.]++\)|\d++\$)?+[-+ #0']*+(?:\d++|\*)?+(?:\.(?:\d++|\*)?+)?+"
    r"(?:hh|h|ll|l|q|L|j|z|t)?+[A-Za-z@%]?+"
)
_BRACE = re.compile(r"\{\{|\}\}|[{}][^{}]*+\}?+")
_NUMBERED = {"c", "objc", "gcc-internal", "gfc-internal", "php", "boost", "kde", "qt"}
"""The formats in which an argument can be named by its number: %2$s."""

_CHARSET = re.compile(r"(?<=charset=)[\w.:-]+")


@dataclass(frozen=True)
class Message:
    """A message of a program; tags and placeholders in it are kept.

    Attributes:
        parts: each part as written, with its paragraph; None: it is not translated.
    """

    parts: tuple[tuple[str, Paragraph | None], ...]
    accelerator: str = ""

    @classmethod
    def of(cls, text: str) -> "Message":
        """The message in this text; the key of a menu's entry is taken out."""
        label = FIRST_LABEL.fullmatch(text)
        marks = [
            mark
            for mark in ACCELERATOR.finditer(text)
            if label or not re.match("[_~][a-z]", mark[0])
        ]
        accelerator = marks[0][0] if len(marks) == 1 else ""
        if accelerator:
            text = text[: marks[0].start()] + text[marks[0].start() + 1 :]
        every = COLUMNS.split(text)
        parts = tuple((one, paragraph(tagged_chunks(one, PLACEHOLDER))) for one in every)
        return cls(parts, accelerator)

    @property
    def segments(self) -> list[DocumentSegment]:
        return [content.segment for _, content in self.parts if content]

    def written(self, translations: list[Translated]) -> str:
        """The message; removes its translations from the end of the list."""
        written = []
        for raw, content in self.parts:
            translated = translations.pop() if content else None
            if content and translated and translated.text != content.segment.text:
                raw = content.before + rendered(content.segment, translated) + content.after
            written.append(raw)
        return _with_accelerator("".join(written), self.accelerator)


def _formatted(source: str, text: str, flags: Iterable[str]) -> str | None:
    """A translation with the arguments of its source, as msgfmt checks them by the flags of the
    entry; None: it has others, or in an order that cannot be written.
    """
    names = (named[1] for flag in flags if (named := _FORMAT.search(flag)))
    format = next(names, "").removesuffix("-format")
    if not format:
        return text
    if "brace" in format or format in ("java", "csharp"):
        same = Counter(_BRACE.findall(source)) == Counter(_BRACE.findall(text))
        return text if same else None
    known = _arguments(source)
    text = _PERCENT.sub(lambda m: m[0] if m[0] in {"%%", *known} else f"%{m[0]}", text)
    order = _arguments(text)
    if Counter(order) != Counter(known):
        return None
    if order == known or all("(" in one or "$" in one for one in known):
        return text
    if format not in _NUMBERED or any(sign in one for one in known for sign in "*$("):
        return None
    places = {one: [at for at, other in enumerate(known, 1) if other == one] for one in known}
    return _PERCENT.sub(
        lambda m: m[0] if m[0] == "%%" else f"%{places[m[0]].pop(0)}${m[0][1:]}", text
    )


def _arguments(text: str) -> list[str]:
    return [match[0] for match in _PERCENT.finditer(text) if match[0] != "%%"]


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
    charset: str = "utf-8"

    @property
    def segments(self) -> Sequence[DocumentSegment]:
        return [
            segment
            for _, forms in self.entries
            for message in forms
            for segment in message.segments
        ]

    def written(self, translations: Sequence[Translated]) -> bytes:
        """The catalog; the first plural form is the singular, all others are the plural.

        Entries whose translation `msgfmt --check` would refuse stay as they are.
        """
        if not self.entries:
            return self.content
        rest = list(reversed(translations))
        with optional_import("reading PO files", extra="documents"):
            from translate.misc import multistring
        for unit, forms in self.entries:
            written = [message.written(rest) for message in forms]
            sources = unit.source.strings if len(forms) > 1 else [str(unit.source)]
            pairs = zip(map(str, sources), written, strict=True)
            checked = [_formatted(source, text, unit.typecomments) for source, text in pairs]
            written = [text for text in checked if text is not None]
            if len(written) < len(forms):
                continue
            if len(written) > 1:
                many = self._plural_forms()
                unit.target = multistring.multistring(
                    [*written[:1], *written[1:] * max(1, many - 1)][-many:]
                )
            else:
                unit.target = written[0]
            unit.markfuzzy()
        catalog = bytes(self.store).decode("utf-8")
        try:
            return _named(catalog, self.charset).encode(self.charset)
        except UnicodeEncodeError:  # a letter that it lacks
            return _named(catalog, "UTF-8").encode("utf-8")

    def _plural_forms(self) -> int:
        count = str(self.store.getheaderplural()[0] or "")
        return int(count) if count.isdecimal() and int(count) > 0 else 2


def read_po_document(content: bytes, languages: Languages) -> PoDocument:
    """The catalog's entries without a translation, or with one that is fuzzy.

    Raises:
        DataError: it is not PO, or not in the character set that it names, or for another language.
        MissingExtraError: translate-toolkit is not installed.
    """
    charset, text = _decoded(content)
    store = parse_po(_named(text, "UTF-8").encode(), "PO", "documents")
    entries = []
    for unit in store.units:
        if unit.isheader() and (code := HEADER_LANGUAGE.search(str(unit.target))):
            check_language(code[1], languages.target, "target")
        if unit.isheader() or unit.isobsolete() or (unit.istranslated() and not unit.isfuzzy()):
            continue
        forms = unit.source.strings if unit.hasplural() else [unit.source]
        entries.append((unit, tuple(Message.of(str(form)) for form in forms)))
    return PoDocument(content, store, entries, charset)


def _named(text: str, charset: str) -> str:
    """The catalog with this character set in its header."""
    return _CHARSET.sub(charset, text, count=1)


def _decoded(content: bytes) -> tuple[str, str]:
    """The character set that the header names, and the text; the library would read most of them
    as Latin-1.

    Raises:
        DataError: the bytes are not in it, or it is not known.
    """
    match = _CHARSET.search(content.decode("ascii", "replace"))
    named = "utf-8" if match is None or match[0] == "CHARSET" else match[0]
    try:
        return named, content.decode(named)
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
