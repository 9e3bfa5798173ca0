"""The hot loops over the texts of a corpus, in texts.c. Imports no torch.

Texts are given as code points (uint32) or as UTF-8, one after another, each ended by a line break.
Functions whose readable twin is not here name it.
"""

import ctypes
import functools
import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jumok.kernels.libraries.building import built

SOURCES = (Path(__file__).with_name("texts.c"),)
CLASSES = 8
BEHIND = bytes(8)
"""What has to follow the last line break of UTF-8: words are read eight bytes at a time."""
ENDING = 10

Codes = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.int64]
Kinds = npt.NDArray[np.uint16]
Classes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint64]


@functools.cache
def library() -> ctypes.CDLL | None:
    """The compiled loops; None if there is no compiler that can build them."""
    loops = built("texts", SOURCES)
    if loops is not None:
        loops.number_words.restype = ctypes.c_int64
    return loops


def call(name: str, *arguments: npt.NDArray[np.generic] | bytes | int | ctypes.Structure) -> int:
    """Runs a loop; an array is passed as the address of its numbers, a structure as its own."""
    loops = library()
    assert loops is not None
    return int(getattr(loops, name)(*map(_argument, arguments)) or 0)


def _argument(value: npt.NDArray[np.generic] | bytes | int | ctypes.Structure) -> object:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, ctypes.Structure):
        return ctypes.byref(value)
    return ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_char_p(value)


def count_classes(codes: Codes, texts: int, table: Classes) -> Counts:
    """How many characters of each text have each bit: texts, CLASSES."""
    if library() is None:
        return count_classes_plainly(codes, texts, table)
    counts = np.zeros((texts, CLASSES), dtype=np.int64)
    call("count_classes", codes, len(codes), table, counts)
    return counts


def count_classes_plainly(codes: Codes, texts: int, table: Classes) -> Counts:
    """The readable twin of `count_classes`."""
    bits = np.unpackbits(table[codes][:, None], axis=1, bitorder="little")
    return np.add.reduceat(bits, _starts(codes, texts), axis=0, dtype=np.int64)


def see_kinds(codes: Codes, texts: int, table: Kinds) -> Kinds:
    """The bits that any character of each text has."""
    if library() is None:
        return see_kinds_plainly(codes, texts, table)
    seen = np.empty(texts, dtype=np.uint16)
    call("see_kinds", codes, len(codes), table, seen)
    return seen


def see_kinds_plainly(codes: Codes, texts: int, table: Kinds) -> Kinds:
    """The readable twin of `see_kinds`."""
    return np.bitwise_or.reduceat(table[codes], _starts(codes, texts))


def see_pairs(
    codes: Codes, texts: int, table: Kinds, first: int, second: int
) -> npt.NDArray[np.bool_]:
    """Which texts have a character with a bit of `first` before one with a bit of `second`."""
    if library() is None:
        return see_pairs_plainly(codes, texts, table, first, second)
    seen = np.empty(texts, dtype=np.bool_)
    call("see_pairs", codes, len(codes), table, first, second, seen)
    return seen


def see_pairs_plainly(
    codes: Codes, texts: int, table: Kinds, first: int, second: int
) -> npt.NDArray[np.bool_]:
    """The readable twin of `see_pairs`; a line break has none of the bits."""
    kinds = table[codes]
    both = (kinds & np.uint16(first) != 0) & (np.append(kinds[1:], 0) & np.uint16(second) != 0)
    return np.logical_or.reduceat(both, _starts(codes, texts))


def measure_runs(codes: Codes, texts: int, table: Kinds, bits: int) -> Counts:
    """The most characters in a row of each text that have none of these bits, which a line break
    has.
    """
    if library() is None:
        return measure_runs_plainly(codes, texts, table, bits)
    longest = np.empty(texts, dtype=np.int64)
    call("measure_runs", codes, len(codes), table, bits, longest)
    return longest


