"""Prepared pictures: what is kept, found again, held out and refused."""

from pathlib import Path

import numpy as np
import pytest

from jumok.data.pictures.corpus import PictureSource, Shape
from jumok.data.pictures.store import prepare_pictures
from jumok.errors import DataError
from tests.data.painted import paint, picture

SHAPE = Shape(8, 10, 3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return paint(tmp_path / "all", 7)


def test_a_store_holds_every_picture_and_its_label(tmp_path: Path, folder: Path) -> None:
    store = prepare_pictures([PictureSource(folder=folder)], SHAPE, tmp_path / "cache")
    assert store.labels == ("blue", "green", "red")
    assert store.numbers.tolist() == [0] * 7 + [1] * 7 + [2] * 7
    assert np.array_equal(store.pixels[9], picture("green", 2))
    assert not store.pixels.flags.owndata


def test_labels_are_in_alphabetical_order_however_they_come(tmp_path: Path, folder: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("file\tlabel\nall/red/0000.png\tz\nall/blue/0000.png\tb\n")
    store = prepare_pictures([PictureSource(table=table)], SHAPE, tmp_path / "cache")
    assert (store.labels, store.numbers.tolist()) == (("b", "z"), [1, 0])


def test_the_same_content_is_prepared_once(tmp_path: Path, folder: Path) -> None:
    sources, cache = [PictureSource(folder=folder)], tmp_path / "cache"
    first = prepare_pictures(sources, SHAPE, cache)
    assert prepare_pictures(sources, SHAPE, cache).key == first.key
    assert prepare_pictures(sources, Shape(8, 10, 1), cache).key != first.key
    changed = folder / "red" / "0000.png"
    changed.write_bytes((folder / "red" / "0001.png").read_bytes())
    assert prepare_pictures(sources, SHAPE, cache).key != first.key
    assert len(list(cache.iterdir())) == 3


def test_a_changed_picture_with_a_decomposed_name_is_prepared_again(tmp_path: Path) -> None:
    """As macOS writes names; in the folder they are looked up in NFC."""
    folder, cache = paint(tmp_path / "all", 1), tmp_path / "cache"
    file = (folder / "red" / "0000.png").rename(folder / "red" / "cafe\u0301.png")
    first = prepare_pictures([PictureSource(folder=folder)], SHAPE, cache)
    file.write_bytes((folder / "blue" / "0000.png").read_bytes())
    assert prepare_pictures([PictureSource(folder=folder)], SHAPE, cache).key != first.key


def test_equal_pictures_are_held_out_together(tmp_path: Path, folder: Path) -> None:
    for copy in range(7):
        content = (folder / "red" / f"{copy:04}.png").read_bytes()
        (folder / "red" / f"copy{copy}.png").write_bytes(content)
    store = prepare_pictures([PictureSource(folder=folder)], SHAPE, tmp_path / "cache")
    train, out = store.hold_out(4)
    assert len(train) + len(out) == len(store)
    assert 1 <= len(out) <= 4
    seen = {each.tobytes() for each in train.pixels}
    assert not any(each.tobytes() in seen for each in out.pixels)
    assert len(store.hold_out(1)[1]) in (1, 2)


def test_one_picture_cannot_be_held_out(tmp_path: Path) -> None:
    folder = paint(tmp_path / "all", 1)
    for label in ("green", "red"):
        (folder / label / "0000.png").unlink()
    store = prepare_pictures([PictureSource(folder=folder)], SHAPE, tmp_path / "cache")
    with pytest.raises(DataError, match="too little data to hold some out"):
        store.hold_out(1)


def test_a_damaged_picture_stops_unless_it_may_be_skipped(tmp_path: Path, folder: Path) -> None:
    (folder / "green" / "0003.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    sources, cache = [PictureSource(folder=folder)], tmp_path / "cache"
    with pytest.raises(DataError, match=r"(?s)0003.png: .*data.skip_damaged = true") as caught:
        prepare_pictures(sources, SHAPE, cache)
    assert caught.value.exit_code == 2
    assert list(cache.iterdir()) == []
    for _ in range(2):  # the second time from the cache
        store = prepare_pictures(sources, SHAPE, cache, skip_damaged=True)
        assert len(store) == 20
        assert [left.split(": ")[0][-14:] for left in store.left_out] == ["green/0003.png"]


def test_a_label_that_training_never_saw_is_named(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(DataError, match=r"(?s)red/0000.png: .*expected: blue, green\n.*'red'"):
        prepare_pictures(
            [PictureSource(folder=folder)], SHAPE, tmp_path / "cache", labels=["blue", "green"]
        )


def test_pictures_of_unknown_labels_may_be_skipped_and_are_counted(
    tmp_path: Path, folder: Path
) -> None:
    (folder / "stray.png").write_bytes((folder / "red" / "0000.png").read_bytes())
    store = prepare_pictures(
        [PictureSource(folder=folder)],
        SHAPE,
        tmp_path / "cache",
        labels=["green", "blue"],
        skip_damaged=True,
    )
    assert (len(store), store.labels) == (14, ("green", "blue"))
    assert store.numbers.tolist() == [1] * 7 + [0] * 7
    assert len(store.left_out) == 8
    assert "not one of the training labels" in store.left_out[0]
