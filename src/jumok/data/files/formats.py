"""Formats of files, by their first bytes and their names.

A file that is not text (an image, a zip archive, UTF-16) is refused wherever text of any format is
read. Markup (a translation memory, subtitles, a web page) is refused where plain sentences are
read, because its tags, time codes and keywords would be trained on and translated.
"""

import codecs
import re
from pathlib import Path
from typing import NamedTuple

from jumok.errors import DataError, Location
from jumok.parts import names

HEAD = 8192
"""The number of bytes at the start of a file that are examined."""

FORMATS_BY_LANGUAGE = ("tmx", "po", "xliff")
"""The formats whose columns are languages."""

COMPRESSED = (".gz", ".zst")
FIGURE_SUFFIXES = (".svg", ".pdf", ".png")
"""Of figures that are drawn."""

_READ_PAIRS = "train, evaluate, score and align read it as --data {file} --from en --to fr"
_DOCUMENT = "jumok translate translates it as a document"
_PANDOC = "convert it to Markdown first: pandoc {file} --to gfm --output FILE.md"
_EXTRACT = "extract its texts, one sentence per line"


def _over_po(tool: str) -> str:
    """Advice for a format that translate-toolkit converts to PO and back."""
    return (
        f"translate it as PO, with translate-toolkit: {tool}2po {{file}} FILE.po, and then "
        f"po2{tool} --fuzzy -t {{file}} TRANSLATED.po NEW"
    )


_NO_DOCUMENT = "jumok translate MODEL {file} translates it; for anything else, extract the text"


class FileKind(NamedTuple):
    """A format as shown to the user, and advice, in which {file} becomes the path."""

    name: str
    do: str


BINARY: dict[str, FileKind] = {
    "docx": FileKind(
        "a Word document (DOCX)",
        "jumok translate MODEL {file} --output FILE.docx translates it; for anything else save "
        "it as plain text (UTF-8)",
    ),
    "doc": FileKind("an old Office file (DOC)", "save it as .docx, or as plain text (UTF-8)"),
    "xlsx": FileKind("an Excel sheet", "save the sheet as CSV (UTF-8)"),
    "pptx": FileKind("a PowerPoint file", "copy its text into a plain text file"),
    "odt": FileKind("an OpenDocument file", "save it as .docx, or as plain text (UTF-8)"),
    "idml": FileKind("an InDesign file (IDML)", _over_po("idml")),
    "epub": FileKind("an e-book (EPUB)", "unzip it, and use the .xhtml files in it one by one"),
    "zip": FileKind("a zip archive", "unzip it: unzip {file}"),
    "gzip": FileKind("compressed with gzip", "rename it so that it ends in .gz"),
    "zstd": FileKind("compressed with zstd", "rename it so that it ends in .zst"),
    "bzip2": FileKind("compressed with bzip2", "decompress it: bunzip2 {file}"),
    "xz": FileKind("compressed with xz", "decompress it: unxz {file}"),
    "7z": FileKind("a 7-Zip archive", "extract it"),
    "pdf": FileKind("a PDF", "extract the text: pdftotext -layout {file}"),
    "rtf": FileKind("a rich text file (RTF)", "save it as .docx, or as plain text (UTF-8)"),
    "parquet": FileKind("a Parquet table", f"{_READ_PAIRS}, where these are its columns"),
    "picture": FileKind("a picture", "give a text file; images are for jumok caption and classify"),
    "utf-16": FileKind(
        "text in UTF-16",
        "name it, --encoding utf-16, or convert it: iconv -f UTF-16 -t UTF-8 {file} > FILE.txt",
    ),
    "iso-2022": FileKind(
        "text in ISO-2022",
        "name it, --encoding iso2022_jp (or iso2022_kr), or convert it: iconv -f ISO-2022-JP -t "
        "UTF-8 {file} > FILE.txt",
    ),
    "utf-32": FileKind(
        "text in UTF-32",
        "name it, --encoding utf-32, or convert it: iconv -f UTF-32 -t UTF-8 {file} > FILE.txt",
    ),
}
"""Formats that cannot be read as text."""

