"""Batches of pictures and captions: what stands in them, and in which order they come."""

from itertools import chain, islice

import numpy as np
import pytest
import torch

from jumok.data.captions.batches import (
    CaptionedAugmentation,
    CaptionedPictures,
    CaptionStream,
    every_caption,
    padding_of_captions,
)
from jumok.errors import DataError
from tests.data.planning import assert_each_can_be_collated_alone

START, END, PAD = 2, 3, 0


def pictures(count: int = 7, captions: int = 2) -> CaptionedPictures:
    """Picture i is filled with i; its captions are i + 10, and i + 10 twice, ..."""
    inputs = np.stack([np.full((3, 4, 5), i, dtype=np.uint8) for i in range(count)])
    texts = [[[i + 10] * (each + 1) for each in range(captions)] for i in range(count)]
    return CaptionedPictures(inputs, texts, "key")


def stream(captions: int = 2, seed: int = 1, **options: object) -> CaptionStream:
    return CaptionStream(pictures(captions=2), 15, 10, captions, seed, **options)


def test_a_batch_looks_at_a_picture_once_for_all_its_captions():
    batch = pictures().batch([(3, [0, 1]), (5, [1])])
    assert batch.pictures.shape == (2, 3, 4, 5)
    assert batch.pictures[:, 0, 0, 0].tolist() == [3, 5]
    assert batch.rows.tolist() == [0, 0, 1]
    assert batch.target_input.tolist() == [[START, 13, PAD], [START, 13, 13], [START, 15, 15]]
    assert batch.target_output.tolist() == [[13, END, PAD], [13, 13, END], [15, 15, END]]
    assert (batch.targets, batch.sources) == (2 + 3 + 3, 2)


def test_every_picture_comes_once_an_epoch():
    updates = list(islice(stream(), 7))  # of 3 pictures of 5 tokens: three epochs
    seen = [int(p) for batch in chain(*updates) for p in batch.pictures[:, 0, 0, 0]]
    assert [len(update) for update in updates] == [2] * 7
    for epoch in range(3):
        assert sorted(seen[7 * epoch : 7 * epoch + 7]) == list(range(7))
    assert seen[:7] != seen[7:14]


def test_a_stream_goes_on_where_its_cursor_was_taken():
    whole, begun = stream(1), stream(1)
    expected = list(islice(whole, 9))[5:]
    list(islice(begun, 5))
    resumed = stream(1)
    resumed.restore(begun.cursor)
    for found, wanted in zip(islice(resumed, 4), expected, strict=True):
        for ours, theirs in zip(found, wanted, strict=True):
            assert torch.equal(ours.pictures, theirs.pictures)
            assert torch.equal(ours.target_input, theirs.target_input)


def test_a_cursor_of_other_batches_is_refused():
    with pytest.raises(DataError, match="the data has changed since training stopped"):
        stream(seed=2).restore(stream().cursor)


def test_captions_are_drawn_anew_where_a_picture_has_more():
    lengths = set()
    for batch in chain(*islice(stream(1), 12)):
        assert len(batch.rows) == len(batch.pictures)
        lengths |= set((batch.target_output != PAD).sum(1).tolist())
    assert lengths == {2, 3}


def test_padding_is_the_share_that_is_not_real():
    assert padding_of_captions([pictures().batch([(0, [0, 1])]).apart]) == pytest.approx(1 / 6)


def test_validation_takes_every_caption_once():
    batches = every_caption(pictures(), 3)
    assert [batch.sources for batch in batches] == [3, 3, 1]
    assert sum(batch.targets for batch in batches) == pictures().tokens


def ramp() -> torch.Tensor:
    """Pixel (row, column) is 10 row + column."""
    rows, columns = torch.arange(4)[:, None], torch.arange(5)
    return (10 * rows + columns).to(torch.uint8).expand(2, 3, 4, 5)


def test_a_shift_repeats_the_edge():
    random = np.random.default_rng(0)
    moved = {
        tuple(picture[0, 0, :2].tolist())
        for _ in range(40)
        for picture in CaptionedAugmentation(shift=1).apply(ramp(), random)
    }
    # from the row above (which repeats the edge), the same and the one below; columns likewise
    assert moved == {(0, 0), (0, 1), (1, 2), (10, 10), (10, 11), (11, 12)}


def test_a_flip_turns_every_second_picture_on_average():
    random = np.random.default_rng(0)
    flipped = CaptionedAugmentation(flip=True).apply(ramp().repeat(50, 1, 1, 1), random)
    first = flipped[:, 0, 0, 0].tolist()
    assert set(first) == {0, 4}
    assert 30 < first.count(4) < 70


def test_nothing_is_moved_unless_it_is_wanted():
    assert CaptionedAugmentation().apply(ramp(), np.random.default_rng(0)) is not None
    assert torch.equal(CaptionedAugmentation().apply(ramp(), np.random.default_rng(0)), ramp())


def test_each_batch_of_captions_is_collated_alone():
    assert_each_can_be_collated_alone(*(stream(captions=1) for _ in range(2)))
    planned, batches = stream().planned(), next(stream())
    assert [each.work for each in planned] == [batch.work for batch in batches]
