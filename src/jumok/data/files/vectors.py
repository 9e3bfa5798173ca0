"""Pretrained word vectors: word2vec, GloVe and fastText, text and binary.

The format of a file is determined by its contents, not by its name:

    word2vec text, fastText .vec   a header "COUNT WIDTH", then a word and its numbers per line
    GloVe                          the same without a header
    word2vec binary                the header, then words and float32 numbers
    fastText .bin                  begins with its own magic number

gensim reads them (the extra `vectors`). It trusts the header, keeps the first of equal words, and
names no line; so the shape of the file is checked before.
"""

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jumok.data.files.damage import ANYTHING
from jumok.data.files.encoding import conversion
from jumok.data.files.reading import BLOCK, open_bytes
from jumok.errors import DataError, Location, optional_import

FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")
HEADER = re.compile(rb"\d{1,15}[ \t]+\d{1,9}\s*")
WRITING = frozenset([*range(0x20, 0x7F), *b"\t\r"])


@dataclass(frozen=True)
class Vectors:
    """Words and their vectors.

    Attributes:
        words: each once, as in the file.
        matrix: (words width).
    """

    words: list[str]
    matrix: npt.NDArray[np.float32]

    @property
    def width(self) -> int:
        """Numbers per word."""
        return int(self.matrix.shape[1])


def read_vectors(path: Path) -> Vectors:
    """All words and vectors of a file; also .gz.

    Raises:
        DataError: none of the formats, or not consistent; the text names the line, or the index of
            the word in a binary file.
        MissingExtraError: gensim is not installed.
    """
    with open_bytes(path) as stream:
        start = stream.read(1 << 16)
    if start.startswith(codecs.BOM_UTF8):
        raise DataError(
            "the file begins with a byte order mark, which would become part of the first word.",
            do="save it as UTF-8 without one, for example: sed -i '1s/^\\xEF\\xBB\\xBF//' FILE",
            place=Location(path),
        )
    if start.startswith(FASTTEXT_MAGIC):
        return _finite(_read_fasttext(path), path, first=None)
    first, _, rest = start.partition(b"\n")
    header = HEADER.fullmatch(first) is not None
    if header and _looks_binary(rest, width=int(first.split()[1])):
        _check_binary(path)
        return _finite(_read_word2vec(path, binary=True, header=True), path, first=None)
    _check_text(path, header)
    return _finite(_read_word2vec(path, binary=False, header=header), path, first=1 + header)


def _looks_binary(rows: bytes, width: int) -> bool:
    """Whether the bytes after the first word are not text."""
    line = rows.partition(b" ")[2].partition(b"\n")[0]
    # The first of four bytes may be a line break by chance, but not after several letters.
    return len(line) < min(2 * width - 1, 5) or not WRITING.issuperset(line)


def _read_word2vec(path: Path, binary: bool, header: bool) -> Vectors:
    with optional_import("reading word vectors", extra="vectors"):
        from gensim.models import keyedvectors

    load = keyedvectors.KeyedVectors.load_word2vec_format
    try:
        read = load(str(path), binary=binary, no_header=not header)
    except ANYTHING as error:
        raise _not_a_number(path, header, error) from error
    return Vectors(list(read.index_to_key), np.asarray(read.vectors, np.float32))


def _read_fasttext(path: Path) -> Vectors:
    """The words of a fastText model; its vectors of unseen words are not used."""
    with optional_import("reading word vectors", extra="vectors"):
        from gensim.models import fasttext

    load = fasttext.load_facebook_vectors
    try:
        read = load(str(path))
    except MemoryError:
        raise
    except Exception as error:  # its parser fails in as many ways as a file can be damaged
        raise DataError(
            "this fastText model is damaged or truncated.",
            got=f"{type(error).__name__}: {error}",
            do="download it again, or use its .vec file",
            place=Location(path),
        ) from error
    return Vectors(list(read.index_to_key), np.asarray(read.vectors, np.float32))


