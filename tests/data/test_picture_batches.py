"""The stream of pictures: order, augmentation and resuming."""

import numpy as np
import pytest
import torch

from jumok.data.pictures.batches import Augmentation, PictureStream, validation_pictures
from jumok.data.pictures.store import PictureStore
from jumok.errors import DataError
from tests.data.planning import assert_each_can_be_collated_alone


def store(count: int = 11) -> PictureStore:
    """Picture i is full of i."""
    numbers = np.arange(count)
    pixels = np.broadcast_to(numbers[:, None, None, None].astype(np.uint8), (count, 4, 5, 3))
    return PictureStore("key", pixels, numbers, tuple(map(str, numbers)))


PLAIN = Augmentation()


def stream(augmentation: Augmentation = PLAIN, seed: int = 1) -> PictureStream:
    return PictureStream(store(), 4, 3, augmentation, seed)


def labels(update: list) -> list[int]:
    return torch.cat([batch.labels for batch in update]).tolist()


def test_every_epoch_is_every_picture_once_in_another_order() -> None:
    pictures = stream()
    seen = [label for _ in range(11) for label in labels(next(pictures))]  # 44 are 4 epochs
    epochs = [seen[start : start + 11] for start in range(0, 44, 11)]
    assert all(sorted(epoch) == list(range(11)) for epoch in epochs)
    assert len(set(map(tuple, epochs))) == 4


def test_an_update_is_cut_into_micro_batches() -> None:
    update = next(stream())
    assert [batch.targets for batch in update] == [3, 1]
    assert update[0].pixels.shape == (3, 3, 4, 5)
    assert update[0].pixels[:, 0, 0, 0].tolist() == update[0].labels.tolist()


def test_a_resumed_stream_hands_out_the_same() -> None:
    first, second = (stream(Augmentation(flip=True, shift=2)) for _ in range(2))
    for _ in range(5):
        next(first)
    second.restore(first.cursor)
    for _ in range(4):
        for one, other in zip(next(first), next(second), strict=True):
            assert torch.equal(one.pixels, other.pixels)
            assert torch.equal(one.labels, other.labels)


def test_another_seed_gives_another_order() -> None:
    assert labels(next(stream(seed=1))) != labels(next(stream(seed=2)))


def test_half_of_the_pictures_are_mirrored() -> None:
    pixels = np.zeros((1000, 1, 2, 1), dtype=np.uint8)
    pixels[:, :, 0] = 1
    Augmentation(flip=True).apply(pixels, np.random.default_rng(1))
    assert (pixels.sum(axis=2) == 1).all()
    assert 440 < pixels[:, 0, 1, 0].sum() < 560


def test_a_shift_moves_a_picture_and_lets_black_in() -> None:
    pixels = np.full((500, 3, 3, 1), 9, dtype=np.uint8)
    Augmentation(shift=1).apply(pixels, np.random.default_rng(1))
    kept = (pixels > 0).sum(axis=(1, 2, 3))
    assert set(kept.tolist()) == {9, 6, 4}  # not moved, moved along one side, along both
    assert (pixels[:, 1, 1, 0] == 9).all()


def test_validation_sees_each_picture_once_unchanged() -> None:
    batches = list(validation_pictures(store(), 4))
    assert [batch.targets for batch in batches] == [4, 4, 3]
    assert torch.cat([batch.labels for batch in batches]).tolist() == list(range(11))


@pytest.mark.parametrize("other", [{"seed": 2}, {"augmentation": Augmentation(flip=True)}])
def test_a_cursor_of_another_stream_is_refused(other) -> None:
    with pytest.raises(DataError, match="has changed since training stopped"):
        stream().restore(stream(**other).cursor)


def test_each_batch_of_pictures_is_collated_alone() -> None:
    assert_each_can_be_collated_alone(*(stream(Augmentation(flip=True, shift=1)) for _ in range(2)))