MARKUP: dict[str, FileKind] = {
    "tmx": FileKind("a translation memory (TMX)", f"{_READ_PAIRS}; {_DOCUMENT}"),
    "xliff": FileKind("a translation file (XLIFF)", f"{_READ_PAIRS}; {_DOCUMENT}"),
    "po": FileKind("a translation catalog (PO)", f"{_READ_PAIRS}; {_DOCUMENT}"),
    "html": FileKind("a web page (HTML)", _NO_DOCUMENT),
    "srt": FileKind("subtitles (SRT)", _NO_DOCUMENT),
    "vtt": FileKind("subtitles (WebVTT)", _NO_DOCUMENT),
    "ass": FileKind("subtitles (ASS)", _NO_DOCUMENT),
    "resx": FileKind("texts of a .NET program (RESX)", _over_po("resx")),
    "android": FileKind("texts of an Android program", _over_po("android")),
    "ts": FileKind("texts of a Qt program (TS)", _over_po("ts")),
    "xml": FileKind("XML", "extract the text, one sentence per line"),
    "csv": FileKind("a table (CSV)", f"{_READ_PAIRS}, or --columns 0,1; or extract one column"),
    "tsv": FileKind(
        "a table (TSV)",
        f"{_READ_PAIRS}, or --columns 0,1; or extract one column: cut -f1 {{file}} > FILE.txt",
    ),
    "jsonl": FileKind(
        "a table (JSON lines)", f"{_READ_PAIRS}; or extract the text, one sentence per line"
    ),
    "json": FileKind("JSON", f"if it holds messages by their keys, {_DOCUMENT}"),
    "yaml": FileKind("YAML", f"if it holds messages by their keys, {_DOCUMENT}"),
    "properties": FileKind("messages of a Java program", _DOCUMENT),
    "strings": FileKind("messages of an Apple program", _DOCUMENT),
    "ipynb": FileKind("a Jupyter notebook", _NO_DOCUMENT),
    "rst": FileKind("reStructuredText", _PANDOC),
    "tex": FileKind("LaTeX", _PANDOC),
    "adoc": FileKind("AsciiDoc", _PANDOC),
    "org": FileKind("an Org file", _PANDOC),
    "textile": FileKind("Textile", _PANDOC),
    "wiki": FileKind("a page of a wiki", f"{_PANDOC}, with --from mediawiki or --from dokuwiki"),
    "template": FileKind(
        "a template of web pages", "read what is around its signs as a page: --format html"
    ),
    "code": FileKind("the source of a program", _EXTRACT),
    "settings": FileKind("a file of settings", _EXTRACT),
    "ini": FileKind("a file of settings or texts (INI)", _over_po("ini")),
    "fluent": FileKind("texts of a program (Fluent)", _over_po("fluent")),
    "toml": FileKind("a file of settings or texts (TOML)", _over_po("toml")),
    "ical": FileKind("a calendar", _over_po("ical")),
    "mail": FileKind("mail or an address book", _EXTRACT),
    "subtitles": FileKind("subtitles of another format", "convert it: ffmpeg -i {file} FILE.srt"),
}
"""Formats that are text, but not plain sentences."""

FILE_KINDS = BINARY | MARKUP

PLAIN_TEXT = "plain text in UTF-8"

