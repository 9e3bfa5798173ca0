"""Captioning: pictures in, sentences out."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path

import torch
from torch import nn

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.writing import write_bundle
from jumok.config import CaptionConfig
from jumok.data.captioned import Augmentation, CaptionStream, every_caption, padding
from jumok.inspection.alignment import Reading
from jumok.models.catalog import Sizes, build
from jumok.shapes import Tensor
from jumok.training.captions import Prepared, prepare
from jumok.training.objectives import mean_loss
from jumok.training.objectives_captions import captioning
from jumok.training.task import Facts, Objective, Say, Scores, Updates

VALIDATION_PICTURES = 16  # in a batch of the validation loss


class Captions:
    """Pictures with captions, and a model that writes the second from the first."""

    def __init__(self, config: CaptionConfig, prepared: Prepared) -> None:
        self._config, self._prepared = config, prepared
        self.objective: Objective = captioning
        self.unit = "tokens"
        self._stream = _stream(config, prepared)
        self.updates: Updates = self._stream

    @classmethod
    def prepare(cls, config: CaptionConfig, home: Path, cache: Path, say: Say) -> "Captions":
        """Trains or loads the tokenizer, and stores the pictures."""
        return cls(config, prepare(config, home, cache, say))

    def build(self) -> nn.Module:
        return build(self._config.model, Sizes(vocabulary=self._prepared.tokenizer.size))

    def describe(self, model: nn.Module) -> Iterator[str]:
        train, sizes = self._prepared.train, self._config.model
        parameters = sum(parameter.numel() for parameter in model.parameters())
        yield f"model: {parameters / 1e6:.1f} M parameters; {sizes.summary}"
        captions = sum(map(len, train.captions))
        yield (
            f"data: {len(train):,} pictures, {captions:,} captions, {train.tokens:,} target "
            f"tokens; {self._stream.pictures} pictures a step"
        )
        first = _stream(self._config, self._prepared)
        share = padding(list(chain.from_iterable(islice(first, 5))))
        yield f"padding: {share:.1%} of the target positions"

    def validate(self, model: nn.Module, dtype: torch.dtype) -> Scores:  # noqa: ARG002
        checked = self._prepared.validation
        return Scores(mean_loss(self.objective, model, every_caption(checked, VALIDATION_PICTURES)))

    def write(
        self, folder: Path, weights: Mapping[str, Tensor], scores: Scores, facts: Facts
    ) -> None:
        config, prepared = self._config, self._prepared
        reading = self._reading()
        bundle = BundleConfig(
            task="captioning",
            model=config.model.model_dump(),
            vocabulary_size=prepared.tokenizer.size,
            target_language=config.data.language,
            max_tokens=config.data.max_tokens,
            alignment_layer=None if reading is None else reading.layer,
            alignment_at_input=reading is not None and reading.at_input,
        )
        captions = sum(map(len, prepared.train.captions))
        card = Card(
            name=config.name,
            trained_on=tuple(
                f"{corpus.captions.name} with {corpus.images.name}" for corpus in config.data.train
            ),
            examples=f"{len(prepared.train):,} pictures, {captions:,} captions",
            steps=facts.steps,
            minutes=facts.minutes,
            scores=scores.figures,
            date=datetime.now(UTC).date().isoformat(),
            notes=(f"validation loss {scores.loss:.4f} nats a target token",),
        )
        write_bundle(folder, weights, bundle, prepared.tokenizer, card)

    def _reading(self) -> Reading | None:
        if self._config.model.memory == "one":
            return None
        return Reading(self._config.model.decoder.layers - 1, at_input=False)


def _stream(config: CaptionConfig, prepared: Prepared) -> CaptionStream:
    data, training = config.data, config.training
    return CaptionStream(
        prepared.train,
        training.tokens_per_batch,
        training.tokens_per_micro_batch,
        data.captions_per_picture,
        config.seed,
        Augmentation(data.flip, data.shift),
    )
