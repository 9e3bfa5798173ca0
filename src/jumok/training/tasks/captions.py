"""Captioning: images in, sentences out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path

import torch
from torch import nn

from jumok.alignment.setting import AlignmentSetting, default_setting
from jumok.bundle.card import BundleConfig, Score
from jumok.bundle.weights import copy_weights
from jumok.bundle.writing import write_bundle
from jumok.config import CaptionConfig
from jumok.data.captions.batches import (
    CaptionedAugmentation,
    CaptionStream,
    every_caption,
    padding_of_captions,
)
from jumok.data.captions.boxes import read_boxes
from jumok.data.captions.corpus import Captioned
from jumok.data.pairs.rows import spread
from jumok.evaluation.captioner import (
    Pointed,
    caption_tokenizer,
    choose_pointing_setting,
    picture_sizes,
)
from jumok.evaluation.captions import score_captions
from jumok.evaluation.pointing import Gold, score_pointing
from jumok.models.captioner import CaptionerModel as Model
from jumok.models.catalog import DataSizes, build
from jumok.plugins import digests_of
from jumok.shapes import Tensor
from jumok.systems.captioner import Captioner, picture_reader_of
from jumok.training import baselines
from jumok.training.objectives import caption_rows, captioning, mean_loss
from jumok.training.preparing.captions import PreparedCaptions, prepare_captions
from jumok.training.task import (
    Objective,
    Reporter,
    RunStats,
    Scores,
    UpdateSource,
    card_of,
    model_line,
)

VALIDATION_PICTURES = 16  # in a batch of the validation loss
SETTING_PICTURES = 64  # that choose the alignment setting
FIGURES = ("BLEU-4", "CIDEr-D")


class CaptioningTask:
    """Images with captions, and a model that writes captions of images."""

    def __init__(self, config: CaptionConfig, prepared: PreparedCaptions) -> None:
        self._config, self._prepared = config, prepared
        self.objective: Objective = captioning
        self.unit = "tokens"
        self._stream = _stream(config, prepared)
        self.updates: UpdateSource = self._stream

    @classmethod
    def prepare(
        cls, config: CaptionConfig, home: Path, cache: Path, say: Reporter
    ) -> "CaptioningTask":
        return cls(config, prepare_captions(config, home, cache, say))

    def build(self) -> nn.Module:
        model = build(self._config.model, DataSizes(vocabulary=self._prepared.tokenizer.size))
        if (eye := self._prepared.eye) is not None:
            assert isinstance(model, Model)
            eye.fill(model.cells)
        return model

    def describe(self, model: nn.Module) -> Iterator[str]:
        train, sizes = self._prepared.train, self._config.model
        yield model_line(model, sizes.summary)
        captions = sum(map(len, train.captions))
        yield (
            f"data: {len(train):,} images, {captions:,} captions, {train.tokens:,} target "
            f"tokens; {self._stream.pictures} images per step"
        )
        first = _stream(self._config, self._prepared)
        assert isinstance(model, Model)
        batches = chain.from_iterable(islice(first, 5))
        share = padding_of_captions([caption_rows(model, batch) for batch in batches])
        yield f"padding: {share:.1%} of the target positions"

    def validate(self, model: nn.Module, dtype: torch.dtype) -> Scores:
        checked = self._prepared.validation
        loss = mean_loss(self.objective, model, every_caption(checked, VALIDATION_PICTURES))
        assert isinstance(model, Model)
        reading = self._setting(model)
        captioner = self._captioner(model, reading)
        if not captioner.search_natively(self._config.model, dtype):
            model.eval().to(dtype)
        scores = self._text_scores(captioner)
        return Scores(loss, scores, baselines.of_text(scores[0]))

    def _text_scores(self, captioner: Captioner) -> tuple[Score, ...]:
        config, prepared = self._config, self._prepared
        chosen = spread(range(len(prepared.validation)), config.validation.decode_pictures)
        pointed = self._pointed(chosen)
        captions = captioner.caption(
            [prepared.validation.input(index) for index in chosen],
            beam=config.validation.beam,
            looks=pointed is not None,
        )
        texts = [caption.text for caption in captions]
        scores = score_captions(
            texts,
            [prepared.checked.captions[index] for index in chosen],
            tokenizer=caption_tokenizer(config.data.language),
            resamples=0,
        )
        scores = [score for score in scores if score.name in FIGURES]
        if pointed is not None and captioner.reading is not None:
            maps = [caption.looks for caption in captions]
            if looks := list(pointed.looks(texts, maps)):  # early captions may have no noun
                scores += score_pointing(looks)[:1]
        on = f"{len(chosen)} validation images, beam {config.validation.beam}"
        return tuple(replace(score, on=on) for score in scores)

    def write(
        self, folder: Path, weights: Mapping[str, Tensor], scores: Scores, facts: RunStats
    ) -> None:
        config, prepared = self._config, self._prepared
        reading = self._setting(self._filled(weights))
        section = config.model
        if (eye := prepared.eye) is not None:
            weights = eye.with_frozen(weights)
            section = section.model_copy(update={"encoder": eye.own_config})
        bundle = BundleConfig(
            task="captioning",
            model=section.model_dump(),
            plugins=digests_of(config.plugins),
            vocabulary_size=prepared.tokenizer.size,
            target_language=config.data.language,
            max_tokens=config.data.max_tokens,
            alignment_layer=None if reading is None else reading.layer,
            alignment_at_input=reading is not None and reading.at_input,
            alignment_head=None if reading is None else reading.head,
        )
        captions = sum(map(len, prepared.train.captions))
        card = card_of(
            config.name,
            scores,
            facts,
            trained_on=prepared.sources,
            examples=f"{len(prepared.train):,} images, {captions:,} captions",
            per="target token",
            notes=() if eye is None else eye.notes,
        )
        write_bundle(folder, weights, bundle, prepared.tokenizer, card)

    def _filled(self, weights: Mapping[str, Tensor]) -> Model:
        with torch.random.fork_rng(devices=[]):  # the random state of training is not changed
            model = self.build().eval()
        assert isinstance(model, Model)
        copy_weights(model, weights)
        return model

    def _captioner(self, model: Model, setting: AlignmentSetting | None) -> Captioner:
        config = self._config
        return Captioner(
            model,
            self._prepared.tokenizer,
            picture_reader_of(config.model),
            max_tokens=config.data.max_tokens,
            language=config.data.language,
            reading=setting,
        )

    def _setting(self, model: Model) -> AlignmentSetting | None:
        """The alignment setting with the best pointing accuracy; without boxes, the default."""
        if not model.cross_sites:
            return None
        prepared = self._prepared
        chosen = spread(range(len(prepared.validation)), SETTING_PICTURES)
        pointed = self._pointed(chosen)
        if pointed is None:
            return default_setting(len(model.cross_sites))
        return choose_pointing_setting(
            self._captioner(model, default_setting(len(model.cross_sites))),
            [prepared.validation.input(index) for index in chosen],
            [prepared.checked.captions[index][0] for index in chosen],
            pointed,
        )

    def _pointed(self, chosen: Sequence[int]) -> Pointed | None:
        prepared = self._prepared
        if prepared.boxes is None:
            return None
        items = [prepared.checked.items[index] for index in chosen]
        sizes = picture_sizes((item.source, item.name) for item in items)
        return Pointed([item.name for item in items], sizes, self._gold)

    @cached_property
    def _gold(self) -> Gold:
        prepared = self._prepared
        assert prepared.boxes is not None
        return Gold(
            read_boxes(prepared.boxes, self._config.data.language),
            [
                Captioned(item.name, captions, 0)
                for item, captions in zip(
                    prepared.checked.items, prepared.checked.captions, strict=True
                )
            ],
        )


def _stream(config: CaptionConfig, prepared: PreparedCaptions) -> CaptionStream:
    data, training = config.data, config.training
    return CaptionStream(
        prepared.train,
        training.tokens_per_batch,
        training.tokens_per_micro_batch,
        data.captions_per_picture,
        config.seed,
        CaptionedAugmentation() if prepared.eye else CaptionedAugmentation(data.flip, data.shift),
    )
