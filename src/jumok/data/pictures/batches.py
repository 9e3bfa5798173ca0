"""Images as tensors: the input of a classifier in training and validation."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import torch

from jumok.data.pictures.store import PictureStore
from jumok.data.planned import NumberedUpdates, Planned
from jumok.data.store import Rows
from jumok.shapes import Int, Tensor, UInt8


@dataclass(frozen=True)
class PictureBatch:
    """Images of one size, or what a pretrained encoder computed for them, and the numbers of their
    labels.
    """

    pixels: Tensor
    labels: Int[Tensor, " batch"]

    @property
    def targets(self) -> int:
        return len(self.labels)

    @property
    def sources(self) -> int:
        return len(self.labels)

    @property
    def work(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Augmentation:
    """Random changes that do not change the label.

    Attributes:
        flip: mirror every second image, at random.
        shift: at most, in pixels along both sides, filled with black: "random crop after padding".
    """

    flip: bool = False
    shift: int = 0

    def apply(self, pixels: npt.NDArray[np.uint8], random: np.random.Generator) -> None:
        """Changes the images (picture height width colours) in place."""
        if self.flip:
            mirrored = random.random(len(pixels)) < 0.5
            pixels[mirrored] = pixels[mirrored, :, ::-1]
        if self.shift:
            height, width = pixels.shape[1:3]
            margin = ((0, 0), (self.shift, self.shift), (self.shift, self.shift), (0, 0))
            padded = np.pad(pixels, margin)
            moves = random.integers(0, 2 * self.shift + 1, (len(pixels), 2)).tolist()
            for index, (down, right) in enumerate(moves):
                pixels[index] = padded[index, down : down + height, right : right + width]


class PictureStream(NumberedUpdates[PictureBatch]):
    """Updates of images, in a new order every epoch, into which an update may continue.

    Args:
        batch: images of an update.
        micro_batch: images of a micro-batch.
    """

    def __init__(
        self,
        store: PictureStore,
        batch: int,
        micro_batch: int,
        augmentation: Augmentation,
        seed: int,
    ) -> None:
        super().__init__(
            f"pictures {store.key}, {batch} an update, {micro_batch} at once, seed {seed}, "
            f"{augmentation}"
        )
        self._store, self._batch, self._micro_batch = store, batch, micro_batch
        self._augmentation, self._seed = augmentation, seed
        self._epoch, self._order = -1, np.empty(0, dtype=np.int64)

    def planned(self) -> list[Planned[PictureBatch]]:
        rows, size = self._rows(), self._micro_batch
        parts = [rows[start : start + size] for start in range(0, len(rows), size)]
        planned = [
            Planned(len(part), partial(self._batch_of, (self._update, number), part))
            for number, part in enumerate(parts)
        ]
        self._update += 1
        return planned

    def _batch_of(self, place: tuple[int, int], rows: Rows) -> PictureBatch:
        random = np.random.default_rng([self._seed, 1, *place])
        if self._store.features is not None:
            views = random.integers(self._store.features.shape[1], size=len(rows))
            return _of_features(self._store, rows, views)
        pixels = self._store.pixels[rows]
        self._augmentation.apply(pixels, random)
        return as_batch(pixels, self._store.numbers[rows])

    @property
    def epoch_steps(self) -> float:
        return len(self._store) / self._batch

    def _rows(self) -> Rows:
        start, size = self._update * self._batch, len(self._store)
        taken: list[Rows] = []
        missing = self._batch
        while missing:
            epoch, first = divmod(start, size)
            if epoch != self._epoch:
                generator = np.random.default_rng([self._seed, 0, epoch])
                self._epoch, self._order = epoch, generator.permutation(size)
            taken.append(self._order[first : first + missing])
            missing -= len(taken[-1])
            start += len(taken[-1])
        return np.concatenate(taken)


def as_batch(pixels: npt.NDArray[np.uint8], labels: Rows) -> PictureBatch:
    """Images (picture height width colours) with labels."""
    return PictureBatch(as_tensor(pixels), torch.from_numpy(np.array(labels)))


def _of_features(store: PictureStore, rows: Rows, views: Rows) -> PictureBatch:
    assert store.features is not None
    features = torch.from_numpy(np.array(store.features[rows, views]))
    return PictureBatch(features, torch.from_numpy(np.array(store.numbers[rows])))


def as_tensor(
    pixels: npt.NDArray[np.uint8],
) -> UInt8[Tensor, "batch colours height width"]:
    """Images (picture height width colours) as a tensor, colours first."""
    return torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)))


def validation_pictures(store: PictureStore, size: int) -> Iterator[PictureBatch]:
    """Every image once, `size` at a time."""
    for start in range(0, len(store), size):
        rows = np.arange(start, min(start + size, len(store)))
        if store.features is not None:
            yield _of_features(store, rows, np.zeros_like(rows))  # the whole images
        else:
            yield as_batch(store.pixels[rows], store.numbers[rows])
