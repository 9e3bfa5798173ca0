"""The interface of every kind of document."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from jumok.documents.segment import DocumentSegment, Translated
from jumok.errors import DataError


class Languages(NamedTuple):
    """The codes of the languages; "" if a language is not known."""

    source: str = ""
    target: str = ""


UNKNOWN = Languages()

NORWEGIAN = {"nb": "no", "nn": "no"}
"""Codes of written forms of a language that is mostly called by one code."""


def check_language(code: str, model: str, side: str) -> None:
    """Checks a language that a file names against the model's, if both have codes of two letters.

    Args:
        side: "source" or "target".

    Raises:
        DataError: they differ.
    """
    mains = (re.split("[-_.@]", one.lower())[0] for one in (model, code))
    expected, actual = (NORWEGIAN.get(main, main) for main in mains)
    if len(expected) == len(actual) == 2 and expected != actual:
        raise DataError(
            f"the {side} language of the file is not the model's.",
            expected=model,
            got=code,
            do="use a model for this language, or correct the file",
        )


class Document(Protocol):
    """A file's texts in order, and the file with translations in their places."""

    @property
    def segments(self) -> Sequence[DocumentSegment]: ...

    def written(self, translations: Sequence[Translated]) -> bytes: ...


class Slot(NamedTuple):
    """The characters of a text file that a translation replaces.

    Attributes:
        write: returns the text that replaces them.
        keep: if the translation equals its source, the characters stay unchanged.
    """

    start: int
    end: int
    segment: DocumentSegment
    write: Callable[[Translated], str]
    keep: bool = True


@dataclass(frozen=True)
class TextDocument:
    """A text file of which some slices are translated; all others are kept byte for byte.

    Attributes:
        errors: what becomes of characters that the character set lacks, as in `str.encode`.
    """

    text: str
    slots: Sequence[Slot]
    charset: str = "utf-8"
    errors: str = "surrogateescape"

    @property
    def segments(self) -> Sequence[DocumentSegment]:
        return [slot.segment for slot in self.slots]

    def written(self, translations: Sequence[Translated]) -> bytes:
        return self.replaced(translations).encode(self.charset, self.errors)

    def replaced(self, translations: Sequence[Translated]) -> str:
        """The text with the translations; slots are in the order of the file."""
        parts, at = [], 0
        for slot, translated in zip(self.slots, translations, strict=True):
            if not slot.keep or translated.text != slot.segment.text:
                parts += [self.text[at : slot.start], slot.write(translated)]
                at = slot.end
        return "".join([*parts, self.text[at:]])
