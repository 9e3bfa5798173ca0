"""The sections [data] and [validation] of a captioner."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from jumok.config.section import Count, DataPath, Section, Share
from jumok.config.training import ValidationConfig


class CaptionCorpusConfig(Section):
    """A table with one caption per row, and the images that it names."""

    captions: DataPath
    images: DataPath
    file_column: str | int = 0
    caption_column: str | int = 2


class ScenesConfig(Section):
    """Drawn images of smallworld, generated in the run's folder before training."""

    pictures: Count = 8_000
    validation_pictures: Count = 300
    test_pictures: Count = 500


class CaptionDataConfig(Section):
    """The training and validation data."""

    train: tuple[CaptionCorpusConfig, ...] = ()
    validation: tuple[CaptionCorpusConfig, ...] = ()
    scenes: ScenesConfig | None = None
    validation_share: Share = 0.1
    test_share: Share = 0.1
    language: str = ""
    max_tokens: Count = 64
    captions_per_picture: Count = 5
    flip: bool = False
    shift: Annotated[int, Field(ge=0)] = 0
    skip_damaged: bool = False

    @model_validator(mode="after")
    def _something_to_look_at(self) -> "CaptionDataConfig":
        if not self.train and self.scenes is None:
            raise ValueError("needs at least one [[data.train]] table, or [data.scenes]")
        if (self.train or self.validation) and self.scenes is not None:
            raise ValueError("takes either [[data.train]] tables, or [data.scenes]")
        if self.scenes is not None and self.language not in ("en", "ko"):
            raise ValueError('[data.scenes] has captions in language = "en" and "ko"')
        return self


class CaptionValidationConfig(ValidationConfig):
    """Validation by the loss and by generated captions."""

    metric: Literal["loss", "bleu-4", "cider-d"] = "cider-d"
    decode_pictures: Count = 200
    beam: Count = 1
