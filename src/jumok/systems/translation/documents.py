"""Document translation: texts change, and everything else stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from jumok.data.files.atomic import atomic_file
from jumok.data.files.formats import HEAD
from jumok.data.files.reading import whole_file
from jumok.decoding import DecodingOptions
from jumok.systems.translation.result import Translation

if TYPE_CHECKING:
    from jumok.documents.segment import Translated

LineTranslation = Callable[[Iterable[str]], Iterable[Translation]]
"""Translates lines in order, with alignments if the model has any."""


class FileTranslator(Protocol):
    """Translates lines, and by them documents."""

    source_language: str
    target_language: str

    def translate(
        self, texts: Sequence[str], options: DecodingOptions = ..., *, batch_size: int = ...
    ) -> list[Translation]:
        """A translation for each text, in order."""
        ...

    def translate_file(
        self,
        file: Path | str,
        output: Path | str,
        options: DecodingOptions | None = None,
        *,
        format: str | None = None,
        batch_size: int = 32,
    ) -> None:
        """Translates a document into another one of the same format.

        Markup goes around the words that are aligned with those it enclosed.

        Args:
            options: everything about decoding; None: the defaults of `translate`.
            output: written atomically.
            format: "html", "markdown", "docx", "srt", "vtt", "po", "xliff", "tmx", or "paragraphs"
                for plain text whose lines are wrapped. None: detected from the file's first bytes
                and its name; plain text is then read as paragraphs.

        Raises:
            ConfigError: the format does not exist.
            DataError: the file cannot be read, or is something else; or the output cannot be
                written.
            MissingExtraError: the format's library is not installed.
        """
        content = whole_file(Path(file))
        from jumok.documents.catalog import document_format

        kind = format or document_format(Path(file), content[:HEAD]) or "paragraphs"

        def lines(texts: Iterable[str]) -> list[Translation]:
            if options is None:
                return self.translate(list(texts), batch_size=batch_size)
            return self.translate(list(texts), options, batch_size=batch_size)

        written = self.translate_content(content, kind, lines, Path(file))
        with atomic_file(Path(output)) as part:
            part.write_bytes(written)

    def translate_content(
        self, content: bytes, format: str, lines: LineTranslation, name: Path | str
    ) -> bytes:
        """Translates the document in these bytes.

        Args:
            lines: how lines are translated.
            name: what errors call the document.
        """

        def translate(texts: list[str]) -> list[Translated]:
            return list(_aligned(lines(texts)))

        from jumok.documents.document import Languages

        languages = Languages(self.source_language, self.target_language)
        from jumok.documents.catalog import translate_document

        return translate_document(content, translate, format, languages=languages, name=name)


def _aligned(translations: Iterable[Translation]) -> Iterator[Translated]:
    from jumok.documents.segment import Translated

    for each in translations:
        yield Translated(each.text, each.alignment)
