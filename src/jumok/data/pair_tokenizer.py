"""Vocabularies of sources and targets that are cut otherwise, as one.

Of two SentencePiece models, or of letters that are read and symbols that are written.
"""

import base64
import binascii
import hashlib
import json
import unicodedata
from collections.abc import Sequence
from functools import cached_property
from random import Random
from typing import NoReturn

import sentencepiece
from pydantic import BaseModel, Field, ValidationError

from jumok.data.tokenizer import (
    END,
    PAD,
    SPACE,
    START,
    UNKNOWN,
    Tokenizer,
    normalize,
    plain_words,
)
from jumok.errors import ConfigError, DataError, Location

PAIR_KIND, SYMBOLS_KIND = "two SentencePiece models", "letters and symbols"


class TwoSidedTokenizer(Tokenizer):
    """The tokenizer of sources; that of targets is `target`.

    Args:
        model: the file's bytes.
        of_target: whether texts are cut as targets are.

    Raises:
        DataError: the bytes are not such a file.
    """

    def __init__(
        self, model: bytes, place: Location | None = None, *, of_target: bool = False
    ) -> None:
        self.model, self._of_target = model, of_target
        self._pieces = self._read(model, place)
        self._ids = {piece: id for id, piece in enumerate(self._pieces) if id > END}
        self.size, self.newline = len(self._pieces), None
        self.hash = hashlib.sha256(model).hexdigest()

    def _read(self, model: bytes, place: Location | None) -> Sequence[str]:
        """The subwords by their ids."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[bytes]]:
        return type(self), (self.model,)

    @cached_property
    def target(self) -> "TwoSidedTokenizer":
        return self if self._of_target else type(self)(self.model, of_target=True)

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> list[list[int]]:
        del threads
        return [self.encode(text) for text in texts]

    @property
    def _words(self) -> None:
        """None: the ids of a text do not follow from those of its words."""

    def encode_sampled(self, text: str, alpha: float, random: Random) -> NoReturn:
        """Raises a ConfigError."""
        del text, alpha, random
        raise ConfigError(
            "the subwords of this tokenizer cannot be sampled.",
            do="leave subword sampling out of the recipe",
        )

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._pieces[id] for id in ids]

    def ids(self, pieces: Sequence[str]) -> list[int]:
        return [self._ids.get(piece, UNKNOWN) for piece in pieces]


class _Stored(BaseModel):
    """What the file of two models has; they are in base64."""

    jumok: str
    source: str
    target: str
    pieces: list[str]


class PairTokenizer(TwoSidedTokenizer):
    """Two SentencePiece models (`pair_file`)."""

    @property
    def models(self) -> tuple[bytes, bytes]:
        """Those of sources and of targets."""
        stored = _Stored.model_validate_json(self.model)
        return base64.b64decode(stored.source), base64.b64decode(stored.target)

    def _read(self, model: bytes, place: Location | None) -> Sequence[str]:
        try:
            stored = _Stored.model_validate_json(model)
            source, self._target = (
                sentencepiece.SentencePieceProcessor(model_proto=base64.b64decode(each))
                for each in (stored.source, stored.target)
            )
        except (ValidationError, RuntimeError, ValueError, binascii.Error):
            raise DataError("these are not two SentencePiece models.", place=place) from None
        self._cuts = self._target if self._of_target else source
        return stored.pieces

    def encode(self, text: str) -> list[int]:
        return self.ids(self._cuts.encode(normalize(text), out_type=str))

    def decode(self, ids: Sequence[int]) -> str:
        pieces = self.pieces([id for id in ids if id not in (PAD, START, END)])
        return normalize(self._target.decode_pieces(pieces).replace(SPACE, " "))


class _StoredSymbols(BaseModel):
    jumok: str
    special: list[str] = Field(min_length=END + 1, max_length=END + 1)
    letters: list[str]
    symbols: list[str]


class SymbolTokenizer(TwoSidedTokenizer):
    """A source is its letters, in lower case and without accents; a target is symbols, which spaces
    separate. Each is a word (`symbols_file`).
    """

    def _read(self, model: bytes, place: Location | None) -> Sequence[str]:
        try:
            stored = _StoredSymbols.model_validate_json(model)
        except ValidationError:
            raise DataError("these are not letters and symbols.", place=place) from None
        first = len(stored.special) + (len(stored.letters) if self._of_target else 0)
        cuts = stored.symbols if self._of_target else stored.letters
        self._cuts = {each: id for id, each in enumerate(cuts, first)}
        return [*stored.special, *(SPACE + each for each in stored.letters + stored.symbols)]

    def encode(self, text: str) -> list[int]:
        return [self._cuts.get(each, UNKNOWN) for each in self.split(text)]

    def decode(self, ids: Sequence[int]) -> str:
        pieces = self.pieces([id for id in ids if id not in (PAD, START, END)])
        return " ".join(piece.removeprefix(SPACE) for piece in pieces)

    def split(self, text: str) -> list[str]:
        if self._of_target:
            return plain_words(normalize(text))
        apart = unicodedata.normalize("NFD", normalize(text))
        return [each for each in apart.lower() if unicodedata.category(each) != "Mn"]


def pair_file(source: bytes, target: bytes, pieces: Sequence[str]) -> bytes:
    """The file of a `PairTokenizer`: two SentencePiece models, and the subwords by their ids."""
    models = {"source": base64.b64encode(source).decode()}
    models["target"] = base64.b64encode(target).decode()
    whole = {"jumok": PAIR_KIND} | models | {"pieces": list(pieces)}
    return json.dumps(whole, ensure_ascii=False).encode()


def symbols_file(special: Sequence[str], letters: Sequence[str], symbols: Sequence[str]) -> bytes:
    """The file of a `SymbolTokenizer`, whose ids are in this order."""
    whole = {"jumok": SYMBOLS_KIND, "special": list(special)}
    whole |= {"letters": list(letters), "symbols": list(symbols)}
    return json.dumps(whole, ensure_ascii=False).encode()
