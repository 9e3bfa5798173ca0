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
from jumok.training.task import Reporter, Task
from jumok.training.tasks.captions import CaptioningTask
from jumok.training.tasks.image_classification import ImageClassificationTask
from jumok.training.tasks.language_model import LanguageModelTask
from jumok.training.tasks.masked import MaskedLanguageModelTask
from jumok.training.tasks.text_classification import TextClassificationTask
from jumok.training.tasks.translation import TranslationTask

TASKS: dict[type[Config], Callable[[Any, Path, Path, Reporter], Task]] = {
    TranslationConfig: TranslationTask.prepare,
    CaptionConfig: CaptioningTask.prepare,
    ImageClassificationConfig: ImageClassificationTask.prepare,
    LanguageModelConfig: LanguageModelTask.prepare,
    MaskedLanguageModelConfig: MaskedLanguageModelTask.prepare,
    TextClassificationConfig: TextClassificationTask.prepare,
}


def prepare(config: Config, home: Path, cache: Path, say: Reporter) -> Task:
    """Prepares the data of the recipe.

    Args:
        home: the run's folder.
        cache: the folder of prepared data; runs on the same content share it.

    Raises:
        DataError: data that cannot be read, or an empty corpus.
        ConfigError: settings that the data does not allow.
    """
    return TASKS[type(config)](config, home, cache, say)
