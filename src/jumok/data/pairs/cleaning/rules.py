"""Rules of single pairs: pure functions from a batch to the pairs that break them."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from jumok.data.pairs.cleaning.characters import (
    ADDRESS,
    DAMAGE,
    DIGIT,
    FOREIGN,
    LETTER,
    MARK,
    REST,
    SPACE,
    UNSPACED,
    WINDOWS_1252,
    BatchSide,
    BothSides,
    Rows,
)

_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|&(?:[A-Za-z]{2,8}|#x?[0-9A-Fa-f]{1,6});")
_ADDRESS = re.compile(r"(?:https?|ftp)://\S+|www\.\S+|(?<!\S)\S[^\s@]*+@\S+\.\w+")
_NUMBER = re.compile(r"\d+(?:[.,' \u00a0\u202f]\d{3})*(?:[.,]\d+)?")
# UTF-8 that was decoded as Latin-1 or Windows-1252: a first byte, then what bytes 80 to BF become
# in one of them. Quotes and dashes follow letters such as ß in correct text, so they do not count
# after the first byte of two.
_REST = f"\u0080-\u00bf{WINDOWS_1252}"
_REST_OF_TWO = "\u0080-\u009f\u00a1-\u00aa\u00ac-\u00ba\u00bc-\u00bf€ƒ†‡ˆ‰ŠŒŽ•˜™šœžŸ"
_MOJIBAKE = re.compile(
    f"[\u00c2-\u00df][{_REST_OF_TWO}]|[\u00e0-\u00ef][{_REST}]{{2}}|[\u00f0-\u00f4][{_REST}]{{3}}"
)
Lengths = npt.NDArray[np.int64]

SHORT = 10  # characters by which the lengths of a pair may always differ
FEW_LETTERS = 5  # in a text with fewer, their share means nothing


def equal(batch: BothSides) -> Rows:
    """Both sides are the same text, in letters: numbers are the same in every language."""
    same = (one == other for one, other in zip(batch.source.texts, batch.target.texts, strict=True))
    return np.fromiter(same, dtype=np.bool_, count=len(batch)) & batch.source.having(LETTER)


def too_long(batch: BothSides, most: float) -> Rows:
    """A side has more than `most` characters."""
    return batch.either(lambda side: side.lengths > most)


def unequal_lengths(batch: BothSides, most: float, ratio: float) -> Rows:
    """A side is more than `most` times as long as the other one suggests; `ratio` is the usual
    length of a source, divided by that of its target.
    """
    return differing_lengths(batch.source.lengths, batch.target.lengths, most, ratio) != 0


def differing_lengths(source: Lengths, target: Lengths, most: float, ratio: float) -> Lengths:
    """1 where a target is too long for its source, -1 where it is too short, otherwise 0; the
    arguments are as in `unequal_lengths`.
    """
    expected = target * ratio
    shorter, longer = np.minimum(source, expected), np.maximum(source, expected)
    unequal = (longer > most * shorter) & (longer - shorter > SHORT * max(ratio, 1.0))
    return np.sign(expected - source).astype(np.int64) * unequal


def few_letters(batch: BothSides, least: float) -> Rows:
    """Less than this share of a side's characters, spaces aside, are letters or digits."""

    def test(side: BatchSide) -> Rows:
        seen = side.lengths - side.number(SPACE) + 1  # the line break is a space, too
        counted = side.number(LETTER) + side.number(DIGIT)
        return (counted < least * seen) & (seen >= FEW_LETTERS)

    return batch.either(test)


def other_script(side: BatchSide, own: Sequence[str], least: float) -> Rows:
    """Less than this share of the letters are of these scripts or Latin, as names and units are."""
    letters = side.letters()
    return (side.letters_of(("LATIN", *own)) < least * letters) & (letters > 0)


def markup(batch: BothSides) -> Rows:
    """A side has a tag or an entity: <b>, &amp;."""
    return batch.either(
        lambda side: side.those(side.having(MARK), lambda text: bool(_MARKUP.search(text)))
    )


def addresses(batch: BothSides, most: float) -> Rows:
    """More than this share of a side's characters are addresses of pages or mail."""

    def test(text: str) -> bool:
        return sum(len(address) for address in _ADDRESS.findall(text)) > most * len(text)

    return batch.either(lambda side: side.those(side.having(ADDRESS), test))


def long_words(batch: BothSides, most: float) -> Rows:
    """A side has more than this many letters in one word, in scripts with spaces between words."""
    return batch.either(lambda side: side.longest_without(SPACE | UNSPACED) > most)


def broken_encoding(batch: BothSides) -> Rows:
    """A side has characters that only damaged text has, or UTF-8 decoded as something else."""

    def test(side: BatchSide) -> Rows:
        candidates = side.having_before(FOREIGN, REST)
        wrong = side.those(candidates, lambda text: bool(_MOJIBAKE.search(text)))
        return side.having(DAMAGE) | wrong

    return batch.either(test)


def unbalanced_numbers(batch: BothSides, most: float) -> Rows:
    """More than this many numbers of two or more digits are on one side only.

    Separators are left out, since 1,234.5 is 1.234,5 elsewhere; a number of one digit is often
    written as a word.
    """
    sides = batch.source, batch.target
    candidates = batch.either(lambda side: side.having(DIGIT))
    unbalanced = np.zeros(len(batch), dtype=np.bool_)
    for row in np.flatnonzero(candidates).tolist():
        one, other = (_long_numbers(side.texts[row]) for side in sides)
        unbalanced[row] = one != other and _difference(one, other) > most
    return unbalanced


def _long_numbers(text: str) -> list[str]:
    """The digits of each number of two or more, except the 00 of a time."""
    bare = ("".join(filter(str.isdigit, digits)) for digits in _NUMBER.findall(text))
    return sorted(digits for digits in bare if len(digits) > 1 and digits != "00")


def _difference(one: list[str], other: list[str]) -> int:
    """How many of one list are not in the other, whichever lacks more."""
    lacking = list(other)
    for number in one:
        if number in lacking:
            lacking.remove(number)
    return max(len(lacking), len(one) - (len(other) - len(lacking)))


def usual_ratio(lengths: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]) -> float:
    """The median of the sources' lengths divided by their targets', in characters; 1 for none."""
    source, target = lengths
    real = (source > 0) & (target > 0)
    return float(np.median(source[real] / target[real])) if real.any() else 1.0
