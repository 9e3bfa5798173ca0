"""Tokenizers of the library tokenizers: WordPiece, BPE (also over bytes) and Unigram."""

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from random import Random
from typing import NoReturn

from jumok.data.tokenizer import (
    END,
    NEWLINE,
    PAD,
    SPACE,
    START,
    UNKNOWN,
    Tokenizer,
    writable,
)
from jumok.errors import ConfigError, DataError, Location, optional_import

UNFINISHED = "@@"
"""After a subword that others follow in its word, where it is the last one that is marked."""


class JsonTokenizer(Tokenizer):
    """A tokenizer.json whose ids 0 to 3 are PAD, UNKNOWN, START and END.

    It normalises text itself, and keeps line breaks if its bytes are tokens. It adds no START and
    END.

    Raises:
        DataError: the bytes are not such a file.
        MissingExtraError: the library is not installed.
    """

    def __init__(self, model: bytes, place: Location | None = None) -> None:
        with optional_import("reading a Hugging Face tokenizer", extra="huggingface"):
            import tokenizers
        try:
            self._tokenizer = tokenizers.Tokenizer.from_str(model.decode())
            described = json.loads(model)
            self._kind: str = described["model"]["type"]
            self._prefix: str = described["model"].get("continuing_subword_prefix") or ""
            self._suffix: str = described["model"].get("end_of_word_suffix") or ""
            self._of_bytes = '"ByteLevel"' in json.dumps(described["decoder"])
        except Exception as error:  # the library has no class for faults of a file
            raise DataError(
                "this is not a tokenizer.json.", got=str(error).split("\n")[0], place=place
            ) from None
        self.model = model
        self.size = self._tokenizer.get_vocab_size()
        self.newline = None
        self.hash = hashlib.sha256(model).hexdigest()

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(writable(text), add_special_tokens=False).ids
        return ids

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> list[list[int]]:
        """The ids of each text; the library chooses its threads."""
        del threads
        read = [writable(text) for text in texts]
        return [
            encoding.ids
            for encoding in self._tokenizer.encode_batch_fast(read, add_special_tokens=False)
        ]

    @property
    def _words(self) -> None:
        """None: the ids of a text do not follow from those of its words."""

    def encode_sampled(self, text: str, alpha: float, random: Random) -> NoReturn:
        """Raises a ConfigError."""
        del text, alpha, random
        raise ConfigError(
            "the subwords of this tokenizer cannot be sampled.",
            expected="a SentencePiece model",
            do="leave subword sampling out of the recipe",
        )

    def decode(self, ids: Sequence[int]) -> str:
        text = [int(id) for id in ids if id not in (PAD, START, END)]
        return str(self._tokenizer.decode(text, skip_special_tokens=False))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._names[id] for id in ids]

    def ids(self, pieces: Sequence[str]) -> list[int]:
        return [self._by_name.get(piece, UNKNOWN) for piece in pieces]

    def words(self, ids: Sequence[int]) -> list[int]:
        if not self._suffix:
            return super().words(ids)
        words, word, whole = list[int](), -1, True
        for id, piece in zip(ids, self.pieces(ids), strict=True):
            word += whole and id != END
            whole = not piece.endswith(UNFINISHED)
            words.append(max(word, 0))
        return words

    def normalize(self, text: str) -> str:
        """The text itself: what the tokenizer makes of it, it makes when it encodes."""
        return writable(text)

    def split(self, text: str) -> list[str]:
        """The words of a text, by the places of their subwords."""
        encoding = self._tokenizer.encode(writable(text), add_special_tokens=False)
        words: list[list[int]] = []
        for number, (start, end) in zip(self.words(encoding.ids), encoding.offsets, strict=True):
            if number == len(words):
                words.append([start, end])
            words[number][1] = end
        return [text[start:end].strip() for start, end in words]

    def with_marks(self, marks: Sequence[str]) -> "JsonTokenizer":
        """One that cuts these texts out as the tokens that have their names.

        Raises:
            DataError: one is no token.
        """
        from tokenizers import AddedToken

        cutting = JsonTokenizer(self.model)
        added = [AddedToken(each, special=True, normalized=False) for each in marks]
        cutting._tokenizer.add_special_tokens(added)
        if cutting._tokenizer.get_vocab_size() != self.size:
            raise DataError("a mark is no token of this tokenizer.", got=", ".join(marks))
        return cutting

    @cached_property
    def names(self) -> list[str]:
        """The subwords as the file has them."""
        names = [""] * self.size
        for piece, id in self._tokenizer.get_vocab().items():
            names[id] = piece
        return names

    @cached_property
    def _names(self) -> list[str]:
        """The subwords as SentencePiece would write them: SPACE before a word."""
        return [
            piece.strip(" ") if id <= END else self._named(piece)
            for id, piece in enumerate(self.names)
        ]

    @cached_property
    def _by_name(self) -> dict[str, int]:
        return {name: id for id, name in reversed(list(enumerate(self._names)))}

    def _named(self, piece: str) -> str:
        if self._suffix:
            whole = piece.removesuffix(self._suffix)
            return whole if whole != piece else piece + UNFINISHED
        if self._kind == "WordLevel":
            return SPACE + piece
        if self._kind == "WordPiece":
            if piece.startswith(self._prefix):
                return piece.removeprefix(self._prefix)
            return piece if piece.startswith("[") and piece.endswith("]") else SPACE + piece
        content = bytes_of_piece(piece) if self._of_bytes else None
        if content is None:
            return NEWLINE if piece == "<0x0A>" else piece.strip(" ")
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return "".join(f"<0x{byte:02X}>" for byte in content)
        return text.replace(" ", SPACE).replace("\n", NEWLINE)


def bytes_of_piece(piece: str) -> bytes | None:
    """The bytes that a subword of a BPE over bytes stands for; None: it is none.

    Source: Radford et al. 2019 (GPT-2), bytes_to_unicode: visible characters stand for themselves,
    the other bytes for the characters from U+0100 on.
    """
    try:
        return bytes(BYTES[character] for character in piece)
    except KeyError:
        return None


def piece_of_byte(byte: int) -> str:
    """The character that stands for a byte in such subwords."""
    return _CHARACTERS[byte]


_VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _VISIBLE]
BYTES = {chr(byte): byte for byte in _VISIBLE} | {
    chr(0x100 + place): byte for place, byte in enumerate(_OTHERS)
}
_CHARACTERS = {byte: character for character, byte in BYTES.items()}
