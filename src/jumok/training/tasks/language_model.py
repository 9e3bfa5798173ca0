"""Causal language models: text in, a continuation out."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import nn

from jumok.bundle.card import BundleConfig, Score
from jumok.bundle.writing import write_bundle
from jumok.config.families import LanguageModelConfig
from jumok.data.leaks import long_lines
from jumok.data.report import CorpusReport
from jumok.data.store import digest
from jumok.data.texts.corpus import HeldOutTail, TextCorpus, all_documents, read_examples
from jumok.data.texts.store import TextStore, prepare_texts
from jumok.data.texts.tokenizer import (
    TextTokenizer,
    load_text_tokenizer,
    train_text_tokenizer,
)
from jumok.data.texts.windows import DrawnWindows, PackedWindows, reading_batches
from jumok.data.tokenizer import START
from jumok.models.catalog import DataSizes, build
from jumok.plugins import digests_of
from jumok.shapes import Tensor
from jumok.training import baselines
from jumok.training.folder import TOKENIZER
from jumok.training.objectives import mean_loss, next_token
from jumok.training.preparing.leaks import say_leaks
from jumok.training.preparing.texts import corpus_of
from jumok.training.preparing.vocabulary import stored_tokenizer
from jumok.training.task import (
    Objective,
    Reporter,
    RunStats,
    Scores,
    UpdateSource,
    card_of,
    model_line,
)


@dataclass(frozen=True)
class PreparedDocuments:
    """The training and validation data of a run."""

    tokenizer: TextTokenizer
    train: TextStore
    validation: TextStore


class LanguageModelTask:
    """Text, and a model that predicts the next token."""

    def __init__(self, config: LanguageModelConfig, prepared: PreparedDocuments) -> None:
        self._config, self._prepared = config, prepared
        self.objective: Objective = next_token
        self.unit = "tokens"
        training, context = config.training, config.context
        rows = (training.tokens_per_batch // context, training.tokens_per_micro_batch // context)
        kind = DrawnWindows if config.data.documents == "file" else PackedWindows
        alike = training.batches == "packed"
        self.updates: UpdateSource = kind(prepared.train, context, rows, config.seed, alike=alike)

    @classmethod
    def prepare(
        cls, config: LanguageModelConfig, home: Path, cache: Path, say: Reporter
    ) -> "LanguageModelTask":
        return cls(config, prepare_documents(config, home, cache, say))

    def build(self) -> nn.Module:
        return build(self._config.model, DataSizes(vocabulary=self._prepared.tokenizer.size))

    def describe(self, model: nn.Module) -> Iterator[str]:
        store, training = self._prepared.train, self._config.training
        yield model_line(model, self._config.model.summary)
        documents = "1 document" if len(store) == 1 else f"{len(store):,} documents"
        yield (
            f"data: {documents}, {store.predictions:,} tokens "
            f"({store.bytes / store.predictions:.2f} bytes each), in batches of "
            f"{training.tokens_per_batch:,}: an epoch is {self.updates.epoch_steps:,.0f} steps"
        )

    def validate(self, model: nn.Module, dtype: torch.dtype) -> Scores:
        del dtype
        store, context = self._prepared.validation, self._config.context
        rows = max(1, 2048 // context)
        loss = mean_loss(self.objective, model, reading_batches(store, context, rows))
        bits = loss * store.predictions / store.bytes / math.log(2.0)
        on = f"{store.predictions:,} validation tokens, in windows of {context}"
        # every token is predicted but START
        untrained = baselines.of_next_token(loss, store.tokens.values[store.tokens.values != START])
        score = Score("bits per byte", bits, signature="END counted", on=on)
        return Scores(loss, (score,), untrained)

    def write(
        self, folder: Path, weights: Mapping[str, Tensor], scores: Scores, facts: RunStats
    ) -> None:
        config, prepared = self._config, self._prepared
        bundle = BundleConfig(
            task="language-model",
            model=config.model.model_dump(),
            plugins=digests_of(config.plugins),
            vocabulary_size=prepared.tokenizer.size,
            source_language=config.data.language,
            max_tokens=config.model.max_length,
            documents=config.data.documents,
        )
        card = card_of(
            config.name,
            scores,
            facts,
            trained_on=(corpus.file.name for corpus in config.data.train),
            examples=f"{prepared.train.predictions:,} tokens",
            per="token",
        )
        write_bundle(folder, weights, bundle, prepared.tokenizer, card)


def prepare_documents(
    config: LanguageModelConfig, folder: Path, cache: Path, say: Reporter
) -> PreparedDocuments:
    """Reads the text, trains or loads the tokenizer, writes token ids, and reports corrections."""
    data = config.data
    train, check = (
        [corpus_of(one) for one in corpora] for corpora in (data.train, data.validation)
    )
    for corpus in train:
        _say_mended(corpus, say)
    tail = None if check else HeldOutTail.of(train, data.documents, data.held_out)
    everything = all_documents(train, data.documents)
    tokenizer = stored_tokenizer(
        load_text_tokenizer,
        train_text_tokenizer,
        config.tokenizer,
        everything if tail is None else tail.training(everything),
        folder / TOKENIZER,
        config.seed,
        say,
    )
    parts = {"training": train, "validation": check or train}

    def read(part: str) -> Iterator[str]:
        texts = all_documents(parts[part], data.documents)
        if tail is None:
            return texts
        return tail.training(texts) if part == "training" else tail.kept_out(texts)

    identities = [
        [
            [
                [digest(one.file), one.file.suffixes, str(replace(one, file=Path()))]
                for one in corpora
            ],
            data.documents,
            None if tail is None else [part, tail.share],
        ]
        for part, corpora in parts.items()
    ]
    stores = [
        prepare_texts(read(part), identity, tokenizer, cache)
        for part, identity in zip(parts, identities, strict=True)
    ]
    checked = list(long_lines(read("validation")))
    say_leaks(cache, identities[0], checked, lambda: long_lines(read("training")), say)
    if tail is not None:
        what = "of the text is" if tail.count == 1 else "of the documents are"
        what = "of each file is" if tail.ends and tail.count > 1 else what
        say(f"no validation data given: the last {tail.share:.0%} {what} held out")
    return PreparedDocuments(tokenizer, *stores)


def _say_mended(corpus: TextCorpus, say: Reporter) -> None:
    report = CorpusReport(corpus.file.name)
    for _ in read_examples(corpus, report):
        report.read += 1
    say(f"{report.name}: {report.read:,} lines read")
    for reason, count in report.mended.items():
        say(f"  corrected, {reason}: {count}")