def _check_text(path: Path, header: bool) -> None:
    with open_bytes(path) as stream:
        count, width = _read_header(stream, path) if header else (None, None)
        lines: dict[bytes, int] = {}
        for number, line in enumerate(stream, start=1 + header):
            word, _, numbers = line.rstrip().partition(b" ")
            columns = numbers.count(b" ") + 1 if numbers else 0
            if columns != (width or columns) or not columns:
                raise DataError(
                    "this row has a different number of columns.",
                    expected=f"a word and {width or 'its'} numbers, with single spaces between",
                    got=f"{columns} numbers: {_excerpt(line)}",
                    do="correct or remove the row; words that contain spaces cannot be read",
                    place=Location(path, number),
                )
            width = columns
            _check_word(word, path, number)
            if word in lines:
                raise DataError(
                    "a word occurs twice.",
                    got=f"{word.decode()!r}, also on line {lines[word]}",
                    do="remove one of the rows",
                    place=Location(path, number),
                )
            lines[word] = number
    _check_count(path, count, len(lines))


def _check_binary(path: Path) -> None:
    with open_bytes(path) as stream:
        count, width = _read_header(stream, path)
        seen: dict[bytes, int] = {}
        for number, word in enumerate(_binary_words(stream, width, path, count), start=1):
            _check_word(word, path, None, f"word {number:,} of {count:,}")
            if word in seen:
                raise DataError(
                    "a word occurs twice.",
                    got=f"{word.decode()!r}, words {seen[word]:,} and {number:,}",
                    do="write the file again without it",
                    place=Location(path),
                )
            seen[word] = number
    _check_count(path, count, len(seen))


def _binary_words(stream: io.BufferedReader, width: int, path: Path, count: int) -> Iterator[bytes]:
    """The words alone; their vectors are skipped."""
    rest, whole = b"", 0
    while block := stream.read(BLOCK):
        rest += block
        start = 0
        while (space := rest.find(b" ", start)) >= 0:
            end = space + 1 + 4 * width
            if end > len(rest):
                break
            yield rest[start:space].lstrip(b"\n")
            whole += 1
            start = end
        rest = rest[start:]
    if rest := rest.strip(b"\n"):
        raise DataError(
            "the file ends inside a vector: it is truncated, or its header does not match.",
            expected=f"{count:,} words with {width} numbers of 4 bytes each, from the header",
            got=f"{whole:,} whole ones and {len(rest)} bytes",
            do="download it again",
            place=Location(path),
        )


def _read_header(stream: io.BufferedReader, path: Path) -> tuple[int, int]:
    count, width = map(int, stream.readline().split())
    if not count or not width:
        raise DataError(
            "there are no vectors in this file.",
            got=f"a header of {count} words and {width} numbers each",
            place=Location(path, 1),
        )
    return count, width


def _check_count(path: Path, stated: int | None, actual: int) -> None:
    if stated is not None and stated != actual:
        raise DataError(
            "the header does not match the file (truncated?).",
            expected=f"{stated:,} words, according to the header",
            got=f"{actual:,} words",
            do="download the file again, or correct its first line",
            place=Location(path, 1),
        )


def _check_word(word: bytes, path: Path, line: int | None, where: str = "") -> None:
    try:
        word.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            "a word is not valid UTF-8.",
            got=f"byte {word[error.start]:#04x}{f' in {where}' if where else ''}",
            do=f"{conversion(word)}; in a binary file the header's width may be wrong",
            place=Location(path, line),
        ) from None


def _not_a_number(path: Path, header: bool, error: Exception) -> DataError:
    """Finds the line at which gensim failed."""
    with open_bytes(path) as stream:
        for number, line in enumerate(stream, start=1):
            for field in line.split()[1:] if number > header else ():
                try:
                    float(field)
                except ValueError:
                    return DataError(
                        "this is not a number.",
                        expected="a word and its numbers",
                        got=f"{field.decode(errors='replace')!r} in {_excerpt(line)}",
                        do="is this a file of vectors? word2vec, GloVe and fastText can be read",
                        place=Location(path, number),
                    )
    return DataError("the vectors cannot be read.", got=str(error), place=Location(path))


def _finite(vectors: Vectors, path: Path, first: int | None) -> Vectors:
    """The vectors, if all their numbers are finite; `first` is the line of the first word."""
    bad = np.flatnonzero(~np.isfinite(vectors.matrix).all(axis=1))
    if len(bad):
        raise DataError(
            "a vector contains a number that is not finite.",
            got=f"the word {vectors.words[bad[0]]!r}",
            do="remove it",
            place=Location(path, None if first is None else first + int(bad[0])),
        )
    return vectors


def _excerpt(line: bytes) -> str:
    text = line.decode("utf-8", errors="replace").rstrip()
    return repr(text if len(text) <= 60 else f"{text[:60]}...")
