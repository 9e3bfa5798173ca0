"""Glossaries: terms with their required translations."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jumok.data.files.encoding import conversion
from jumok.data.tokenizer import normalize
from jumok.errors import DataError, Location

# Scripts that attach particles or the next word to a word without a space.
ATTACHING_SCRIPTS = (
    "\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)


@dataclass(frozen=True)
class Term:
    """A term of the source language, and its required translation."""

    source: str
    target: str


@dataclass(frozen=True)
class TermPlace:
    """A term, and its span in a source in characters."""

    term: Term
    start: int
    end: int


class Glossary:
    """Terms with their translations.

    A term is found as whole words; after Hangul, kana, Chinese characters and similar scripts other
    letters may follow (서울에서 contains 서울). A term without a capital letter is found in any
    case, one with capitals only as it is written. If terms overlap the longest is used.

    Raises:
        DataError: a term is empty, or has two translations.
    """

    def __init__(self, terms: Mapping[str, str] | Iterable[tuple[str, str]]) -> None:
        pairs = terms.items() if isinstance(terms, Mapping) else terms
        self.terms: dict[str, Term] = {}
        for given, translation in pairs:
            source, target = normalize(given).strip(), normalize(translation).strip()
            if not source or not target:
                raise DataError(
                    "a term of the glossary is empty.",
                    expected="a term and its translation",
                    got=repr((given, translation)),
                )
            known = self.terms.setdefault(source, Term(source, target))
            if known.target != target:
                raise DataError(
                    "a term of the glossary has two translations.",
                    expected="one translation for each term",
                    got=f"{source!r}: {known.target!r} and {target!r}",
                    do="remove one of them",
                )
        self._sizes: dict[str, list[int]] = {}
        for source in sorted(self.terms, key=len, reverse=True):
            sizes = self._sizes.setdefault(_case_folded(source[0]), [])
            if len(source) not in sizes:
                sizes.append(len(source))
        self._in_any_case = {
            _case_folded(source): term
            for source, term in self.terms.items()
            if not any(letter.isupper() for letter in source)
        }

    def with_terms(self, terms: Mapping[str, str]) -> "Glossary":
        """These terms and its own, of which those of the same source give way."""
        given = Glossary(terms).terms
        return Glossary([(one.source, one.target) for one in (self.terms | given).values()])

    @classmethod
    def read(cls, file: Path | str) -> "Glossary":
        """Reads a glossary of two columns separated by a tab; empty lines are skipped.

        Raises:
            DataError: the file cannot be read, or a line does not have two columns.
        """
        file = Path(file)
        try:
            lines = file.read_text(encoding="utf-8-sig").splitlines()
        except OSError as error:
            raise DataError(
                "the glossary cannot be read.", got=error.strerror, place=Location(file)
            ) from None
        except UnicodeDecodeError as error:
            raise DataError(
                "the glossary is not valid UTF-8.",
                do=conversion(error.object),
                place=Location(file, byte=error.start),
            ) from None
        pairs = []
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            columns = line.split("\t")
            if len(columns) != 2 or not all(column.strip() for column in columns):
                raise DataError(
                    "a line of the glossary is not a term and its translation.",
                    expected="two columns with a tab between them",
                    got=repr(line),
                    place=Location(file, number),
                )
            pairs.append((columns[0], columns[1]))
        return cls(pairs)

    def find(self, text: str) -> list[TermPlace]:
        """The places of the terms in a text, in order; they do not overlap."""
        text = normalize(text)
        folded, places, at = _case_folded(text), list[TermPlace](), 0
        while at < len(text):
            place = self._begun(text, folded, at)
            if place is not None:
                places.append(place)
            at = at + 1 if place is None else place.end
        return places

    def _begun(self, text: str, folded: str, start: int) -> TermPlace | None:
        """The longest term that begins at a place."""
        sizes = self._sizes.get(folded[start])
        if not sizes or (
            start and _in_word(text[start]) and _in_word(text[start - 1])
            and not _spaceless(text[start])
        ):  # fmt: skip
            return None
        for size in sizes:
            end = start + size
            term = self.terms.get(text[start:end]) or self._in_any_case.get(folded[start:end])
            if term is None or end > len(text):
                continue
            goes_on = end < len(text) and _in_word(text[end]) and _in_word(text[end - 1])
            if not goes_on or re.match(f"[{ATTACHING_SCRIPTS}]", text[end - 1]):
                return TermPlace(term, start, end)
        return None


def _case_folded(text: str) -> str:
    """The same in any case, letter by letter: no letter becomes two."""
    return "".join(one if len(one := letter.casefold()) == 1 else letter for letter in text)


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _spaceless(letter: str) -> bool:
    """Whether a letter belongs to a script without spaces between words; Hangul has spaces."""
    return bool(re.match(f"[{ATTACHING_SCRIPTS}]", letter)) and not "\uac00" <= letter <= "\ud7a3"


def as_glossary(glossary: Glossary | Mapping[str, str] | Path | str | None) -> Glossary | None:
    """A glossary from anything that may be given as one: itself, terms, or a file."""
    if glossary is None or isinstance(glossary, Glossary):
        return glossary
    return Glossary.read(glossary) if isinstance(glossary, Path | str) else Glossary(glossary)
