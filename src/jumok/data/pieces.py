"""The contents of a SentencePiece model, for a reader that has no SentencePiece: the page.

The fields are those of sentencepiece_model.proto, a message of Protocol Buffers.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from jumok.errors import DataError

PIECES, TRAINER, NORMALIZER, DENORMALIZER = 1, 2, 3, 5
PIECE, SCORE, TYPE = 1, 2, 3
MODEL_TYPE, SUFFIX, BYTE_FALLBACK, UNKNOWN_SURFACE = 3, 24, 35, 44
CHARSMAP, DUMMY_PREFIX, REMOVE_EXTRA, ESCAPE = 2, 3, 4, 5

Segmentation = Literal["unigram", "bpe", "word", "char"]
SEGMENTATIONS: tuple[Segmentation, ...] = ("unigram", "bpe", "word", "char")  # from 1
NORMAL, UNKNOWN_PIECE, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

VARINT, EIGHT, LENGTH, FOUR = 0, 1, 2, 5
LONGEST_VARINT = 70
"""Bits of ten bytes: what is longer is no number of 64 bits."""


@dataclass(frozen=True)
class Piece:
    """A subword; `kind` is a number of sentencepiece_model.proto."""

    text: str
    score: float
    kind: int


@dataclass(frozen=True)
class PieceTable:
    """A SentencePiece model's contents.

    Attributes:
        types: numbers of sentencepiece_model.proto.
        charsmap: the compiled rules of the normaliser: the size of a double-array trie (4 bytes,
            little-endian), the trie, and the texts it leads to, each ended by a zero byte.
        dummy_prefix: a space is put before the text.
        remove_extra: spaces at the ends, and all but one of several, are removed.
        suffix: that space is put after the text, and subwords end with one instead.
        escape: a space is written as ▁.
        unknown: what UNKNOWN is decoded to.
        denormalized: rules are applied to the decoded text.
    """

    segmentation: Segmentation
    subwords: tuple[str, ...]
    scores: tuple[float, ...]
    types: tuple[int, ...]
    byte_fallback: bool = False
    charsmap: bytes = b""
    dummy_prefix: bool = True
    remove_extra: bool = True
    escape: bool = True
    suffix: bool = False
    unknown: str = " ⁇ "
    denormalized: bool = False

    @property
    def lacks_in_page(self) -> str | None:
        """What of it the page's tokenizer (`web/model/`) does not have; None: it has all."""
        if self.segmentation == "word":
            return "a tokenizer of whole words"
        if UNUSED in self.types:
            return "a tokenizer with unused subwords"
        if self.suffix or not self.escape:
            return "a tokenizer whose subwords do not begin with the space"
        return "a tokenizer that changes what it decodes" if self.denormalized else None


def read_pieces(model: bytes) -> PieceTable:
    """Parses a SentencePiece model.

    Raises:
        DataError: the bytes are not one.
    """
    try:
        return _piece_table(model)
    except (ValueError, IndexError, struct.error):
        raise DataError("this is not a SentencePiece model.") from None


def with_pieces(model: bytes, pieces: Iterable[Piece]) -> bytes:
    """The model with other subwords: the first four are PAD, UNKNOWN, START and END."""
    parts = []
    for piece in pieces:
        text, score = piece.text.encode(), struct.pack("<f", piece.score)
        inside = _field(PIECE, text) + bytes([SCORE << 3 | FOUR]) + score
        parts.append(_field(PIECES, inside + bytes([TYPE << 3, piece.kind])))
    for number, value in _message_fields(model):
        if number == TRAINER:  # of fields that are there twice the last one counts
            value = _bytes(value) + _SPECIALS
        if number != PIECES:
            parts.append(_field(number, _bytes(value)))
    return b"".join(parts)


def _field(number: int, content: bytes) -> bytes:
    return _written(number << 3 | LENGTH) + _written(len(content)) + content


def _written(number: int) -> bytes:
    """As a varint."""
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    return bytes([*written, number])


def _piece_table(model: bytes) -> PieceTable:
    pieces, scores, types = [], [], []
    trainer: dict[int, int | bytes] = {}
    normalizer: dict[int, int | bytes] = {}
    denormalizer: dict[int, int | bytes] = {}
    for number, value in _message_fields(model):
        content = _bytes(value)
        if number == PIECES:
            piece = dict(_message_fields(content))
            pieces.append(_bytes(piece.get(PIECE, b"")).decode())
            scores.append(struct.unpack("<f", _bytes(piece.get(SCORE, bytes(4))))[0])
            kind = _integer(piece.get(TYPE, NORMAL))
            if kind > BYTE:
                raise ValueError
            types.append(kind)
        elif number == TRAINER:
            trainer = dict(_message_fields(content))
        elif number == NORMALIZER:
            normalizer = dict(_message_fields(content))
        elif number == DENORMALIZER:
            denormalizer = dict(_message_fields(content))
    return PieceTable(
        SEGMENTATIONS[_integer(trainer.get(MODEL_TYPE, 1)) - 1],
        tuple(pieces),
        tuple(scores),
        tuple(types),
        bool(trainer.get(BYTE_FALLBACK, 0)),
        _bytes(normalizer.get(CHARSMAP, b"")),
        bool(normalizer.get(DUMMY_PREFIX, 1)),
        bool(normalizer.get(REMOVE_EXTRA, 1)),
        bool(normalizer.get(ESCAPE, 1)),
        bool(trainer.get(SUFFIX, 0)),
        _bytes(trainer.get(UNKNOWN_SURFACE, " ⁇ ".encode())).decode(),
        bool(denormalizer.get(CHARSMAP)),
    )


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError
    return value


def _integer(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise ValueError
    return value


def _message_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message in order: numbers of varints, and the bytes of all others."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if wire == LENGTH:
            length, at = _varint(message, at)
        else:
            length = {EIGHT: 8, FOUR: 4}.get(wire, -1)
        if length < 0 or at + length > len(message):
            raise ValueError
        yield number, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift >= LONGEST_VARINT:
            raise ValueError


_SPECIALS = b"".join(
    _written(place << 3 | VARINT) + bytes([id]) + _field(place + 5, name)
    for place, id, name in ((40, 1, b"<unk>"), (41, 2, b"<s>"), (42, 3, b"</s>"), (43, 0, b"<pad>"))
)
"""The ids and the texts of UNKNOWN, START, END and PAD, as fields of the trainer's settings."""
