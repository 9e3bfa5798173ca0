"""Segments in capitals, in Title Case, or without a capital, read in the case of usual sentences.

A word in capitals is another word to a model, and one in as many subwords as letters. So such a
segment is read in small letters, but for words of which the tokenizer has fewer subwords otherwise:
names, the nouns of German, acronyms. The translation stays a usual sentence; kept strings stay as
they are.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from jumok.data.tokenizer import Tokenizer
from jumok.systems.translation.kept.keeping import Keep, Kept
from jumok.systems.translation.sentences import Span, language_code

FEWEST_CASED = 3  # of a segment in another case; of capitals one word is enough, if it is long
LONG_ENOUGH = 5  # letters: a shorter one alone may be an acronym
SMALL_WORD = 3  # letters of words that English titles write small

KNOWN_SHARE = 0.001  # of the training sources in a style, from which on the model knows it
ENOUGH = 10_000  # of them, to tell
_SPACED_WORD = re.compile("[^ ]+")
_FIRST = re.compile(r"[^\W_]")
_OPENING_WORD = re.compile(r"[\"'“”„«‘’¿¡(]*([^\W\d_])(?:[^\W\d_]|['’-])*+(?![\w.(/@]\w)(?!\()")
"""The word that a text begins with, if it is no code, such as shutil.copy or print()."""

_I = re.compile(r"[^\w']*i(?=['’,;:!?]|\.?\Z)")
_APOSTROPHE = re.compile("['’]")
_ENDS = re.compile(r"[.!?…][\"'”’»)\]]*\Z")
_DOTLESS = {"tr", "az"}  # their i and ı have capitals of their own
_SMALL_DOTS = str.maketrans("Iİ", "ıi")
_CAPITAL_DOTS = str.maketrans("iı", "İI")

Style = Literal["capitals", "title", "small"]


class Recased(NamedTuple):
    """A segment as it is read: as long as the given one, which had this style."""

    text: str
    style: Style


@dataclass(frozen=True)
class LetterCase:
    """The rule of a model.

    Attributes:
        tokenizer: tells which form of a word the training data had.
        keep: what stays as it is.
        source: the code of its language.
        usual: styles of the training data, in which sentences are left.
    """

    tokenizer: Tokenizer
    keep: Keep
    source: str
    usual: Collection[str] = ()

    def read(self, text: str, line: str) -> Recased | None:
        """The segment of a line in the case of usual sentences; None: it is in that already, or
        may be.
        """
        if not _may_differ(text):
            return None
        kept = self.keep.find(text)
        words = _words_between(text, kept)
        style = _style(text, words, line)
        if style is None or style in self.usual:
            return None
        read = list(text)
        for start, end in words if style != "small" else ():
            read[start:end] = self._usual(text[start:end])
        for start, end in words if language_code(self.source) == "en" else ():
            if at := _I.match("".join(read[start:end])):
                read[start + at.end() - 1] = "I"
        self._begin(read, text, kept)
        recased = "".join(read)
        own = ["".join(filter(str.isalpha, text[start:end])) for start, end in words]
        if recased == text or not self._is_sure(style, own, text, recased):
            return None
        return Recased(recased, style)

    def _usual(self, word: str) -> str:
        """The form with the fewest subwords; of equals that in small letters."""
        small = _small(word, self.source)
        first = _FIRST.search(small)
        if first is None or _letters(word) == 1:
            return small
        if not (word.isupper() or word[first.end() :].islower()):
            return word  # iPhone
        name = small[: first.start()] + word[first.start()] + small[first.end() :]
        sizes = self._size(small), self._size(name), self._size(word)
        # A short word in capitals may be an acronym that the vocabulary does not have.
        short = _letters(word) < LONG_ENOUGH and word.isupper() and not _APOSTROPHE.search(word)
        acronym = short and sizes[2] <= sizes[0]
        if acronym or sizes[2] < min(sizes[:2]):
            return word
        return name if sizes[1] < sizes[0] else small

    def _size(self, text: str) -> int:
        return len(self.tokenizer.encode(text))

    def _begin(self, read: list[str], text: str, kept: Sequence[Kept]) -> None:
        """Raises the letter that the text begins with, if the training data had capitals."""
        first = _OPENING_WORD.match(text)
        if first and self.tokenizer.has_capitals and not (kept and kept[0].start < first.end()):
            raised = _capital(read[first.start(1)], self.source)
            read[first.start(1)] = raised if len(raised) == 1 else read[first.start(1)]

    def _is_sure(self, style: Style, words: Sequence[str], text: str, recased: str) -> bool:
        """Whether its letters are not those of acronyms, names, or the nouns of German."""
        small = [_small(word, self.source) for word in words]
        sizes = list(map(self._size, small))
        if style == "title":
            changes = [self._size(word) - size for word, size in zip(words, sizes, strict=True)][1:]
            return 2 * sum(one > 0 for one in changes) > sum(one < 0 for one in changes)
        if style == "small":
            return True
        if len(words) == 1:
            return sizes[0] <= 1 + len(small[0]) // LONG_ENOUGH
        known = 2 * sum(size == 1 for size in sizes) > len(words)
        long = max(map(len, words)) >= LONG_ENOUGH
        return (known or long) and self._size(recased) < self._size(text)


def usual_styles(tokenizer: Tokenizer, texts: Sequence[str], language: str) -> tuple[Style, ...]:
    """The styles of a model's training sources that it knows; capitals are never known well."""
    rule = LetterCase(tokenizer, Keep(), language)
    some = texts[:: max(len(texts) // ENOUGH, 1)]
    counts = Counter(read.style for text in some if (read := rule.read(text, text)))
    del counts["capitals"]
    return tuple(style for style in sorted(counts) if counts[style] >= KNOWN_SHARE * len(some))


def _may_differ(text: str) -> bool:
    """Whether a text may have a style: most have capitals and longer words without one."""
    if text.islower():
        return True
    return not any(
        len(word) > SMALL_WORD and word.isalpha() and word.islower() for word in text.split()
    )


def _words_between(text: str, kept: Sequence[Kept]) -> list[Span]:
    """The spans of the words with letters that have no part in what is kept."""
    taken = bytearray(len(text))
    for one in kept:
        taken[one.start : one.end] = b"\1" * (one.end - one.start)
    spans = (match.span() for match in _SPACED_WORD.finditer(text))
    return [
        (start, end)
        for start, end in spans
        if not any(taken[start:end]) and _letters(text[start:end])
    ]


def _style(text: str, words: Sequence[Span], line: str) -> Style | None:
    if not words:
        return None
    own = [text[start:end] for start, end in words]
    joined = "".join(own)
    if any(unicodedata.category(letter) == "Lo" and letter not in "ªº" for letter in joined):
        return None  # a script without case; Latin capitals in it are acronyms
    if not any(map(str.isupper, joined)):
        return "small" if len(own) >= FEWEST_CASED and _ENDS.search(text) else None
    if not any(letter.islower() and letter != "ß" for letter in joined):
        around = own if any(map(str.islower, line)) else line.split()
        several = sum(_letters(word) > 1 for word in around) >= FEWEST_CASED
        return "capitals" if several or max(map(_letters, own)) >= LONG_ENOUGH else None
    begun = [_FIRST.search(word) for word in own]
    raised = [word for word, first in zip(own, begun, strict=True) if first and first[0].isupper()]
    small = [word for word in own if word not in raised]
    titled = len(raised) > FEWEST_CASED and all(_letters(word) <= SMALL_WORD for word in small)
    return "title" if titled else None


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _small(text: str, language: str) -> str:
    """In small letters, as many as before."""
    dotless = language_code(language) in _DOTLESS
    return (text.translate(_SMALL_DOTS) if dotless else text.replace("İ", "i")).lower()


def _capital(letter: str, language: str) -> str:
    """The capital of a letter; itself in scripts that have none at the beginning of a sentence."""
    if language_code(language) in _DOTLESS:
        letter = letter.translate(_CAPITAL_DOTS)
    return letter if letter.title() == letter else letter.upper()
