"""Translators for tests: one changes nothing, one every letter, and one knows the words."""

from jumok.documents.catalog import translate_document
from jumok.documents.document import UNKNOWN, Languages
from jumok.documents.segment import Translated


def same(content: str | bytes, format: str) -> bytes:
    """The document, translated by a translator that changes nothing."""
    return translate_document(as_bytes(content), list, format)


def upper(content: str | bytes, format: str, languages: Languages = UNKNOWN) -> str:
    """The document in capitals."""
    written = translate_document(
        as_bytes(content),
        lambda texts: [text.upper() for text in texts],
        format,
        languages=languages,
    )
    return written.decode()


def texts(content: str | bytes, format: str, languages: Languages = UNKNOWN) -> list[str]:
    """What the translator is given."""
    given: list[str] = []

    def translate(all_texts: list[str]) -> list[str]:
        given.extend(all_texts)
        return all_texts

    translate_document(as_bytes(content), translate, format, languages=languages)
    return given


def by_words(table: dict[str, Translated]):
    """A translator that looks whole texts up."""
    return lambda texts: [table[text] for text in texts]


def as_bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content
