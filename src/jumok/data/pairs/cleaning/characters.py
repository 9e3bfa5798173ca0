"""The characters of many texts as one array, so that rules about them are sums over it."""

import functools
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from jumok.kernels import texts as loops
from jumok.kernels.texts import ENDING, Counts

Rows = npt.NDArray[np.bool_]
"""One truth value a pair of the batch."""

LETTER, DIGIT, SPACE, MARK, ADDRESS, DAMAGE, FOREIGN, REST, UNSPACED = (
    np.uint16(1 << bit) for bit in range(9)
)
"""Kinds of characters, one bit each.

MARK: < and &, without which there is no markup; ADDRESS: @ and /, without which there is no
address; DAMAGE: characters that only damaged text has; FOREIGN: those with which UTF-8 begins
that was decoded as Latin-1 or Windows-1252; REST: what its further bytes became; UNSPACED: letters
of scripts without spaces between words.
"""
WINDOWS_1252 = "€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
"""What bytes 80 to 9F are in Windows-1252."""
_UNSPACED = ("HAN", "KANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
SMALL = 0x20000  # code points with a table; beyond are only rare Han, and no other script
_OF_NAMES = {"CJK": "HAN", "KANGXI": "HAN", "HIRAGANA": "KANA", "KATAKANA": "KANA"}
_WIDTHS = ("FULLWIDTH", "HALFWIDTH")


@functools.cache
def kinds() -> npt.NDArray[np.uint16]:
    """The kinds of every code point."""
    table = _kinds_but_unspaced()
    of, numbers = scripts()
    table[np.isin(of, [numbers[name] for name in _UNSPACED])] |= UNSPACED
    return table


def _kinds_but_unspaced() -> npt.NDArray[np.uint16]:
    """The same without UNSPACED, which takes the scripts of letters."""
    table = np.zeros(0x110000, dtype=np.uint16)
    for code in range(SMALL):
        category = unicodedata.category(chr(code))
        if category[0] in "LM":
            table[code] |= LETTER
        elif category == "Nd":
            table[code] |= DIGIT
        elif category[0] == "Z":
            table[code] |= SPACE
        elif category in ("Co", "Cs") or (category == "Cc" and code >= 0x20):
            table[code] |= DAMAGE
    table[SMALL:0x40000] = LETTER
    table[0xF0000:] = DAMAGE  # the further private use areas
    table[[0xFFFD, 0xFFFE, 0xFFFF]] = DAMAGE
    table[[9, ENDING]] = SPACE
    for kind, characters in ((MARK, "<&"), (ADDRESS, "@/")):
        table[[ord(character) for character in characters]] |= kind
    table[0xC2:0xF5] |= FOREIGN
    table[0x80:0xC0] |= REST
    table[[ord(character) for character in WINDOWS_1252]] |= REST
    return table


@functools.cache
def scripts() -> tuple[npt.NDArray[np.uint8], dict[str, int]]:
    """The number of the script of every code point, 0 for what is no letter; their numbers."""
    table = np.zeros(0x110000, dtype=np.uint8)
    numbers = {"": 0, "HAN": 1}
    for code in np.flatnonzero(_kinds_but_unspaced()[:SMALL] & LETTER).tolist():
        table[code] = numbers.setdefault(script_of(chr(code)), min(len(numbers), 255))
    table[SMALL:0x40000] = numbers["HAN"]
    return table, numbers


def script_of(letter: str) -> str:
    """The script of a letter, with which its name in Unicode begins: HANGUL SYLLABLE GA.

    "" for what belongs to every script.
    """
    if letter >= chr(SMALL):
        return "HAN"
    words = unicodedata.name(letter, "").split()
    words = words[1:] if words and words[0] in _WIDTHS else words
    name = words[0] if words else ""
    if name == "COMBINING" or "MODIFIER" in words[:2] or "INDICATOR" in words[:2]:
        return ""
    return _OF_NAMES.get(name, name)


_SCRIPTED, _LONG_LETTER, _LONGER = (np.uint8(1 << bit) for bit in (3, 4, 5))


@functools.cache
def _classes() -> npt.NDArray[np.uint8]:
    """LETTER, DIGIT and SPACE; letters of a script; long letters; characters of three bytes."""
    table = (kinds() & (LETTER | DIGIT | SPACE)).astype(np.uint8)
    table[scripts()[0] != 0] |= _SCRIPTED
    table[0x80:][(table[0x80:] & LETTER) != 0] |= _LONG_LETTER
    table[0x800:] |= _LONGER
    return table


@functools.cache
def _of_scripts(names: tuple[str, ...]) -> npt.NDArray[np.uint8]:
    of, numbers = scripts()
    return np.isin(of, [numbers[name] for name in names]).astype(np.uint8)


@dataclass(frozen=True)
class BatchSide:
    """The texts of one side of a batch, with their characters one after another.

    Attributes:
        codes: the code points, with a line break after every text.
        starts: where each text begins in `codes`.
        lengths: in characters.
    """

    texts: Sequence[str]
    codes: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.int64]
    lengths: Counts

    @classmethod
    def of(cls, texts: Sequence[str]) -> "BatchSide":
        """Of at least one text; none has a line break."""
        joined = ("\n".join(texts) + "\n").encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(joined, dtype=np.uint32)
        ends = np.flatnonzero(codes == ENDING)
        starts = np.concatenate([[0], ends[:-1] + 1])
        return cls(texts, codes, starts, ends - starts)

    @cached_property
    def _counts(self) -> Counts:
        """Characters of each class of `_classes`: texts, classes."""
        return loops.count_classes(self.codes, len(self.texts), _classes())

    @cached_property
    def _seen(self) -> npt.NDArray[np.uint16]:
        """The kinds of all characters of each text."""
        return loops.see_kinds(self.codes, len(self.texts), kinds())

    def number(self, kind: np.uint16) -> Counts:
        """How many characters of this kind each text has: LETTER, DIGIT or SPACE."""
        return self._counts[:, int(kind).bit_length() - 1]

    def having(self, kind: np.uint16) -> Rows:
        return (self._seen & kind) != 0

    def having_before(self, kind: np.uint16, next_: np.uint16) -> Rows:
        """Which texts have a character of one kind right before one of the next."""
        return loops.see_pairs(self.codes, len(self.texts), kinds(), int(kind), int(next_))

    def longest_without(self, kind: np.uint16) -> Counts:
        """The most characters in a row of each text that are of none of these kinds."""
        return loops.measure_runs(self.codes, len(self.texts), kinds(), int(kind))

    def letters(self) -> Counts:
        """How many letters of each text are of some script: no marks that all scripts share."""
        return self._counts[:, 3]

    def letters_of(self, names: tuple[str, ...]) -> Counts:
        return loops.count_classes(self.codes, len(self.texts), _of_scripts(names))[:, 0]

    def size_of_letters(self) -> Counts:
        """The bytes of each text's letters in UTF-8; every character of three counts one more."""
        return self._counts[:, [0, 4, 5]].sum(axis=1)

    def those(self, candidates: Rows, test: Callable[[str], bool]) -> Rows:
        """Which of the candidates pass a test, which is made for these alone."""
        passes = np.zeros(len(self.texts), dtype=np.bool_)
        for row in np.flatnonzero(candidates).tolist():
            passes[row] = test(self.texts[row])
        return passes


@dataclass(frozen=True)
class BothSides:
    """Some pairs, one after another in their corpus."""

    source: BatchSide
    target: BatchSide

    @classmethod
    def of(cls, sources: Sequence[str], targets: Sequence[str]) -> "BothSides":
        return cls(BatchSide.of(sources), BatchSide.of(targets))

    def __len__(self) -> int:
        return len(self.source.texts)

    @property
    def sides(self) -> tuple[BatchSide, BatchSide]:
        return self.source, self.target

    def either(self, test: Callable[[BatchSide], Rows]) -> Rows:
        return test(self.source) | test(self.target)
