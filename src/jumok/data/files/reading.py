"""Bytes on disk to clean lines: opening, decompressing, decoding, splitting.

A line ends at \\n and nowhere else (one \\r before it goes too), so the N-th line of two aligned
files is the same sentence whatever else the sentences contain. Text comes out as NFC.
"""

import codecs
import gzip
import io
import unicodedata
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TypeVar

from jumok.data.files.encoding import conversion
from jumok.data.files.formats import COMPRESSED, HEAD, check_text
from jumok.data.files.unpacking import most_unpacked
from jumok.data.report import UTF8, CorpusReport
from jumok.errors import ConfigError, DataError, Location, optional_import

Element = TypeVar("Element")

BLOCK = 1 << 20
# Line separators of str.splitlines and most editors, except \n.
LINE_BREAKS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
SPACES = str.maketrans(dict.fromkeys(LINE_BREAKS + "\n", " "))
MENDED = "line break inside a line replaced by a space"


def nonempty(items: Iterator[Element], error: DataError) -> Iterator[Element]:
    """The items; raises `error` if there are none."""
    first = next(items, None)
    if first is None:
        raise error
    yield first
    yield from items


def one_line(text: str, report: CorpusReport | None, number: int) -> str:
    """The text in NFC, with line breaks inside it replaced by spaces; `report` counts its line."""
    line = text.translate(SPACES)
    if report and line != text:
        report.mend(MENDED, number)
    return unicodedata.normalize("NFC", line)


@contextmanager
def open_bytes(path: Path, encoding: str = UTF8) -> Iterator[io.BufferedReader]:
    """The file's bytes, decompressed if the name ends in .gz or .zst; text becomes UTF-8.

    Args:
        encoding: the character set of the text.

    Raises:
        ConfigError: there is no such character set.
        DataError: the file is missing, a folder, not readable, empty or damaged.
    """
    place = Location(path)
    if "\0" in str(path):
        raise DataError("a file name cannot contain a NUL character.", got=ascii(str(path))[:80])
    try:
        if path.is_file() and path.stat().st_size == 0:
            raise DataError("the file is empty.", expected="at least one line", place=place)
        with path.open("rb") as raw, _decompressed(raw, path.suffix) as stream:
            yield in_utf8(stream, encoding, path)
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(
            "there is no such file.",
            do="check the spelling (names are case-sensitive)",
            place=place,
        ) from None
    except IsADirectoryError:
        raise DataError(
            "this is a folder.", expected="a file", do="give a file in it", place=place
        ) from None
    except PermissionError:
        raise DataError("the file cannot be read (permission denied).", place=place) from None
    except OSError as error:  # a name too long, links in a cycle, a missing device
        if isinstance(error, gzip.BadGzipFile):
            raise _damaged_archive(error, place) from None
        raise DataError("the file cannot be read.", got=str(error.strerror), place=place) from None
    except (EOFError, zlib.error) as error:
        raise _damaged_archive(error, place) from None


def whole_file(path: Path, encoding: str = UTF8) -> bytes:
    """All bytes of a file, decompressed as by `open_bytes`.

    Raises:
        DataError: as `open_bytes`; or it unpacks to more than `most_unpacked`.
    """
    with open_bytes(path, encoding) as stream:
        if path.suffix not in COMPRESSED:
            return stream.read()
        most = most_unpacked(path.stat().st_size)
        content = stream.read(most + 1)
    if len(content) > most:
        raise DataError(
            "the compressed file unpacks to too many bytes.",
            expected=f"at most {most:,}",
            do="unpack it, and give the file that is in it",
            place=Location(path),
        )
    return content


def _damaged_archive(error: Exception, place: Location) -> DataError:
    return DataError(
        "the compressed file is damaged or truncated.",
        got=str(error),
        do="download or compress it again",
        place=place,
    )


def in_utf8(stream: io.BufferedIOBase, encoding: str, name: Path) -> io.BufferedReader:
    """A stream of the same text in UTF-8; errors call it `name`.

    Raises:
        ConfigError: there is no such character set.
    """
    try:
        "".encode(encoding)  # refuses codecs that are of bytes, such as hex
        decoder = codecs.getincrementaldecoder(encoding)("strict")
    except (LookupError, TypeError, UnicodeError):
        raise ConfigError(
            "there is no such character set.",
            expected="a name such as cp949, shift_jis, gb18030, latin-1, cp1252, utf-16",
            got=repr(encoding),
        ) from None
    if codecs.lookup(encoding).name == UTF8 and isinstance(stream, io.BufferedReader):
        return stream
    return io.BufferedReader(_Recoded(stream, decoder, encoding, name), BLOCK)


class _Recoded(io.RawIOBase):
    """Text of another character set as UTF-8."""

    mode = "rb"

    def __init__(
        self,
        raw: io.BufferedIOBase,
        decoder: codecs.IncrementalDecoder,
        encoding: str,
        name: Path,
    ) -> None:
        self._raw, self._decoder, self._encoding, self._name = raw, decoder, encoding, name
        self._ready, self._lines, self._ended = b"", 1, False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._ready and not self._ended:
            block = self._raw.read(BLOCK)
            self._ended = not block
            try:
                text = self._decoder.decode(block, self._ended)
            except UnicodeError as error:
                raise self._fault(error) from None
            self._lines += text.count("\n")
            self._ready = text.encode("utf-8", "replace")
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _fault(self, error: UnicodeError) -> DataError:
        line, got = self._lines, str(error)
        if isinstance(error, UnicodeDecodeError):  # others are of a missing byte order mark
            before = error.object[: error.start].decode(self._encoding, "ignore")
            line, got = line + before.count("\n"), f"byte {error.object[error.start]:#04x}"
        return DataError(
            f"the text is not valid {self._encoding}.",
            got=got,
            do="name another one: --encoding of the command, encoding in a recipe",
            place=Location(self._name, line),
        )


