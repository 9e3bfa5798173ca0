"""Images in, labels out."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from jumok.bundle.card import BundleConfig
from jumok.bundle.writing import write_bundle
from jumok.config import ImageClassificationConfig
from jumok.config.eye import EyeConfig
from jumok.data.pictures.batches import Augmentation, PictureStream, validation_pictures
from jumok.data.pictures.corpus import PictureSource, Shape
from jumok.data.pictures.store import PictureStore, prepare_pictures
from jumok.errors import DataError
from jumok.evaluation.classification import ClassifiedExamples
from jumok.models.catalog import DataSizes, build
from jumok.models.image_classifier import ImageClassifier
from jumok.plugins import digests_of
from jumok.shapes import Tensor
from jumok.training import baselines
from jumok.training.objectives import picture_classification
from jumok.training.preparing.eye import PretrainedEye, Views, pretrained_eye
from jumok.training.task import (
    Objective,
    Reporter,
    RunStats,
    Scores,
    UpdateSource,
    card_of,
    model_line,
)


class ImageClassificationTask:
    """Images with labels, and a model that predicts the label."""

    def __init__(
        self,
        config: ImageClassificationConfig,
        train: PictureStore,
        validation: PictureStore,
        eye: PretrainedEye | None = None,
    ) -> None:
        self._config, self._train, self._validation = config, train, validation
        self._eye = eye
        self.objective: Objective = picture_classification
        self.unit = "images"
        training, augmentation = config.training, config.data.augmentation
        self.updates: UpdateSource = PictureStream(
            train,
            training.tokens_per_batch,
            training.tokens_per_micro_batch,
            Augmentation(augmentation.flip, augmentation.shift),
            config.seed,
        )

    @classmethod
    def prepare(
        cls, config: ImageClassificationConfig, home: Path, cache: Path, say: Reporter
    ) -> "ImageClassificationTask":
        """Reads the images, or finds them in the cache, and reports what was left out."""
        data, model = config.data, config.model
        shape = Shape(*model.input_shape)
        skip = data.skip_damaged
        sources = [PictureSource(**dict(one)) for one in data.train]
        train = prepare_pictures(sources, shape, cache, skip_damaged=skip)
        if len(train.labels) < 2:
            raise DataError(
                "a classifier needs at least two different labels.",
                expected="images of at least two labels",
                got=f"the label {train.labels[0]!r} alone",
                do="check data.train: the label of an image is the name of its folder",
            )
        left_out = train.left_out
        if data.validation:
            checked = [PictureSource(**dict(one)) for one in data.validation]
            validation = prepare_pictures(
                checked, shape, cache, labels=train.labels, skip_damaged=skip
            )
            left_out += validation.left_out
        else:
            train, validation = train.hold_out(data.validation_pictures)
            say(f"no validation data given: {len(validation):,} images are held out")
        if left_out:
            say(f"images left out: {len(left_out):,}; the first: {left_out[0]}")
        eye = None
        if isinstance(model.encoder, EyeConfig):
            eye = pretrained_eye(model.encoder, home, say)
            changes = data.augmentation
            views = Views(changes.views, changes.flip, changes.shift)
            train = eye.with_features(train, views, cache)
            validation = eye.with_features(validation, Views(), cache)
        return cls(config, train, validation, eye)

    @property
    def labels(self) -> tuple[str, ...]:
        return self._train.labels

    def build(self) -> nn.Module:
        model = build(self._config.model, DataSizes(labels=len(self._train.labels)))
        if self._eye is not None:
            assert isinstance(model, ImageClassifier)
            assert model.cells is not None
            self._eye.fill(model.cells)
        return model

    def describe(self, model: nn.Module) -> Iterator[str]:
        yield model_line(model, self._config.model.summary)
        yield (
            f"data: {len(self._train):,} images of {len(self._train.labels)} labels, "
            f"{self._config.training.tokens_per_batch:,} per step; "
            f"{len(self._validation):,} to validate on"
        )

    @torch.no_grad()
    def validate(self, model: nn.Module, dtype: torch.dtype) -> Scores:
        model.to(dtype)
        device = next(model.parameters()).device
        loss = 0.0
        predicted: list[int] = []
        size = self._config.training.tokens_per_micro_batch
        for batch in validation_pictures(self._validation, size):
            logits = model(batch.pixels.to(device)).float().cpu()
            loss += float(F.cross_entropy(logits, batch.labels, reduction="sum"))
            predicted += logits.argmax(dim=1).tolist()
        labelled = ClassifiedExamples.of(self._validation.numbers.tolist(), predicted)
        on = f"{len(predicted):,} validation images"
        scores = labelled.scores(self._train.labels, on, resamples=0)
        untrained = baselines.of_labels(
            scores[0].value, self._train.labels, self._validation.numbers
        )
        return Scores(loss / len(predicted), scores, untrained)

    def write(
        self, folder: Path, weights: Mapping[str, Tensor], scores: Scores, facts: RunStats
    ) -> None:
        train, section = self._train, self._config.model
        if (eye := self._eye) is not None:
            weights = eye.with_frozen(weights)
            section = section.model_copy(update={"encoder": eye.own_config})
        bundle = BundleConfig(
            task="image-classification",
            model=section.model_dump(mode="json"),
            plugins=digests_of(self._config.plugins),
            labels=train.labels,
        )
        card = card_of(
            self._config.name,
            scores,
            facts,
            trained_on=(PictureSource(**dict(one)).title for one in self._config.data.train),
            examples=f"{len(train):,} images",
            per="image",
            notes=() if eye is None else eye.notes,
        )
        write_bundle(folder, weights, bundle, None, card)
