"""Every task by its kind of recipe."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from jumok.config.families import (
    CaptionConfig,
    Config,
    ImageClassificationConfig,
    LanguageModelConfig,
    MaskedLanguageModelConfig,
    TextClassificationConfig,
    TranslationConfig,
)
from jumok.training.task import Say, Task
from jumok.training.tasks.captions import Captions
from jumok.training.tasks.image_classification import ImageClassification
from jumok.training.tasks.language_model import LanguageModelling
from jumok.training.tasks.masked import MaskedLanguageModelling
from jumok.training.tasks.text_classification import TextClassification
from jumok.training.tasks.translation import Translation

TASKS: dict[type[Config], Callable[[Any, Path, Path, Say], Task]] = {
    TranslationConfig: Translation.prepare,
    CaptionConfig: Captions.prepare,
    ImageClassificationConfig: ImageClassification.prepare,
    LanguageModelConfig: LanguageModelling.prepare,
    MaskedLanguageModelConfig: MaskedLanguageModelling.prepare,
    TextClassificationConfig: TextClassification.prepare,
}


def prepare(config: Config, home: Path, cache: Path, say: Say) -> Task:
    """Reads what the recipe names.

    Args:
        home: the run's folder.
        cache: where prepared data is kept; runs on the same content share it.

    Raises:
        DataError: data that cannot be read, or of which nothing is left.
        ConfigError: settings that the data does not allow.
    """
    return TASKS[type(config)](config, home, cache, say)
