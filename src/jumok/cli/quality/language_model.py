"""Quantized language models: perplexity and equal tokens."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from jumok.bundle.card import Score
from jumok.cli.columns import column_of
from jumok.cli.quality.check import ComparedModels, QualityCheck
from jumok.config import Config
from jumok.config.families import LanguageModelConfig
from jumok.data.texts.corpus import TextCorpus, documents
from jumok.data.tokenizer import START
from jumok.errors import ConfigError
from jumok.evaluation.agreement import computing_in, text_agreement
from jumok.systems.language_model import LanguageModel, joined_scores
from jumok.training.preparing.texts import corpus_of

GIVE = "--data FILE, a text that the model was not trained on"


def measure_language_model(asked: QualityCheck) -> ComparedModels:
    """The perplexity of both models, and their agreement, on one text.

    Raises:
        ConfigError: there is no data.
        DataError: the data cannot be read.
    """
    if asked.check is not None:
        raise ConfigError("--check names pairs, and a language model reads one text.", do=GIVE)
    corpora = _corpora(asked)
    first, second = (
        LanguageModel.load(each, device="cpu", engine="torch")
        for each in (asked.model, asked.quantized)
    )
    rule = first.documents
    texts = list(chain.from_iterable(documents(each, rule) for each in corpora))
    before = joined_scores(first.score(texts, batch_size=asked.batch))
    with computing_in(second.model, asked.quantized.precision):
        after = joined_scores(second.score(texts, batch_size=asked.batch))
        equal = text_agreement(
            (first.model, second.model),
            [[START, *first.tokenizer.encode(each)] for each in texts],
            first.context,
            asked.batch,
        )
    on = f"{', '.join(each.file.name for each in corpora)}: {len(before.tokens):,} tokens"
    score = Score("perplexity", before.perplexity, signature="exp(loss)", on=on)
    return ComparedModels(on, (score,), (replace(score, value=after.perplexity),), equal)


def _corpora(asked: QualityCheck) -> Sequence[TextCorpus]:
    if asked.data is not None:
        return [TextCorpus(asked.data, column_of(asked.columns.split(",")[0]))]
    return asked.own_data(_named_by, GIVE)


def _named_by(config: Config, _: Path) -> Sequence[TextCorpus] | None:
    if not isinstance(config, LanguageModelConfig):
        return None
    named = [corpus_of(each) for each in config.data.validation]
    return named if named and all(each.file.is_file() for each in named) else None
