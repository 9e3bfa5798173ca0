"""The characters of many texts as one array, so that rules about them are sums over it."""

import functools
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.bool_]
"""One truth value a pair of the batch."""
Counts = npt.NDArray[np.int64]

LETTER, DIGIT, SPACE, MARK, ADDRESS, DAMAGE, FOREIGN = (np.uint16(1 << bit) for bit in range(7))
"""Kinds of characters, one bit each.

MARK: < and &, without which there is no markup; ADDRESS: @ and /, without which there is no
address; DAMAGE: characters that only damaged text has; FOREIGN: those with which UTF-8 begins
that was decoded as Latin-1 or Windows-1252.
"""
ENDING = 10  # the line break after each text
SMALL = 0x20000  # code points with a table; beyond are only rare Han, and no other script
_OF_NAMES = {"CJK": "HAN", "KANGXI": "HAN", "HIRAGANA": "KANA", "KATAKANA": "KANA"}
_WIDTHS = ("FULLWIDTH", "HALFWIDTH")


@functools.cache
def _kinds() -> npt.NDArray[np.uint16]:
    """The kinds of every code point."""
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
        table[[ord(each) for each in characters]] |= kind
    table[0xC2:0xF5] |= FOREIGN
    return table


@functools.cache
def scripts() -> tuple[npt.NDArray[np.uint8], dict[str, int]]:
    """The number of the script of every code point, 0 for what is no letter; the scripts' numbers.

    A letter's name in Unicode begins with its script: HANGUL SYLLABLE GA.
    """
    table = np.zeros(0x110000, dtype=np.uint8)
    numbers = {"": 0, "HAN": 1}
    for code in np.flatnonzero(_kinds()[:SMALL] & LETTER).tolist():
        words = unicodedata.name(chr(code), "").split()
        words = words[1:] if words and words[0] in _WIDTHS else words
        name = words[0] if words else ""
        if name == "COMBINING" or "MODIFIER" in words[:2] or "INDICATOR" in words[:2]:
            continue  # it belongs to every script
        table[code] = numbers.setdefault(_OF_NAMES.get(name, name), min(len(numbers), 255))
    table[SMALL:0x40000] = numbers["HAN"]
    return table, numbers


@dataclass(frozen=True)
class Side:
    """The texts of one side of a batch, with their characters one after another.

    Attributes:
        codes: the code points, with a line break after every text.
        starts: where each text begins in `codes`.
        lengths: of the texts, in characters.
        kinds: of each of `codes`, as bits.
    """

    texts: Sequence[str]
    codes: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.int64]
    lengths: Counts
    kinds: npt.NDArray[np.uint16]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Side":
        """That of at least one text; none has a line break."""
        joined = ("\n".join(texts) + "\n").encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(joined, dtype=np.uint32)
        ends = np.flatnonzero(codes == ENDING)
        starts = np.concatenate([[0], ends[:-1] + 1])
        return cls(texts, codes, starts, ends - starts, _kinds()[codes])

    def counts(self, of: npt.NDArray[np.bool_]) -> Counts:
        """How many of each text's characters are True in `of`, which has one value a character."""
        return np.add.reduceat(of, self.starts, dtype=np.int64)

    def number(self, kind: np.uint16) -> Counts:
        """How many characters of this kind each text has."""
        return self.counts((self.kinds & kind) != 0)

    def having(self, kind: np.uint16) -> Rows:
        """Which texts have a character of this kind."""
        return (np.bitwise_or.reduceat(self.kinds, self.starts) & kind) != 0

    def those(self, candidates: Rows, test: Callable[[str], bool]) -> Rows:
        """Which of the candidates pass a test, which is made for these alone."""
        found = np.zeros(len(self.texts), dtype=np.bool_)
        for row in np.flatnonzero(candidates).tolist():
            found[row] = test(self.texts[row])
        return found


@dataclass(frozen=True)
class BothSides:
    """Some pairs, one after another in their corpus, with what rules ask about both sides."""

    source: Side
    target: Side

    @classmethod
    def of(cls, sources: Sequence[str], targets: Sequence[str]) -> "BothSides":
        """That of pairs whose texts hold no line breaks, as readers give them."""
        return cls(Side.of(sources), Side.of(targets))

    def __len__(self) -> int:
        return len(self.source.texts)

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.source, self.target

    def either(self, test: Callable[[Side], Rows]) -> Rows:
        """Which pairs have a side that passes the test."""
        return test(self.source) | test(self.target)
