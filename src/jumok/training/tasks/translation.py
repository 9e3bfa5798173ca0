"""Sequence to sequence: sentences in, sentences out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
import torch
from torch import nn

from jumok.alignment.extract import choose_setting
from jumok.alignment.setting import AlignmentSetting
from jumok.bundle.card import BundleConfig, Pair, Score
from jumok.bundle.profile import Profile
from jumok.bundle.weights import copy_weights
from jumok.bundle.writing import write_bundle
from jumok.config import TranslationConfig
from jumok.data.pairs.batches import padding, validation_batches
from jumok.data.pairs.cleaning.rules import usual_ratio
from jumok.evaluation.spelling import score_spelling
from jumok.evaluation.text import read_as, score_text
from jumok.models.catalog import DataSizes, build
from jumok.models.memory import SequenceToSequence
from jumok.plugins import digests_of
from jumok.shapes import Tensor
from jumok.systems.loading import longest_of
from jumok.systems.translation.kept.letter_case import usual_styles
from jumok.systems.translation.result import Translation
from jumok.systems.translation.segments import MODEL_ALONE
from jumok.systems.translation.sentences import common_sentences
from jumok.systems.translation.translator import Translator
from jumok.training import baselines
from jumok.training.objectives import ConsistentTranslation, mean_loss, translation
from jumok.training.preparing.opened import prepare_shards
from jumok.training.preparing.pairs import (
    PreparedPairs,
    prepare_translation,
    training_sources,
    update_stream,
)
from jumok.training.preparing.texts import padding_share
from jumok.training.preparing.vectors import pretrained_rows
from jumok.training.task import (
    Objective,
    Reporter,
    RunStats,
    Scores,
    UpdateSource,
    card_of,
    model_line,
)
from jumok.training.tasks.confidence import calibration_of

SETTING_PAIRS = 64
COUNTED_LINES = 2000
PROFILED_LINES = 50_000


class TranslationTask:
    """Pairs of sentences, and a model that writes the target from the source."""

    def __init__(self, config: TranslationConfig, prepared: PreparedPairs) -> None:
        self._config, self._prepared = config, prepared
        consistency = config.training.consistency
        self.objective: Objective = (
            ConsistentTranslation(consistency) if consistency else translation
        )
        self.unit = "tokens"
        self._vectors = pretrained_rows(config.vectors, prepared.tokenizer)
        self._stream = update_stream(config, prepared.train, prepared.tokenizers)
        self.updates: UpdateSource = self._stream

    @classmethod
    def prepare(
        cls, config: TranslationConfig, home: Path, cache: Path, say: Reporter
    ) -> "TranslationTask":
        read = prepare_shards if config.data.is_prepared else prepare_translation
        return cls(config, read(config, home, cache, say))

    def build(self) -> nn.Module:
        model = build(self._config.model, DataSizes(vocabulary=self._prepared.tokenizer.size))
        return self._vectors.initialize(model) if self._vectors else model

    def describe(self, model: nn.Module) -> Iterator[str]:
        sizes, stores = self._config.model, self._prepared.train
        yield model_line(model, sizes.summary)
        targets = sum(store.lengths.target_tokens + len(store) for store in stores)
        yield (
            f"data: {sum(map(len, stores)):,} pairs, {targets:,} target tokens, in batches of "
            f"{self._config.training.tokens_per_batch:,}"
        )
        yield f"padding: {padding_share(self._stream, padding):.1%} of a batch"
        if self._vectors is not None:
            yield self._vectors.coverage

    def validate(self, model: nn.Module, dtype: torch.dtype) -> Scores:
        budget = self._config.training.tokens_per_micro_batch
        stores = self._prepared.validation
        batches = chain.from_iterable(validation_batches(each, budget) for each in stores)
        loss = mean_loss(translation, model, batches)
        translator, translations = self._translations(model, dtype)
        scores = self._text_scores(translations)
        exact = self._config.validation.metric == "accuracy"
        sources, references = self._prepared.sources, self._prepared.references
        confidence = calibration_of(translator, translations, sources, references, exact)
        return Scores(loss, scores, baselines.of_text(scores[0]), confidence=confidence)

    def _translations(
        self, model: nn.Module, dtype: torch.dtype
    ) -> tuple[Translator, list[Translation]]:
        assert isinstance(model, SequenceToSequence)
        data, beam = self._config.data, self._config.validation.beam
        translations = list[Translation]()
        of_pairs = groupby(
            zip(self._prepared.pairs, self._prepared.sources, strict=True), itemgetter(0)
        )
        for (source, target), texts in of_pairs:
            translator = Translator(
                [model],
                self._prepared.tokenizers[source, target],
                max_tokens=data.max_tokens,
                target_language=target,
                source_language=source,
                longest_target=longest_of(self._config.model),
                profile=self._profile,
            )
            if not translator.search_natively([self._config.model], dtype):
                model.eval().to(dtype)
            given = [text for _, text in texts]
            translations += translator.translate(given, beam=beam, alignments=False, **MODEL_ALONE)
        return translator, translations

    @cached_property
    def _profile(self) -> Profile:
        prepared = self._prepared
        source, target = (
            np.array([len(text) for text in side])
            for side in (prepared.sources, prepared.references)
        )
        texts = training_sources(prepared, PROFILED_LINES)
        cases = usual_styles(prepared.tokenizer, texts, data_source(self._config.data.pairs))
        return Profile.of(texts, prepared.sources, usual_ratio((source, target)), cases)

    def _text_scores(self, translations: Sequence[Translation]) -> tuple[Score, ...]:
        data, beam = self._config.data, self._config.validation.beam
        texts = [translation.text for translation in translations]
        if self._config.validation.metric == "accuracy":
            scores = score_spelling(texts, self._prepared.references)
        else:
            scores = score_text(
                texts,
                self._prepared.references,
                target_language=data.pairs[0][1],
                metrics=("bleu", "chrf"),
                resamples=0,
            )
        on = f"{len(translations)} validation sentences, beam {beam}"
        return tuple(replace(score, on=on) for score in read_as(scores, **MODEL_ALONE))

    def write(
        self, folder: Path, weights: Mapping[str, Tensor], scores: Scores, facts: RunStats
    ) -> None:
        data, prepared = self._config.data, self._prepared
        setting = self._setting(weights)
        bundle = BundleConfig(
            task="translation",
            model=self._config.model.model_dump(),
            plugins=digests_of(self._config.plugins),
            vocabulary_size=prepared.tokenizer.size,
            source_language=data_source(data.pairs),
            target_language="" if prepared.languages.tokens else data.pairs[0][1],
            languages=prepared.languages.tokens,
            pairs=prepared.languages.pairs,
            max_tokens=data.max_tokens,
            alignment_layer=setting.layer if setting else None,
            alignment_at_input=setting.at_input if setting else False,
            profile=self._profile,
            sentences=common_sentences(
                training_sources(prepared, COUNTED_LINES), data_source(data.pairs)
            ),
        )
        card = card_of(
            self._config.name,
            scores,
            facts,
            trained_on=(f"{store.report.name}: {len(store):,} pairs" for store in prepared.train),
            examples=f"{sum(len(store) for store in prepared.train):,} pairs",
            per="target token",
            notes=() if self._vectors is None else (self._vectors.coverage,),
        )
        write_bundle(folder, weights, bundle, prepared.tokenizer, card)

    def _setting(self, weights: Mapping[str, Tensor]) -> AlignmentSetting | None:
        """The best alignment setting, by some validation pairs; None: there is no attention."""
        with torch.random.fork_rng(devices=[]):  # the random state of training is not changed
            model = self.build().eval()
        assert isinstance(model, SequenceToSequence)
        copy_weights(model, weights)
        tokenizer = self._prepared.tokenizers[self._prepared.pairs[0]]
        most = self._config.data.max_tokens  # validation sentences may be longer than positions
        sources, targets = (
            [ids[:most] for ids in cuts.encode_batch(side[:SETTING_PAIRS])]
            for cuts, side in (
                (tokenizer, self._prepared.sources),
                (tokenizer.target, self._prepared.references),
            )
        )
        return choose_setting(model, sources, targets)


def data_source(pairs: Sequence[Pair]) -> str:
    """The source language that all pairs have; "" if they differ."""
    sources = {source for source, _ in pairs}
    return sources.pop() if len(sources) == 1 else ""
