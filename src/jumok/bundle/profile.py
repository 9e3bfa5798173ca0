"""What the training data of a translator looked like, as far as a translation can be judged by it.

A text with character n-grams that no source of the training data had is one that the model cannot
know: another language or topic, or a word with a typing error. A new word whose n-grams all occur
in other words goes unnoticed.
"""

import base64
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from jumok.bundle.confidence import ALL_KNOWN

LENGTH = 4
"""Characters of an n-gram, decomposed: an accent is one, and each part of a Hangul syllable."""

SEEN = 3
"""An n-gram of the training data counts from this number on: rarer ones are often errors."""

MOST_GRAMS = 2**15
BITS_PER_GRAM = 8  # of the hash table; an unknown n-gram counts as known in one of eight cases
FACTORS = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F], np.uint32)
DIGITS = str.maketrans("123456789", "0" * 9)


@dataclass(frozen=True)
class Profile:
    """The source texts and the lengths of a translator's training data.

    Attributes:
        grams: a bit for each hash of an n-gram that was seen, as base64; the number of bits is a
            power of two.
        unseen: no more of the n-grams of usual texts are unknown, 0 to 1.
        ratio: the usual length of a source in characters, divided by that of its target.
        cases: the letter cases in which sources are often written, besides the usual one: "title"
            and "small" (`jumok.systems.translation.kept.letter_case`).
    """

    __pydantic_config__: ClassVar[dict[str, str]] = ALL_KNOWN

    grams: str
    unseen: float
    ratio: float
    cases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        bits = 8 * len(base64.b64decode(self.grams, validate=True))
        if bits & (bits - 1) or not bits or not self.ratio > 0.0:
            raise ValueError("needs a table of a power of two of bits, and a ratio above 0")

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        usual: Sequence[str],
        ratio: float,
        cases: tuple[str, ...] = (),
    ) -> "Profile":
        """That of the training data with these sources.

        Args:
            usual: sources that the model was not trained on.
            ratio, cases: as the attributes.
        """
        hashes, _ = _hashes([_plain(text) for text in texts])
        seen, counts = np.unique(hashes, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:MOST_GRAMS]
        kept = seen[order][counts[order] >= SEEN]
        bits = 8
        while bits < BITS_PER_GRAM * len(kept):
            bits *= 2
        table = np.zeros(bits, np.bool_)
        table[kept >> np.uint32(33 - bits.bit_length())] = True
        grams = base64.b64encode(np.packbits(table).tobytes()).decode()
        shares = cls(grams, 1.0, ratio).unknown(usual)
        return cls(grams, round(float(np.quantile(shares, 0.99)), 4), round(ratio, 4), cases)

    @cached_property
    def _table(self) -> npt.NDArray[np.bool_]:
        return np.unpackbits(np.frombuffer(base64.b64decode(self.grams), np.uint8)).view(np.bool_)

    def unknown(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """The share of each text's n-grams that no source of the training data had, 0 to 1."""
        missing, sizes = self._missing([_plain(text) for text in texts])
        return missing / np.maximum(sizes, 1)

    def unknown_words(self, words: Sequence[str]) -> tuple[int, ...]:
        """The indices of the words with an n-gram that no source of the training data had.

        The signs around a word and the space after it do not count: words are at the ends of
        sentences that were never there in the training data.
        """
        plain = [_plain(stripped(word))[:-1] for word in words]
        missing, _ = self._missing(plain)
        lettered = np.array([any(map(str.isalpha, word)) for word in words], np.bool_)
        return tuple(np.flatnonzero((missing > 0) & lettered).tolist())

    def _missing(self, plain: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """How many of each text's n-grams are not in the table, and how many it has."""
        hashes, sizes = _hashes(plain)
        known = self._table[hashes >> np.uint32(33 - len(self._table).bit_length())]
        rows = np.repeat(np.arange(len(sizes)), sizes)
        return np.bincount(rows[~known], minlength=len(sizes)), sizes


def stripped(word: str) -> str:
    """A word without the signs around it."""
    kept = [place for place, sign in enumerate(word) if sign.isalnum()]
    return word[kept[0] : kept[-1] + 1] if kept else ""


def _hashes(plain: Sequence[str]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """The hashes of all n-grams of `_plain` texts one after another, and the number of each's."""
    sizes = np.fromiter((max(len(each) - LENGTH + 1, 0) for each in plain), np.int64, len(plain))
    codes = np.frombuffer("".join(plain).encode("utf-32-le", "surrogatepass"), np.uint32)
    if len(codes) < LENGTH:
        return np.zeros(0, np.uint32), sizes
    windows = len(codes) - LENGTH + 1
    hashes = np.zeros(windows, np.uint32)
    for place, factor in enumerate(FACTORS):
        hashes = (hashes ^ codes[place : place + windows]) * factor
        hashes ^= hashes >> np.uint32(15)
    lengths = np.fromiter(map(len, plain), np.int64, len(plain))
    starts = np.repeat(np.cumsum(lengths) - lengths, sizes)
    within = np.arange(len(starts)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return hashes[starts + within], sizes


def _plain(text: str) -> str:
    """Between spaces, without capitals; all digits are alike."""
    return f" {unicodedata.normalize('NFKD', text.casefold()).translate(DIGITS)} "