def measure_runs_plainly(codes: Codes, texts: int, table: Kinds, bits: int) -> Counts:
    """The readable twin of `measure_runs`."""
    breaks = np.flatnonzero(table[codes] & np.uint16(bits))
    runs = np.diff(breaks, prepend=-1) - 1
    first = np.searchsorted(breaks, _starts(codes, texts))
    return np.maximum.reduceat(runs, first)


def digest_texts(texts: bytes, count: int) -> Hashes:
    """BLAKE2b of each text, in 64 bits.

    Args:
        texts: UTF-8, each text with its line break.
    """
    if library() is None:
        return digest_texts_plainly(texts)
    digests = np.empty(count, dtype=np.uint64)
    call("digest_texts", texts, len(texts), digests)
    return digests


def digest_texts_plainly(texts: bytes) -> Hashes:
    """The readable twin of `digest_texts`."""
    digests = (hashlib.blake2b(text, digest_size=8).digest() for text in texts.split(b"\n")[:-1])
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _starts(codes: Codes, texts: int) -> Counts:
    """Where each text begins."""
    return np.concatenate([[0], np.flatnonzero(codes == ENDING)[: texts - 1] + 1])


class _Words(ctypes.Structure):
    """`Words` of texts.c."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("slots", "hashes", "ends", "pool")),
        *((name, ctypes.c_int64) for name in ("slot_count", "word_room", "pool_room", "known")),
    )


class WordTable:
    """The numbers of words, from 0 in the order in which they are first seen.

    A word is what spaces and line breaks separate. The readable twin is the dict of
    `jumok.data.word_ids`.
    """

    def __init__(self) -> None:
        self._structure = _Words(None, None, None, None, 0, 0, 0, 0)
        self._hashes, self._ends = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        self._pool = np.zeros(0, np.uint8)
        self._enlarge(1 << 12)

    def __len__(self) -> int:
        return int(self._structure.known)

    def numbers(self, texts: bytes, count: int) -> tuple[npt.NDArray[np.int32], Counts]:
        """The numbers of all words of the texts, and how many words each text has; new words are
        added.

        Args:
            texts: UTF-8, each text with its line break, and BEHIND.
        """
        size = len(texts) - len(BEHIND)
        spaces = texts.count(b" ")
        numbers, counts = np.empty(spaces + count, np.int32), np.empty(count, np.int64)
        done = words = read = 0
        whole = np.frombuffer(texts, np.uint8)
        while done < size:
            rest = whole[done:], size - done, self._structure, numbers[words:], counts[read:]
            step = call("number_words", *rest)
            read += texts.count(b"\n", done, done + step)
            done, words = done + step, int(counts[:read].sum())
            if done < size:
                self._enlarge(2 * len(self._hashes))
        return numbers, counts

    def words(self, first: int) -> list[str]:
        """The words from this number on."""
        ends = [0, *self._ends[: len(self)].tolist()]
        whole = self._pool.tobytes() if first < len(self) else b""
        bounds = zip(ends[first:-1], ends[first + 1 :], strict=True)
        return [whole[begin:end].decode() for begin, end in bounds]

    def count_known(self, codes: Codes, texts: int, lower: Codes) -> Counts:
        """How many words each text has, how many different words of this table are among them, and
        how many characters have a lower case that depends on others: texts, 3.

        Args:
            lower: what each code point becomes; 0: a space; 0xFFFFFFFF: it depends.
        """
        counts = np.zeros((texts, 3), dtype=np.int64)
        latest = np.full(len(self), -1, dtype=np.int64)
        call("count_known", codes, len(codes), lower, self._structure, latest, counts)
        return counts

    def _enlarge(self, room: int) -> None:
        """Makes room for so many words, and sixteen bytes of each."""
        self._hashes = np.resize(self._hashes, room)
        self._ends = np.resize(self._ends, room)
        self._pool = np.resize(self._pool, 16 * room)
        self._slots = np.zeros(4 * room, dtype=np.int32)
        arrays = self._slots, self._hashes, self._ends, self._pool
        places = [array.ctypes.data for array in arrays]
        self._structure = _Words(*places, 4 * room, room, 16 * room, len(self))
        call("place_words", self._structure)
