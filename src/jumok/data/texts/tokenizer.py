"""Whole texts to ids and back, line breaks included, for language models.

There are two kinds. Bytes: four special tokens and 256 bytes, so that any text is restored exactly.
Subwords: SentencePiece line by line, with a token for the line break; other control characters
become spaces.
"""

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from jumok.data.files.atomic import write_durably
from jumok.data.json_tokenizer import JsonTokenizer
from jumok.data.special_tokens import SPECIAL
from jumok.data.tokenizer import END, NEWLINE, PAD, SPACE, START, Tokenizer, word_indices, writable
from jumok.errors import DataError, Location

BYTE_KIND = b"jumok: every byte is a token\n"
FIRST_BYTE = 4  # after PAD, UNKNOWN, START and END
NOT_UTF8 = "\ufffd"
"""What a tokenizer decodes to where bytes are no whole character."""
LINES_FOR_TWO_THREADS = 1_000  # threads are started for every call


@runtime_checkable
class TextTokenizer(Protocol):
    """A tokenizer of whole texts.

    Attributes:
        size: the number of ids, special tokens included.
        hash: the SHA-256 of the file that `save` writes.
    """

    size: int
    hash: str

    def encode(self, text: str) -> list[int]:
        """The ids of the text in NFC, without START and END.

        encode(a + b) is encode(a) + encode(b) where `a` ends with a line break.
        """
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids; special tokens are omitted, bytes that are not UTF-8 become U+FFFD.

        decode(a + b) is decode(a) + decode(b) where `a` ends with a line break.
        """
        ...

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The name of each id; the space before a word is SPACE, the line break is NEWLINE."""
        ...

    def words(self, ids: Sequence[int]) -> list[int]:
        """For each id the index of its word, from 0; a line break is a word."""
        ...

    def save(self, path: Path) -> None: ...


class ByteTokenizer:
    """Every byte of the text in UTF-8 is a token."""

    size = FIRST_BYTE + 256
    hash = hashlib.sha256(BYTE_KIND).hexdigest()

    def encode(self, text: str) -> list[int]:
        return [byte + FIRST_BYTE for byte in unicodedata.normalize("NFC", writable(text)).encode()]

    def decode(self, ids: Sequence[int]) -> str:
        known = bytes(id - FIRST_BYTE for id in ids if id >= FIRST_BYTE)
        return known.decode("utf-8", errors="replace")

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [_BYTE_NAMES[id] for id in ids]

    def words(self, ids: Sequence[int]) -> list[int]:
        return word_indices(self.pieces(ids))

    def save(self, path: Path) -> None:
        write_durably(path, BYTE_KIND)


class PieceTokenizer:
    """SentencePiece, line by line.

    Raises:
        DataError: the SentencePiece model has no token for the line break.
    """

    def __init__(self, lines: Tokenizer, place: Location | None = None) -> None:
        if lines.newline is None:
            raise DataError(
                "this tokenizer has no token for the line break.",
                do="leave tokenizer.path out, to train one",
                place=place,
            )
        self._lines, self._newline = lines, lines.newline
        self.size, self.hash = lines.size, lines.hash

    def encode(self, text: str) -> list[int]:
        lines = text.split("\n")
        threads = 2 if len(lines) >= LINES_FOR_TWO_THREADS else 1
        first, *others = self._lines.encode_batch(lines, threads)
        return first + [id for line in others for id in (self._newline, *line)]

    def decode(self, ids: Sequence[int]) -> str:
        if self._newline not in ids:  # a text that is written is decoded at every token
            return self._lines.decode(ids)
        text = [id for id in ids if id not in (PAD, START, END)]
        runs = groupby(text, key=lambda id: id == self._newline)
        return "".join(
            "\n" * len(list(run)) if breaks else self._lines.decode(list(run))
            for breaks, run in runs
        )

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return self._lines.pieces(ids)

    def words(self, ids: Sequence[int]) -> list[int]:
        return self._lines.words(ids)

    def save(self, path: Path) -> None:
        self._lines.save(path)


def _byte_name(byte: int) -> str:
    """A letter as itself; an invisible byte, or a part of a character, as its number."""
    if byte == ord("\n"):
        return NEWLINE
    return chr(byte).replace(" ", SPACE) if 0x20 <= byte < 0x7F else f"<0x{byte:02X}>"


_BYTE_NAMES = [*SPECIAL, *map(_byte_name, range(256))]


def load_text_tokenizer(path: Path) -> TextTokenizer:
    """The tokenizer in this file, of either kind.

    Raises:
        DataError: the file cannot be read, or is not a tokenizer of whole texts.
    """
    try:
        start = path.read_bytes()[: len(BYTE_KIND)]
    except OSError as error:
        raise DataError(
            "the tokenizer cannot be read.", got=error.strerror, place=Location(path)
        ) from None
    if start == BYTE_KIND:
        return ByteTokenizer()
    tokenizer = Tokenizer.load(path)
    if isinstance(tokenizer, JsonTokenizer):
        return tokenizer
    return PieceTokenizer(tokenizer, Location(path))


def train_text_tokenizer(
    texts: Iterable[str],
    kind: Literal["byte", "unigram", "bpe", "char"],
    size: int,
    *,
    coverage: float = 1.0,
    byte_fallback: bool = True,
    seed: int = 0,
) -> TextTokenizer:
    """Trains a tokenizer as `Tokenizer.train`; bytes need no training."""
    if kind == "byte":
        return ByteTokenizer()
    lines = chain.from_iterable(text.split("\n") for text in texts)
    trained = Tokenizer.train(
        (line for line in lines if line),
        kind,
        size,
        coverage=coverage,
        byte_fallback=byte_fallback,
        keep_layout=True,
        seed=seed,
    )
    return PieceTokenizer(trained)


def certain_text(tokenizer: TextTokenizer, prompt: str, tokens: Iterable[int]) -> Iterator[str]:
    """The text of `tokens`, which continue `prompt`, as soon as later tokens cannot change it.

    Joined, the parts are what decoding everything at once gives after the prompt's text.
    """
    text = CertainText(tokenizer, prompt)
    for token in tokens:
        if part := text.add(token):
            yield part
    if rest := text.rest():
        yield rest


class CertainText:
    """The text of tokens that continue a prompt, in parts that later tokens cannot change.

    A character may be written in several tokens; it is handed out with the last of them.
    """

    def __init__(self, tokenizer: TextTokenizer, prompt: str) -> None:
        self._tokenizer = tokenizer
        self._line = tokenizer.encode(prompt.rpartition("\n")[2])
        self._known = len(tokenizer.decode(self._line))

    def add(self, token: int) -> str:
        """What has become certain by a further token; may be empty."""
        self._line.append(token)
        text, known = self._tokenizer.decode(self._line), self._known
        part = ""
        if not text.endswith(NOT_UTF8) and len(text) > known:
            part, self._known = text[known:], len(text)
        if text.endswith("\n"):  # what follows a line break does not depend on what precedes it
            self._line, self._known = [], 0
        return part

    def rest(self) -> str:
        """What was not certain, after the last token."""
        return self._tokenizer.decode(self._line)[self._known :]
