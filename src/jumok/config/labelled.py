"""The section [data] of models that read texts one by one: with labels, or without."""

from typing import Annotated

from pydantic import Field

from jumok.config.section import Count, DataPath, Section
from jumok.config.text import TextCorpusConfig, TextFormat


class LabelledCorpusConfig(Section):
    """One table: a row is a text and its label."""

    file: DataPath
    text_column: str | int = 0
    label_column: str | int = 1
    format: TextFormat = "auto"
    take: Count | None = None


class TextsConfig(Section):
    """Texts to train on, and to validate on: a line, or a row of a table, is one text."""

    train: Annotated[tuple[TextCorpusConfig, ...], Field(min_length=1)]
    validation: tuple[TextCorpusConfig, ...] = ()
    validation_texts: Count = 500
    max_tokens: Count = 128


class LabelledTextsConfig(Section):
    """Texts with labels to train on, and to validate on."""

    train: Annotated[tuple[LabelledCorpusConfig, ...], Field(min_length=1)]
    validation: tuple[LabelledCorpusConfig, ...] = ()
    validation_texts: Count = 500
    max_tokens: Count = 128