def first_bytes(stream: object) -> bytes:
    """The first bytes of a stream that has not been read from; they stay in it."""
    return stream.peek(HEAD)[:HEAD] if isinstance(stream, io.BufferedReader) else b""


@contextmanager
def _decompressed(raw: io.BufferedReader, suffix: str) -> Iterator[io.BufferedReader]:
    if suffix == ".gz":
        # GzipFile splits lines in Python; a buffer around it does so in C.
        yield io.BufferedReader(gzip.GzipFile(fileobj=raw), BLOCK)
    elif suffix == ".zst":
        yield io.BufferedReader(_ZstdBytes(raw), BLOCK)
    else:
        yield raw


class _ZstdBytes(io.RawIOBase):
    """Decompressed zstd frames; unlike the library's own reader, it detects a truncated file."""

    def __init__(self, raw: io.BufferedIOBase) -> None:
        with optional_import("reading .zst files", extra="formats"):
            import zstandard

        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._failure: type[Exception] = zstandard.ZstdError
        self._raw, self._frame, self._ready = raw, self._new_frame(), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            if self._frame.eof:
                block = self._frame.unused_data or self._raw.read(BLOCK)
                if not block:
                    return 0
                self._frame = self._new_frame()
            else:
                block = self._raw.read(BLOCK)
                if not block:
                    raise EOFError("the last zstd frame is incomplete")
            try:
                self._ready = self._frame.decompress(block)
            except self._failure as error:
                raise EOFError(str(error)) from None
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


def read_lines(
    path: Path, report: CorpusReport | None = None, *, plain: bool = False
) -> Iterator[str]:
    """The lines of a text file; see `read_line_blocks`."""
    return chain.from_iterable(read_line_blocks(path, report, plain=plain))


def read_line_blocks(
    path: Path, report: CorpusReport | None = None, *, plain: bool = False
) -> Iterator[list[str]]:
    """The lines of a text file, in NFC, without their ends, about a megabyte at a time.

    Line breaks other than \\n (a lone CR, U+2028, U+0085, ...) become spaces and are counted in
    `report`. A byte order mark at the start is dropped.

    Args:
        plain: refuse markup too.

    Raises:
        DataError: what `open_bytes` raises; a file of another format; bytes that are not UTF-8; NUL
            bytes.
    """
    with open_bytes(path, report.encoding if report else UTF8) as stream:
        check_text(path, first_bytes(stream), plain=plain)
        number, offset = 0, 0
        # Whole lines of about a block each: decoding and normalising many lines at once costs a
        # tenth of doing it line by line, and NFC never reaches across a \n.
        while block := b"".join(stream.readlines(BLOCK)):
            text = _decode_lines(block, path, number, offset, report)
            lines = _split(text.removeprefix("\ufeff") if offset == 0 else text, number, report)
            yield lines
            number += len(lines)
            offset += len(block)


def _decode_lines(
    block: bytes, path: Path, number: int, offset: int, report: CorpusReport | None
) -> str:
    """The block as text; a damaged line is empty if such lines are to be left out."""
    try:
        return _decode(block, path, number, offset)
    except DataError:
        if report is None or not report.skip_damaged:
            raise
    lines = []
    for place, line in enumerate(block.split(b"\n"), start=number + 1):
        try:
            lines.append(_decode(line, path, place, 0))
        except DataError as error:
            reason = error.what.replace("the text", "line that").rstrip(".")
            report.mend(f"{reason} made empty", place)
            lines.append("")
    return "\n".join(lines)


def _decode(block: bytes, path: Path, number: int, offset: int) -> str:
    """The block, before which the file has `number` lines and `offset` bytes."""
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        line = number + block.count(b"\n", 0, error.start) + 1
        raise DataError(
            "the text is not valid UTF-8.",
            got=f"byte {block[error.start]:#04x}",
            do=f"{conversion(block)}; or leave such lines out: data.skip_damaged in a recipe, "
            "--skip-damaged of train",
            place=Location(path, line, offset + error.start),
        ) from None
    if "\0" in text:
        start = block.index(b"\0")
        raise DataError(
            "the text contains a NUL byte.",
            expected="UTF-8 text",
            do="if this is UTF-16, convert it: iconv -f UTF-16 -t UTF-8; or leave such lines out: "
            "data.skip_damaged in a recipe, --skip-damaged of train",
            place=Location(path, number + block.count(b"\n", 0, start) + 1, offset + start),
        )
    return text


def _split(text: str, number: int, report: CorpusReport | None) -> list[str]:
    ended = text.endswith("\n")
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    lines = unicodedata.normalize("NFC", text).split("\n")
    if ended:
        lines.pop()
    if any(mark in text for mark in LINE_BREAKS):
        return [one_line(line, report, number + place) for place, line in enumerate(lines, 1)]
    return lines
