"""The sections [data] and [tokenizer] of a language model."""

from typing import Annotated, Literal

from pydantic import Field

from jumok.config.data import Format, PiecesConfig
from jumok.config.section import Count, DataPath, Section

DocumentRule = Literal["file", "line", "blank-line"]


class TextCorpusConfig(Section):
    """A file of text, or a column of a table."""

    file: DataPath
    column: str | int = 0
    format: Format = "auto"
    take: Count | None = None


class TextDataConfig(Section):
    """The training and validation data, and the unit of a document."""

    train: Annotated[tuple[TextCorpusConfig, ...], Field(min_length=1)]
    validation: tuple[TextCorpusConfig, ...] = ()
    held_out: Annotated[float, Field(gt=0.0, le=0.5)] = 0.1
    documents: DocumentRule = "file"
    language: str = ""


class TextTokenizerConfig(PiecesConfig):
    """Bytes, or SentencePiece with a token for the line break."""

    kind: Literal["byte", "unigram", "bpe", "char"] = "byte"
