"""Two SentencePiece models, of sources and of targets, whose subwords are one vocabulary."""

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from random import Random
from typing import NoReturn

import sentencepiece
from pydantic import BaseModel, ValidationError

from jumok.data.tokenizer import (
    END,
    PAD,
    SPACE,
    START,
    UNKNOWN,
    Tokenizer,
    normalize,
)
from jumok.errors import ConfigError, DataError, Location

PAIR_KIND = "two SentencePiece models"


class _Stored(BaseModel):
    """What the file has; the models are in base64."""

    jumok: str
    source: str
    target: str
    pieces: list[str]


class PairTokenizer(Tokenizer):
    """The tokenizer of sources; that of targets is `target`.

    Args:
        model: the file's bytes (`pair_file`).
        of_target: whether texts are cut as targets are.

    Raises:
        DataError: the bytes are not such a file.
    """

    def __init__(
        self, model: bytes, place: Location | None = None, *, of_target: bool = False
    ) -> None:
        try:
            stored = _Stored.model_validate_json(model)
            self._source, self._target = (
                sentencepiece.SentencePieceProcessor(model_proto=base64.b64decode(each))
                for each in (stored.source, stored.target)
            )
        except (ValidationError, RuntimeError, ValueError, binascii.Error):
            raise DataError("these are not two SentencePiece models.", place=place) from None
        self.model, self._pieces, self._of_target = model, stored.pieces, of_target
        self._ids = {piece: id for id, piece in enumerate(stored.pieces) if id > END}
        self._cuts = self._target if of_target else self._source
        self.size, self.newline = len(stored.pieces), None
        self.hash = hashlib.sha256(model).hexdigest()

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[bytes]]:
        return PairTokenizer, (self.model,)

    @cached_property
    def target(self) -> Tokenizer:
        return self if self._of_target else PairTokenizer(self.model, of_target=True)

    def encode(self, text: str) -> list[int]:
        return self.ids(self._cuts.encode(normalize(text), out_type=str))

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
            "the subwords of two SentencePiece models cannot be sampled.",
            do="leave subword sampling out of the recipe",
        )

    def decode(self, ids: Sequence[int]) -> str:
        pieces = self.pieces([id for id in ids if id not in (PAD, START, END)])
        return normalize(self._target.decode_pieces(pieces).replace(SPACE, " "))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._pieces[id] for id in ids]

    def ids(self, pieces: Sequence[str]) -> list[int]:
        return [self._ids.get(piece, UNKNOWN) for piece in pieces]


def pair_file(source: bytes, target: bytes, pieces: Sequence[str]) -> bytes:
    """The file of a `PairTokenizer`: two SentencePiece models, and the subwords by their ids."""
    models = {"source": base64.b64encode(source).decode()}
    models["target"] = base64.b64encode(target).decode()
    whole = {"jumok": PAIR_KIND} | models | {"pieces": list(pieces)}
    return json.dumps(whole, ensure_ascii=False).encode()
