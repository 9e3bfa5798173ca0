"""The formats of documents, and the translation of a file in one of them."""

import codecs
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from jumok.data.files.encoding import conversion
from jumok.data.files.formats import FILE_KINDS, bare_name, kind_of
from jumok.documents.document import UNKNOWN, Document, Languages
from jumok.documents.docx import read_docx
from jumok.documents.html import HtmlDocument, read_html
from jumok.documents.markdown import read_markdown
from jumok.documents.messages import read_properties, read_strings
from jumok.documents.plain import read_plain
from jumok.documents.po import read_po_document
from jumok.documents.segment import Translated
from jumok.documents.subtitles import SRT, VTT, read_ass, read_subtitles
from jumok.documents.trees import read_json, read_notebook, read_yaml
from jumok.documents.xml import read_tmx_document, read_xliff_document
from jumok.errors import ConfigError, DataError, Location

Translate = Callable[[list[str]], Sequence[Translated | str]]
"""Returns a translation for each text; its `Translated.links` place the markup."""

DOCUMENT_READERS: dict[str, Callable[[bytes, Languages], Document]] = {
    "paragraphs": lambda content, _: read_plain(content),
    "markdown": lambda content, _: read_markdown(content),
    "srt": lambda content, _: read_subtitles(content, SRT),
    "vtt": lambda content, _: read_subtitles(content, VTT),
    "ass": lambda content, _: read_ass(content),
    "docx": lambda content, _: read_docx(content),
    "po": read_po_document,
    "ipynb": lambda content, _: read_notebook(content),
    "properties": lambda content, _: read_properties(content),
    "strings": lambda content, _: read_strings(content),
    "yaml": lambda content, _: read_yaml(content),
    "json": lambda content, _: read_json(content),
    "html": read_html,
    "xliff": read_xliff_document,
    "tmx": read_tmx_document,
}
_NO_LETTER = re.compile("[\udc80-\udcff]")  # what a byte becomes that is none
MARKDOWN = (".md", ".mdx", ".qmd", ".rmd", ".markdown")
FORMATS = tuple(DOCUMENT_READERS)
BINARY_FORMATS = {"docx"}


def document_format(file: Path, head: bytes) -> str | None:
    """The format of a document, by its first bytes and its name; None: lines of text.

    Raises:
        DataError: it is something else, which the message names.
    """
    kind = kind_of(file, head)
    if kind is None:
        name = bare_name(file).lower()
        return "markdown" if name.endswith(MARKDOWN) else None
    if kind in FORMATS:
        return kind
    what, do = FILE_KINDS[kind]
    raise DataError(
        f"this is {what}, which cannot be translated as it is.",
        expected=f"lines of text, or one of {', '.join(FORMATS)}",
        do=do.format(file=file),
        place=Location(file),
    )


def read_document(
    content: bytes | str, format: str, languages: Languages, name: Path | str = ""
) -> Document:
    """Reads the document in these bytes, without their byte order mark; or in a text, of HTML.

    Raises:
        ConfigError: the format does not exist.
        DataError: the bytes are not of this format; the message calls them `name`.
        MissingExtraError: the format's library is not installed.
    """
    if format not in FORMATS:
        raise ConfigError(
            "there is no such document format.",
            expected=", ".join(FORMATS),
            got=repr(format),
        )
    try:
        if isinstance(content, str):
            return HtmlDocument(content, "utf-8", languages)
        document = DOCUMENT_READERS[format](content.removeprefix(codecs.BOM_UTF8), languages)
        _check_letters(document, content)
        return document
    except DataError as error:
        line = error.place.line if error.place else None
        raise DataError(
            error.what,
            expected=error.expected,
            got=error.got,
            do=error.do,
            place=Location(name, line) if name else error.place,
        ) from None


def _check_letters(document: Document, content: bytes) -> None:
    """Raises DataError if a text has bytes that its character set does not; elsewhere they stay."""
    if any(_NO_LETTER.search(segment.text) for segment in document.segments):
        try:
            content.decode()
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise DataError(
                "the text is not valid UTF-8.",
                got=f"byte {content[error.start]:#04x}",
                do=conversion(content),
                place=Location("document", line),
            ) from None


def translate_document(
    content: bytes | str,
    translate: Translate,
    format: str,
    *,
    languages: Languages = UNKNOWN,
    name: Path | str = "",
) -> bytes:
    """Translates every text of a document; the result has the same format.

    Args:
        translate: called once, with all texts, from which markup was removed.
        languages: needed by TMX, and by the language attributes of a page.
        name: of the document in errors.

    Raises:
        ConfigError: the format does not exist; `translate` returned another number of texts.
        DataError: the bytes are not of this format.
        MissingExtraError: the format's library is not installed.
    """
    # A byte order mark is no part of the first line; it stays.
    marked = isinstance(content, bytes) and content.startswith(codecs.BOM_UTF8)
    mark = codecs.BOM_UTF8 if marked else b""
    document = read_document(content, format, languages, name)
    return mark + document.written(_translated(document, translate))


def _translated(document: Document, translate: Translate) -> list[Translated]:
    """The translations of a document's texts; those without a word are left unchanged.

    Raises:
        ConfigError: `translate` returned another number of texts.
    """
    segments = document.segments
    texts = [segment.text for segment in segments if segment.text]
    translations = list(translate(texts))
    if len(translations) != len(texts):
        raise ConfigError(
            "every text of a document needs a translation.",
            expected=f"{len(texts)} texts",
            got=str(len(translations)),
        )
    rest = iter(translations)
    in_order = (next(rest) if segment.text else "" for segment in segments)
    return [one if isinstance(one, Translated) else Translated(one) for one in in_order]
