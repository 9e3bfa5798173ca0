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
        longest = sorted(self.terms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_term_pattern, longest))) if longest else None
        self._in_any_case = {name: term for name, term in self.terms.items() if not _exact(name)}

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

    def find(self, text: str) -> list[Term]:
        """The terms that a text contains, each once, in their order there."""
        if self._pattern is None:
            return []
        matches = (match[0] for match in self._pattern.finditer(normalize(text)))
        return list(dict.fromkeys(map(self._found, matches)))

    def _found(self, text: str) -> Term:
        """The term that the pattern found as this text."""
        if text in self.terms:
            return self.terms[text]
        known = self._in_any_case
        # Letters such as the two micro signs are one in any case, and differ in lower case.
        return known.get(text.lower()) or next(
            term
            for name, term in known.items()
            if re.fullmatch(re.escape(name), text, re.IGNORECASE)
        )


def _term_pattern(term: str) -> str:
    pattern = re.escape(term) if _exact(term) else f"(?i:{re.escape(term)})"
    before = r"(?<!\w)" if term[0].isalnum() and not _spaceless(term[0]) else ""
    after = (
        r"(?!\w)" if term[-1].isalnum() and not re.match(f"[{ATTACHING_SCRIPTS}]", term[-1]) else ""
    )
    return f"{before}{pattern}{after}"


def _exact(term: str) -> bool:
    """Whether a term is found only as it is written, and not in any case."""
    return any(letter.isupper() for letter in term)


def _spaceless(letter: str) -> bool:
    """Whether a letter belongs to a script without spaces between words; Hangul has spaces."""
    return bool(re.match(f"[{ATTACHING_SCRIPTS}]", letter)) and not "\uac00" <= letter <= "\ud7a3"


def as_glossary(glossary: Glossary | Mapping[str, str] | Path | str | None) -> Glossary | None:
    """A glossary from anything that may be given as one: itself, terms, or a file."""
    if glossary is None or isinstance(glossary, Glossary):
        return glossary
    return Glossary.read(glossary) if isinstance(glossary, Path | str) else Glossary(glossary)
