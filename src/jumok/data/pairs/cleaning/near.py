"""Nearly repeated pairs: MinHash with locality-sensitive hashing, over four characters in a row.

The signature of a pair is the minimum of each of SIGNATURE hash functions over all runs of four
letters or digits of both sides, without case. The share of functions on which two pairs agree
estimates the share of runs that they have in common (Broder 1997). Pairs are compared that agree on
all functions of a band (Leskovec, Rajaraman and Ullman, chapter 3), by the lowest four bits of each
function (Li and König 2010).
"""

import functools

import numpy as np
import numpy.typing as npt

from jumok.data.pairs.cleaning.characters import DIGIT, LETTER, BatchSide, kinds
from jumok.data.pairs.cleaning.duplicates import HashKeys, SeenKeys
from jumok.kernels import texts as loops

RUN_LENGTH = 4
BANDS, BAND = 4, 4
SIGNATURE = BANDS * BAND
CHANCE = 1 / 16  # that four bits of different minima are the same

Signatures = npt.NDArray[np.uint32]

_NUMBERS = np.random.default_rng(20_261_123)  # the hash functions are the same everywhere
_FACTORS = _NUMBERS.integers(0, 1 << 31, SIGNATURE, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
_ADDENDS = _NUMBERS.integers(0, 1 << 32, SIGNATURE, dtype=np.uint32)
_PLACES = _NUMBERS.integers(0, 1 << 63, max(RUN_LENGTH, BAND), dtype=np.uint64) * np.uint64(
    2
) + np.uint64(1)
_MIX = np.uint64(0xBF58476D1CE4E5B9)  # of splitmix64
_ONES = np.uint64(0x1111111111111111)


@functools.cache
def _folded() -> npt.NDArray[np.uint32]:
    """The lower case of each code point; 0: it does not count."""
    table = np.arange(0x110000, dtype=np.uint32)
    for code in range(0x20000):
        lower = chr(code).lower()
        table[code] = ord(lower) if len(lower) == 1 else code
    table[(kinds() & (LETTER | DIGIT)) == 0] = 0
    return table


def signatures(*sides: BatchSide) -> Signatures:
    """The signature of each pair, or of each text of one side: rows, hash functions."""
    if loops.library() is None:
        return signatures_plainly(*sides)
    minima = np.full((len(sides[0].texts), SIGNATURE), 0xFFFFFFFF, dtype=np.uint32)
    for salt, side in enumerate(sides, start=1):
        codes = side.codes, len(side.codes), _folded()
        loops.call("sign_texts", *codes, salt, _PLACES, _FACTORS, _ADDENDS, minima)
    return minima


def signatures_plainly(*sides: BatchSide) -> Signatures:
    """The readable twin of `signatures`."""
    hashed = [_runs(side, np.uint64(salt)) for salt, side in enumerate(sides, start=1)]
    minima = np.empty((len(sides[0].texts), SIGNATURE), dtype=np.uint32)
    for column, (factor, addend) in enumerate(zip(_FACTORS, _ADDENDS, strict=True)):
        of_sides = [
            np.minimum.reduceat(runs * factor + addend, bounds)[::2] for runs, bounds in hashed
        ]
        minima[:, column] = np.minimum.reduce(of_sides)
    return minima


def _runs(side: BatchSide, salt: np.uint64) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """A hash of the run at each character that counts, and where those of each text are."""
    # After every text come zeros: no run reaches into the next text, and a short text has one, too.
    folded = _folded()[side.codes]
    counts = folded != 0
    lengths = np.add.reduceat(counts, side.starts, dtype=np.int64)
    ends = np.cumsum(lengths + RUN_LENGTH)
    starts = ends - lengths - RUN_LENGTH
    codes = np.zeros(int(ends[-1]), dtype=np.uint64)
    real = np.flatnonzero(counts)
    text = np.repeat(np.arange(len(lengths)), lengths)
    codes[np.arange(len(real)) + text * RUN_LENGTH] = folded[real]
    hashes = np.full(len(codes), salt, dtype=np.uint64)
    for place, factor in enumerate(_PLACES[:RUN_LENGTH]):
        hashes[: len(codes) - place] += codes[place:] * factor
    hashes ^= hashes >> np.uint64(29)
    hashes *= _MIX
    bounds = np.stack([starts, starts + np.maximum(lengths, 1)], axis=1).ravel()
    return (hashes >> np.uint64(32)).astype(np.uint32), bounds


def bands(of: Signatures) -> HashKeys:
    """A key for each band of a signature: rows, bands. Never 0."""
    parts = of.reshape(len(of), BANDS, BAND).astype(np.uint64)
    keys = (parts * _PLACES[:BAND]).sum(axis=2, dtype=np.uint64)
    keys ^= keys >> np.uint64(31)
    return np.maximum(keys * _MIX, np.uint64(1))


def sketches(of: Signatures) -> HashKeys:
    """The lowest four bits of each hash function in one number of 64 bits."""
    shifts = np.arange(SIGNATURE, dtype=np.uint64) * np.uint64(4)
    return ((of.astype(np.uint64) & np.uint64(15)) << shifts).sum(axis=1, dtype=np.uint64)


def likeness(one: HashKeys, other: HashKeys) -> npt.NDArray[np.float64]:
    """The share of runs that pairs have in common, estimated from their sketches: 0 to 1."""
    differ = one ^ other
    differ |= differ >> np.uint64(2)
    differ |= differ >> np.uint64(1)
    fours = differ & _ONES
    eights = (fours + (fours >> np.uint64(4))) & np.uint64(0x0303030303030303)
    same = SIGNATURE - ((eights * np.uint64(0x0101010101010101)) >> np.uint64(56)).astype(np.int64)
    return np.maximum((same / SIGNATURE - CHANCE) / (1 - CHANCE), 0.0)


class SeenSignatures:
    """The first pair of each band, against which later pairs are compared; 8 bytes a pair, and one
    entry of `SeenKeys` for each band.
    """

    def __init__(self) -> None:
        self._bands = [SeenKeys() for _ in range(BANDS)]
        self._sketches = np.zeros(1 << 16, dtype=np.uint64)
        self._read = 0

    def repeated(self, of: Signatures, least: float) -> npt.NDArray[np.bool_]:
        """Which of the next pairs have at least this share of runs in common with an earlier."""
        rows = np.arange(self._read, self._read + len(of))
        self._read += len(of)
        if self._read > len(self._sketches):
            self._sketches = np.resize(self._sketches, max(2 * len(self._sketches), self._read))
        self._sketches[rows] = sketched = sketches(of)
        near = np.zeros(len(of), dtype=np.bool_)
        for seen, keys in zip(self._bands, bands(of).T, strict=True):
            first = seen.first(keys)
            near |= (first < rows) & (likeness(sketched, self._sketches[first]) >= least)
        return near
