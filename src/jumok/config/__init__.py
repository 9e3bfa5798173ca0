"""Recipes: their sections and keys, and the errors of invalid ones.

Each name is imported when it is first used: few commands need all sections.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jumok.config.captioner import CaptionCorpusConfig as CaptionCorpusConfig
    from jumok.config.captioner import CaptionerConfig as CaptionerConfig
    from jumok.config.data import CorpusConfig as CorpusConfig
    from jumok.config.data import DataConfig as DataConfig
    from jumok.config.families import CaptionConfig as CaptionConfig
    from jumok.config.families import Config as Config
    from jumok.config.families import ImageClassificationConfig as ImageClassificationConfig
    from jumok.config.families import MaskedLanguageModelConfig as MaskedLanguageModelConfig
    from jumok.config.families import TextClassificationConfig as TextClassificationConfig
    from jumok.config.families import TranslationConfig as TranslationConfig
    from jumok.config.masked import MaskedConfig as MaskedConfig
    from jumok.config.masked import MaskingConfig as MaskingConfig
    from jumok.config.masked import TextClassifierConfig as TextClassifierConfig
    from jumok.config.recipe import load_config as load_config
    from jumok.config.recipe import parse_config as parse_config
    from jumok.config.recurrent import RecurrentConfig as RecurrentConfig
    from jumok.config.section import Section as Section
    from jumok.config.training import AverageConfig as AverageConfig
    from jumok.config.training import ScheduleConfig as ScheduleConfig
    from jumok.config.training import StartConfig as StartConfig
    from jumok.config.training import TrainingConfig as TrainingConfig
    from jumok.config.training import TranslationTrainingConfig as TranslationTrainingConfig
    from jumok.config.transformer import TransformerConfig as TransformerConfig

HOMES = {
    "CaptionerConfig": "jumok.config.captioner",
    "CaptionCorpusConfig": "jumok.config.captioner",
    "CorpusConfig": "jumok.config.data",
    "DataConfig": "jumok.config.data",
    "CaptionConfig": "jumok.config.families",
    "Config": "jumok.config.families",
    "ImageClassificationConfig": "jumok.config.families",
    "MaskedLanguageModelConfig": "jumok.config.families",
    "TextClassificationConfig": "jumok.config.families",
    "TranslationConfig": "jumok.config.families",
    "MaskedConfig": "jumok.config.masked",
    "MaskingConfig": "jumok.config.masked",
    "TextClassifierConfig": "jumok.config.masked",
    "load_config": "jumok.config.recipe",
    "parse_config": "jumok.config.recipe",
    "RecurrentConfig": "jumok.config.recurrent",
    "Section": "jumok.config.section",
    "StartConfig": "jumok.config.training",
    "AverageConfig": "jumok.config.training",
    "ScheduleConfig": "jumok.config.training",
    "TrainingConfig": "jumok.config.training",
    "TranslationTrainingConfig": "jumok.config.training",
    "TransformerConfig": "jumok.config.transformer",
}
"""The module of each name."""


def __getattr__(name: str) -> object:
    """Imports a name's module when the name is first used (PEP 562)."""
    if name not in HOMES:
        raise AttributeError(f"module 'jumok.config' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)
