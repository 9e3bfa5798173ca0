"""The sections [data] and [tokenizer] of models that read texts: language models, classifiers."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from jumok.config.data import Format, PiecesConfig, SmallworldConfig
from jumok.config.section import Count, DataPath, Section
from jumok.environment import Language

DocumentRule = Literal["file", "line", "blank-line"]


class TextCorpusConfig(Section):
    """A file of text, or a column of a table."""

    file: DataPath
    column: str | int = 0
    format: Format = "auto"
    encoding: str = "utf-8"
    delimiter: str = ""
    take: Count | None = None


class TextDataConfig(Section):
    """The training and validation data, and the unit of a document."""

    train: Annotated[tuple[TextCorpusConfig, ...], Field(min_length=1)]
    validation: tuple[TextCorpusConfig, ...] = ()
    held_out: Annotated[float, Field(gt=0.0, le=0.5)] = 0.1
    documents: DocumentRule = "file"
    window: Annotated[int, Field(ge=2)] | None = None
    language: str = ""


class TextTokenizerConfig(PiecesConfig):
    """Bytes, or SentencePiece with a token for the line break."""

    kind: Literal["byte", "unigram", "bpe", "char"] = "byte"


class LabelledCorpusConfig(Section):
    """A table: every row is a text and its label."""

    file: DataPath
    text_column: str | int = 0
    label_column: str | int = 1
    format: Format = "auto"
    encoding: str = "utf-8"
    delimiter: str = ""
    take: Count | None = None


class SmallworldTextsConfig(SmallworldConfig):
    """One side of the embedded English-Korean corpus."""

    language: Language = "ko"


class TextsConfig(Section):
    """The training and validation texts: a line, or a row of a table, is one text."""

    train: tuple[TextCorpusConfig, ...] = ()
    validation: tuple[TextCorpusConfig, ...] = ()
    smallworld: SmallworldTextsConfig | None = None
    validation_texts: Count = 500
    max_tokens: Count = 128

    @model_validator(mode="after")
    def _something_to_read(self) -> "TextsConfig":
        if bool(self.train) == (self.smallworld is not None):
            raise ValueError("takes [[data.train]] corpora, or [data.smallworld] instead")
        return self


class LabelledTextsConfig(Section):
    """The training and validation texts, with labels."""

    train: Annotated[tuple[LabelledCorpusConfig, ...], Field(min_length=1)]
    validation: tuple[LabelledCorpusConfig, ...] = ()
    labels: dict[str, str] = Field(default_factory=dict)
    validation_texts: Count = 500
    max_tokens: Count = 128
    skip_damaged: bool = False

    @model_validator(mode="after")
    def _different_names(self) -> "LabelledTextsConfig":
        names = [name.strip() for name in self.labels.values()]
        if not all(names) or len(set(names)) < len(names):
            raise ValueError("labels gives every label a name, each another one")
        return self