KIND_OF_SUFFIX = {
    "htm": "html",
    "xhtml": "html",
    "xlf": "xliff",
    "mxliff": "xliff",
    "sdlxliff": "xliff",
    "pot": "po",
    "ssa": "ass",
    "yml": "yaml",
    "ndjson": "jsonl",
    "arb": "json",
    "tab": "tsv",
    "resw": "resx",
    "ftl": "fluent",
    "ics": "ical",
    # No code of a language is among these, since corpora have it as their suffix.
    **dict.fromkeys(("bat", "c", "cc", "cpp", "css", "go", "h", "haml", "hpp", "java"), "code"),
    **dict.fromkeys(("js", "jsx", "kt", "less", "php", "ps1", "pug", "py", "rb", "rs"), "code"),
    **dict.fromkeys(("scss", "sql", "svelte", "swift", "tsx", "vue"), "code"),
    **dict.fromkeys(("ejs", "erb", "j2", "jinja", "jinja2", "liquid", "mustache"), "template"),
    **dict.fromkeys(("njk", "twig"), "template"),
    **dict.fromkeys(("conf", "json5", "jsonc", "reg", "svg"), "settings"),
    **dict.fromkeys(("lrc", "sbv", "sub", "ttml"), "subtitles"),
    **dict.fromkeys(("wiki", "mediawiki", "dokuwiki"), "wiki"),
    **dict.fromkeys(("eml", "mbox", "vcf"), "mail"),
    **{name: name for name in ("tmx", "xliff", "po", "html", "srt", "vtt", "ass", "csv", "tsv")},
    **{
        name: name
        for name in (
            "yaml",
            "properties",
            "strings",
            "ipynb",
            "rst",
            "tex",
            "adoc",
            "org",
            "textile",
            "resx",
            "ini",
            "toml",
            "idml",
        )
    },
    **{name: name for name in ("jsonl", "json", "xml", "parquet", "docx", "xlsx", "pptx")},
    **{name: name for name in ("doc", "odt", "epub", "pdf", "rtf", "zip")},
}
"""Suffixes of names, and their formats."""

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"%PDF-", "pdf"),
    (b"{\\rtf", "rtf"),
    (b"PAR1\x15", "parquet"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "doc"),
    (b"\x89PNG\r\n\x1a\n", "picture"),
    (b"\xff\xd8\xff", "picture"),
    (b"GIF87a", "picture"),
    (b"GIF89a", "picture"),
    (b"II*\x00", "picture"),
    (b"MM\x00*", "picture"),
    # UTF-32's mark begins with UTF-16's.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ESCAPE = re.compile(rb"\x1b\$(?:[@B]|\)C)|\x1b\([JB]")
_BZIP2 = re.compile(rb"BZh[1-9]1AY&SY")
_IN_ZIP = (
    (b"word/", "docx"),
    (b"xl/", "xlsx"),
    (b"ppt/", "pptx"),
    (b"application/epub+zip", "epub"),
    (b"application/vnd.oasis.opendocument", "odt"),
    (b"application/vnd.adobe.indesign-idml-package", "idml"),
)

_OPEN = {
    *(("zip", kind) for _, kind in _IN_ZIP),
    *(("xml", kind) for kind in ("html", "xliff", "tmx", "resx")),
    *(("json", kind) for kind in ("jsonl", "ipynb")),
}
"""The formats that the first bytes do not determine, and those that the name can make of them."""

# The first tag of an XML file, behind its declaration, comments and document type.
_ROOT = re.compile(rb"<(?![?!])(?:[\w.-]+:)?([\w.-]+)")
_ROOTS = {b"tmx": "tmx", b"xliff": "xliff", b"html": "html", b"resources": "android", b"ts": "ts"}
_HTML = re.compile(rb"\s*(?:(?><!--.*?-->)\s*)*+<(?:!doctype\s+html|html)[\s>]", re.I | re.S)
# Comments, then the header that every catalog begins with.
_PO = re.compile(rb"(?:\s*#[^\n]*\n)*+\s*msgid\s+\"\"[^\S\n]*\n\s*msgstr\s+\"")
_JSON = re.compile(rb"\s*(?:\{\s*\"(?:[^\"\\]|\\.)*+\"\s*:|\[\s*\{\s*\")")
_TIMES = rb"(?:\d+:)?\d+:\d\d[,.]\d{1,3}[ \t]*-->[ \t]*(?:\d+:)?\d+:\d\d[,.]\d{1,3}"
_SRT = re.compile(rb"\s*\d+[ \t]*\r?\n" + _TIMES)
_BEGUN = (
    (re.compile(rb"\s*\[(?:(?:ti|ar|al|by|offset):[^\]\n]*|\d+:\d\d[.:]\d\d)\]"), "subtitles"),
    (re.compile(rb"\s*\{\d+\}\{\d+\}"), "subtitles"),
    (re.compile(rb"#!\s*/|<\?php\b"), "code"),
    (re.compile(rb"(?:\s*%[^\n]*\n)*+\s*\\documentclass\b"), "tex"),
    (re.compile(rb"BEGIN:VCALENDAR"), "ical"),
)
"""Beginnings of formats that are text."""


