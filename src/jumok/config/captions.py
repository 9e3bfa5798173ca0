"""The sections [data] and [validation] of a captioner."""

from typing import Annotated, Literal

from pydantic import Field

from jumok.config.section import Count, DataPath, Section, Share
from jumok.config.training import ValidationConfig


class CaptionCorpusConfig(Section):
    """A table with a caption a row, and the pictures that it names."""

    captions: DataPath
    images: DataPath
    file_column: str | int = 0
    caption_column: str | int = 2


class CaptionDataConfig(Section):
    """What to train on, and what to validate on."""

    train: Annotated[tuple[CaptionCorpusConfig, ...], Field(min_length=1)]
    validation: tuple[CaptionCorpusConfig, ...] = ()
    validation_share: Share = 0.1
    test_share: Share = 0.1
    language: str = ""
    max_tokens: Count = 64
    captions_per_picture: Count = 5
    flip: bool = False
    shift: Annotated[int, Field(ge=0)] = 0
    skip_damaged: bool = False


class CaptionValidationConfig(ValidationConfig):
    """Validation by loss."""

    metric: Literal["loss"] = "loss"
