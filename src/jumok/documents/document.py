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


def check_language(said: str, model: str, side: str) -> None:
    """Checks a language that a file names against the model's.

    A model is called after the files that it was trained on: only codes of two letters are
    compared, since "src" is no language, and "kor" may be another name of "ko".

    Args:
        side: "source" or "target".

    Raises:
        DataError: they differ; "en-GB" and "en" are one.
    """
    mine, its = (re.split("[-_.@]", code.lower())[0] for code in (model, said))
    mine, its = (NORWEGIAN.get(code, code) for code in (mine, its))
    if len(mine) == len(its) == 2 and mine != its:
        raise DataError(
            f"the {side} language of the file is not the model's.",
            expected=model,
            got=said,
            do="use a model for this language, or correct the file",
        )


class Document(Protocol):
    """A file's texts in order, and the file with translations in their places."""

    @property
    def segments(self) -> Sequence[DocumentSegment]:
        """The texts to translate."""
        ...

    def written(self, translations: Sequence[Translated]) -> bytes:
        """The document with a translation of each segment."""
        ...


class Slot(NamedTuple):
    """The place of a translation in a text file.

    Attributes:
        start, end: the characters that it replaces.
        segment: what is translated.
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
    """A text file of which some slices are translated and all others are kept byte for byte."""

    text: str
    slots: Sequence[Slot]
    encode: Callable[[str], bytes] = str.encode

    @property
    def segments(self) -> Sequence[DocumentSegment]:
        return [slot.segment for slot in self.slots]

    def written(self, translations: Sequence[Translated]) -> bytes:
        return self.encode(self.replaced(translations))

    def replaced(self, translations: Sequence[Translated]) -> str:
        """The text with the translations; slots are in the order of the file."""
        parts, at = [], 0
        for slot, translated in zip(self.slots, translations, strict=True):
            same = slot.keep and translated.text == slot.segment.text
            replaced = self.text[slot.start : slot.end] if same else slot.write(translated)
            parts += [self.text[at : slot.start], replaced]
            at = slot.end
        return "".join([*parts, self.text[at:]])
