"""Recipes: their sections and keys, and the errors of invalid ones."""

from jumok.config.captioner import CaptionerConfig as CaptionerConfig
from jumok.config.captions import CaptionCorpusConfig as CaptionCorpusConfig
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
from jumok.config.start import StartConfig as StartConfig
from jumok.config.training import AverageConfig as AverageConfig
from jumok.config.training import ScheduleConfig as ScheduleConfig
from jumok.config.training import TrainingConfig as TrainingConfig
from jumok.config.training import TranslationTrainingConfig as TranslationTrainingConfig
from jumok.config.transformer import TransformerConfig as TransformerConfig
