"""Classifiers of texts: trained from scratch, or from a masked language model's encoder."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from jumok.bundle.card import BundleConfig, Provenance
from jumok.bundle.reading import TOKENIZER, Bundle, read_bundle
from jumok.bundle.weights import copy_weights, load_model
from jumok.bundle.writing import write_bundle
from jumok.config import TextClassificationConfig, TextClassifierConfig
from jumok.config.families import check_max_positions
from jumok.config.masked import SHAPE
from jumok.data.texts.batches import LabelledUpdates, every_text, labelled_batch, text_sampler
from jumok.data.tokenizer import Tokenizer
from jumok.errors import ConfigError, Location
from jumok.evaluation.classification import predict_labels
from jumok.models.catalog import DataSizes, build
from jumok.models.classifier import TextClassifier
from jumok.models.masked import MaskedLanguageModel
from jumok.plugins import digests_of
from jumok.shapes import Tensor
from jumok.training import baselines
from jumok.training.objectives import text_classification
from jumok.training.preparing import texts
from jumok.training.preparing.texts import PreparedTexts, padding_share
from jumok.training.preparing.vectors import pretrained_rows
from jumok.training.preparing.vocabulary import learn_tokenizer
from jumok.training.task import (
    Objective,
    Reporter,
    RunStats,
    Scores,
    UpdateSource,
    card_of,
    model_line,
)


class TextClassificationTask:
    """Texts with labels, and a model that predicts the labels of texts.

    Args:
        model: the sizes; those of the pretrained encoder, if there is one.
        encoder: the initial weights, by parameter name; empty if training starts from scratch.
        origin: where these come from, if their model was imported.
    """

    def __init__(
        self,
        config: TextClassificationConfig,
        prepared: PreparedTexts,
        model: TextClassifierConfig,
        encoder: Mapping[str, Tensor],
        origin: Provenance | None,
    ) -> None:
        self._config, self._prepared = config, prepared
        self._model, self._encoder, self._origin = model, encoder, origin
        self._vectors = pretrained_rows(config.vectors, prepared.tokenizer)
        self.objective: Objective = text_classification
        self.unit = "texts"
        training = config.training
        budgets = training.tokens_per_batch, training.tokens_per_micro_batch
        sampler = text_sampler(prepared.train, *budgets, config.seed, training.decided_shares)
        self._stream = LabelledUpdates(prepared.train, sampler)
        self.updates: UpdateSource = self._stream

    @classmethod
    def prepare(
        cls, config: TextClassificationConfig, home: Path, cache: Path, say: Reporter
    ) -> "TextClassificationTask":
        """Reads the pretrained model if there is one, and writes the token ids."""
        file, model, encoder = home / "tokenizer.model", config.model, {}
        settings, origin = config.tokenizer, None
        if model.pretrained is not None:
            bundle = read_bundle(model.pretrained)
            encoder, origin = _encoder_weights(bundle), bundle.card.provenance
            settings = settings.model_copy(update={"path": bundle.folder / TOKENIZER})
            model = _sizes_of(bundle, model)
            _check_room(config.data.max_tokens, model, bundle)
            say(f"pretrained: {bundle.card.name}, {bundle.card.steps:,} steps")

        def tokenizer(lines: Iterator[str]) -> Tokenizer:
            return learn_tokenizer(settings, lines, file, config.seed, say)

        prepared = texts.prepare_examples_of(config.data, tokenizer, cache, say)
        return cls(config, prepared, model, encoder, origin)

    @property
    def labels(self) -> tuple[str, ...]:
        return self._prepared.labels

    def build(self) -> nn.Module:
        prepared = self._prepared
        model = build(self._model, DataSizes(prepared.tokenizer.size, len(prepared.labels)))
        copy_weights(model, self._encoder)
        return self._vectors.initialize(model) if self._vectors else model

    def describe(self, model: nn.Module) -> Iterator[str]:
        store, labels = self._prepared.train, self._prepared.labels
        yield model_line(model, self._model.summary)
        tokens = len(store.texts.values)
        yield (
            f"data: {len(store):,} texts, {tokens:,} tokens, in batches of "
            f"{self._config.training.tokens_per_batch:,}; labels {', '.join(labels)}"
        )
        yield f"padding: {padding_share(self._stream):.1%} of a batch"
        if self._vectors is not None:
            yield self._vectors.coverage

    def validate(self, model: nn.Module, dtype: torch.dtype) -> Scores:
        del dtype  # there is nothing to decode
        assert isinstance(model, TextClassifier)
        store, labels = self._prepared.validation, self._prepared.labels
        budget = self._config.training.tokens_per_micro_batch
        batches = (labelled_batch(store, rows) for rows in every_text(store, budget))
        examples = predict_labels(model, batches)
        on = f"{len(store):,} validation texts"
        scores = examples.scores(labels, on, resamples=0)
        assert store.labels is not None
        return Scores(
            examples.loss, scores, baselines.of_labels(scores[0].value, labels, store.labels)
        )

    def write(
        self, folder: Path, weights: Mapping[str, Tensor], scores: Scores, facts: RunStats
    ) -> None:
        prepared, pretrained = self._prepared, self._config.model.pretrained
        bundle = BundleConfig(
            task="text-classification",
            model=self._model.model_dump(),
            plugins=digests_of(self._config.plugins),
            vocabulary_size=prepared.tokenizer.size,
            labels=prepared.labels,
            label_names=self._config.data.labels,
            max_tokens=self._config.data.max_tokens,
        )
        started = () if pretrained is None else (f"started from the encoder in {pretrained}",)
        card = card_of(
            self._config.name,
            scores,
            replace(facts, provenance=facts.provenance or self._origin),
            trained_on=(prepared.train.report.name,),
            examples=f"{len(prepared.train):,} texts",
            per="text",
            notes=started,
        )
        write_bundle(folder, weights, bundle, prepared.tokenizer, card)


def _encoder_weights(bundle: Bundle) -> dict[str, Tensor]:
    if bundle.config.task != "masked-lm":
        raise ConfigError(
            "a text classifier cannot start from this model.",
            expected="a bundle of the task masked-lm",
            got=bundle.config.task,
            do='train one: model.kind = "masked-lm"',
            place=Location(bundle.folder),
        )
    with torch.random.fork_rng(devices=[]):  # the random state of training is not changed
        model = load_model(bundle)
    assert isinstance(model, MaskedLanguageModel)
    return {f"encoder.{name}": tensor for name, tensor in model.encoder.state_dict().items()}


def _sizes_of(bundle: Bundle, model: TextClassifierConfig) -> TextClassifierConfig:
    """The classifier's section with the pretrained encoder's sizes instead of its path."""
    known = bundle.section.model_dump()  # older bundles lack newer keys
    sizes = {key: known[key] for key in SHAPE}
    return TextClassifierConfig.model_validate(model.model_dump() | sizes | {"pretrained": None})


def _check_room(max_tokens: int, model: TextClassifierConfig, bundle: Bundle) -> None:
    try:
        check_max_positions(max_tokens, model)
    except ValueError as error:
        raise ConfigError(
            "the pretrained model cannot read texts this long.",
            got=str(error),
            do=f"data.max_tokens = {bundle.config.max_tokens} or less",
            place=Location(bundle.folder),
        ) from error
