"""Masked language models: they predict masked tokens."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import nn

from jumok.bundle.card import BundleConfig
from jumok.bundle.writing import write_bundle
from jumok.config import MaskedLanguageModelConfig
from jumok.data.texts.batches import MaskedUpdates, fixed_masked_batches, text_sampler
from jumok.data.texts.masking import Masking, word_starts
from jumok.data.tokenizer import Tokenizer
from jumok.evaluation.masked_lm import score_masked_lm
from jumok.models.catalog import DataSizes, build
from jumok.models.masked import MaskedLanguageModel
from jumok.plugins import digests_of
from jumok.shapes import Tensor
from jumok.training import baselines
from jumok.training.objectives import guess_masked
from jumok.training.preparing import texts
from jumok.training.preparing.pairs import write_world
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


class MaskedLanguageModelTask:
    """Texts, and a model that predicts masked tokens."""

    def __init__(self, config: MaskedLanguageModelConfig, prepared: PreparedTexts) -> None:
        self._config, self._prepared = config, prepared
        self._vectors = pretrained_rows(config.vectors, prepared.tokenizer)
        self.objective: Objective = guess_masked
        self.unit = "guesses"
        masking, training = config.masking, config.training
        opens = word_starts(prepared.tokenizer)
        self._masking = Masking(
            masking.share, masking.mask, masking.random, masking.whole_words, opens
        )
        budgets = training.tokens_per_batch, training.tokens_per_micro_batch
        sampler = text_sampler(prepared.train, *budgets, config.seed, training.decided_shares)
        self._stream = MaskedUpdates(prepared.train, sampler, self._masking, config.seed)
        self.updates: UpdateSource = self._stream

    @classmethod
    def prepare(
        cls, config: MaskedLanguageModelConfig, home: Path, cache: Path, say: Reporter
    ) -> "MaskedLanguageModelTask":
        """Trains or loads the tokenizer, and writes the token ids."""

        def tokenizer(lines: Iterator[str]) -> Tokenizer:
            file = home / "tokenizer.model"
            return learn_tokenizer(config.tokenizer, lines, file, config.seed, say)

        data = config.data
        if data.smallworld is not None:
            world = write_world(data.smallworld, config.seed, home, say)
            data = texts.of_world(data, world, data.smallworld.language)
        return cls(config, texts.prepare_examples_of(data, tokenizer, cache, say))

    def build(self) -> nn.Module:
        model = build(self._config.model, DataSizes(vocabulary=self._prepared.tokenizer.size))
        return self._vectors.initialize(model) if self._vectors else model

    def describe(self, model: nn.Module) -> Iterator[str]:
        store, sizes = self._prepared.train, self._config.model
        yield model_line(model, sizes.summary)
        tokens = len(store.texts.values)
        yield (
            f"data: {len(store):,} texts, {tokens:,} tokens, in batches of "
            f"{self._config.training.tokens_per_batch:,}, {self._masking.share:.0%} masked"
        )
        yield f"padding: {padding_share(self._stream):.1%} of a batch"
        if self._vectors is not None:
            yield self._vectors.coverage

    def validate(self, model: nn.Module, dtype: torch.dtype) -> Scores:
        del dtype  # there is nothing to decode
        assert isinstance(model, MaskedLanguageModel)
        budget = self._config.training.tokens_per_micro_batch
        store = self._prepared.validation
        guesses = score_masked_lm(model, fixed_masked_batches(store, budget, self._masking))
        on = f"{int(guesses.guesses.sum()):,} masked tokens of {len(store):,} validation texts"
        accuracy, _ = guesses.scores(self._masking.signature, on, resamples=0)
        untrained = baselines.of_guesses(accuracy.value, store.texts.values)
        return Scores(guesses.loss, (accuracy,), untrained)

    def write(
        self, folder: Path, weights: Mapping[str, Tensor], scores: Scores, facts: RunStats
    ) -> None:
        prepared = self._prepared
        bundle = BundleConfig(
            task="masked-lm",
            model=self._config.model.model_dump(),
            plugins=digests_of(self._config.plugins),
            vocabulary_size=prepared.tokenizer.size,
            max_tokens=self._config.data.max_tokens,
        )
        card = card_of(
            self._config.name,
            scores,
            facts,
            trained_on=(prepared.train.report.name,),
            examples=f"{len(prepared.train):,} texts",
            per="guess",
        )
        write_bundle(folder, weights, bundle, prepared.tokenizer, card)