def bare_name(file: Path) -> str:
    """The file's name without .gz or .zst."""
    return file.stem if file.suffix in COMPRESSED else file.name


def kind_of_name(file: Path) -> str | None:
    """The format by the name; None: plain text, or an unknown suffix."""
    suffix = Path(bare_name(file)).suffix.removeprefix(".").lower()
    return KIND_OF_SUFFIX.get(suffix, suffix if suffix in names("format") else None)


def kind_of_bytes(head: bytes) -> str | None:
    """The format by the first bytes of a file, decompressed; None: it may be plain text."""
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            return (_xml_in_utf16(head) if kind == "utf-16" else None) or kind
    if _BZIP2.match(head):
        return "bzip2"
    if head.startswith(b"PK\x03\x04"):
        return next((kind for mark, kind in _IN_ZIP if mark in head), "zip")
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "picture"
    if _ESCAPE.search(head):
        return "iso-2022"
    if len(head) / 3 < head.count(0) < len(head):  # without a mark
        return "utf-16"
    if head[4:8] == b"ftyp" and head[8:12] in (b"heic", b"heix", b"mif1", b"avif", b"msf1"):
        return "picture"
    return _markup(head.removeprefix(codecs.BOM_UTF8))


def _xml_in_utf16(head: bytes) -> str | None:
    """The format of XML that says its character set itself, as Trados writes it."""
    kind = _markup(head.decode("utf-16", "ignore").encode("utf-8", "ignore"))
    return kind if kind in ("tmx", "xliff") else None


def kind_of(file: Path, head: bytes) -> str | None:
    """The format by the first bytes, or by the name if these do not determine it."""
    kind, by_name = kind_of_bytes(head), kind_of_name(file)
    if by_name is not None and (kind, by_name) in _OPEN:
        return by_name
    # Every binary kind has a signature: "notes.doc" of plain lines is plain text.
    return by_name if kind is None and by_name in MARKUP else kind


def _markup(head: bytes) -> str | None:
    if _HTML.match(head):
        return "html"
    begun = head.lstrip()
    if begun.startswith((b"<?xml", b"<tmx", b"<xliff", b"<!DOCTYPE tmx")):
        root = _ROOT.search(begun)
        return _ROOTS.get(root[1].lower(), "xml") if root else "xml"
    if _PO.match(head):
        return "po"
    if re.match(rb"\s*\[Script Info\]", head, re.I):
        return "ass"
    if _JSON.match(head):
        return "json"
    if re.match(rb"WEBVTT[ \t\r\n]", head):
        return "vtt"
    if _SRT.match(head):
        return "srt"
    return next((kind for begin, kind in _BEGUN if begin.match(head)), None)


def check_text(file: Path, head: bytes, *, plain: bool) -> None:
    """Refuses a file that cannot be read as text.

    Args:
        head: the first bytes, decompressed.
        plain: refuse markup too.

    Raises:
        DataError: the file has another format; the text names it, with advice.
    """
    kind = kind_of(file, head)
    if kind in BINARY or (plain and kind in MARKUP):
        raise refusal(file, kind)


def refusal(file: Path, kind: str, expected: str = PLAIN_TEXT) -> DataError:
    """The error for a file of this format where something else is expected."""
    name, do = FILE_KINDS[kind]
    insist = (
        '; if these are plain lines nevertheless: format = "text" in a recipe, '
        "--format lines of translate, or another name"
        if kind in MARKUP and expected == PLAIN_TEXT
        else ""
    )
    return DataError(
        f"this is {name}, not {expected}.",
        do=do.format(file=file) + insist,
        place=Location(file),
    )
