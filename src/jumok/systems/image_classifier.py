"""Image classification system."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from jumok.attention.events import emit
from jumok.bundle.reading import Bundle
from jumok.config.pictures import ImageClassifierConfig
from jumok.data.files.images import Pixels, read_image
from jumok.data.pictures.batches import as_tensor
from jumok.data.pictures.corpus import Fitted, Shape
from jumok.errors import BundleError, Location
from jumok.models.image_classifier import ImageClassifier
from jumok.systems.base import GIVEN, ROWS, Facts, System, loaded_from
from jumok.systems.classification import Classification, ranked
from jumok.systems.device import PrecisionName, choose_device, dtype_of
from jumok.systems.given import check_pictures
from jumok.systems.loading import load_ready_model, read_bundles

PictureInput = Path | str | Pixels
"""A file, or pixels (height width 3) as bytes."""


class ImageClassification(System):
    """One model, or several of the same labels whose probabilities are averaged.

    Args:
        shape: the size and colours that images are converted to.
    """

    task = "image-classification"

    def __init__(
        self, models: Sequence[ImageClassifier], labels: Sequence[str], shape: Shape
    ) -> None:
        self._models, self.labels, self.shape = tuple(models), tuple(labels), shape

    def answer(self, given: Sequence[str]) -> list[Facts]:
        return [each.facts() for each in self.classify(given)]

    @classmethod
    def load(
        cls,
        *folders: Bundle | Path | str,
        device: str = "auto",
        precision: PrecisionName = "fp32",
    ) -> "ImageClassification":
        """The models in these folders.

        Raises:
            BundleError: a bundle is missing or damaged, or the models do not go together.
            ConfigError: the device does not exist.
        """
        where = choose_device(device)
        bundles = read_bundles(folders, "image-classification")
        shapes = [_shape_of(bundle) for bundle in bundles]
        models = []
        for bundle, shape in zip(bundles, shapes, strict=True):
            if (bundle.config.labels, shape) != (bundles[0].config.labels, shapes[0]):
                raise BundleError(
                    "these models do not go together.",
                    expected="the same labels, and images of the same size",
                    place=Location(bundle.folder),
                )
            models.append(load_ready_model(bundle, ImageClassifier, where, dtype_of(precision)))
        return loaded_from(
            cls(models, bundles[0].config.labels, shapes[0]), bundles, device, precision
        )

    @property
    def models(self) -> tuple[ImageClassifier, ...]:
        return self.expose(self._models)

    def _modules(self) -> Sequence[ImageClassifier]:
        return self._models

    @torch.no_grad()
    def classify(
        self, pictures: Sequence[PictureInput], batch_size: int = 64
    ) -> list[Classification]:
        """The label of each image, in their order.

        Raises:
            DataError: an image cannot be read, or not a list of images.
        """
        check_pictures(pictures)
        emit(self, GIVEN, len(pictures))
        fitted = [self.fit(picture) for picture in pictures]
        classifications: list[Classification] = []
        for start in range(0, len(fitted), batch_size):
            emit(self, ROWS, range(start, min(start + batch_size, len(fitted))))
            classifications += self.classify_fitted(np.stack(fitted[start : start + batch_size]))
        return classifications

    def fit(self, picture: PictureInput) -> Fitted:
        """The image in the models' size and colours.

        Raises:
            DataError: it cannot be read.
        """
        pixels = picture if isinstance(picture, np.ndarray) else read_image(Path(picture))
        return self.shape.fit(pixels)

    @torch.no_grad()
    def classify_fitted(self, pixels: np.ndarray) -> list[Classification]:
        """The labels of these images (image height width colours)."""
        tensor = as_tensor(pixels).to(self._models[0].output.weight.device)
        probabilities = (
            torch.stack([model.probabilities(tensor) for model in self._models]).mean(0).cpu()
        )
        return [ranked(row, self.labels) for row in probabilities]


def _shape_of(bundle: Bundle) -> Shape:
    """The size and colours of images that a bundle's model reads."""
    config = bundle.section
    if not isinstance(config, ImageClassifierConfig):
        raise BundleError(
            "this bundle holds another kind of model.",
            expected="an image classifier",
            got=config.kind,
            place=Location(bundle.folder),
        )
    return Shape(*config.input_shape)
