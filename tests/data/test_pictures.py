"""Labelled pictures in their three shapes, of which IDX is the format of MNIST."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from jumok.data.pictures.corpus import PictureSource, Shape, read_idx
from jumok.errors import DataError
from tests.data.painted import pack, paint, picture, write_idx


def test_a_folder_and_its_archive_hold_the_same_pictures(tmp_path: Path) -> None:
    folder = paint(tmp_path / "all", 2)
    found = [list(PictureSource(folder=each).read()) for each in (folder, pack(folder))]
    assert [one.label for one in found[0]] == ["blue", "blue", "green", "green", "red", "red"]
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one.pixels, other.pixels)
        assert one.label == other.label
    assert np.array_equal(found[0][3].pixels, picture("green", 1))


def test_a_table_names_files_beside_it(tmp_path: Path) -> None:
    paint(tmp_path / "all", 2)
    table = tmp_path / "table.tsv"
    table.write_text("file\tlabel\nall/red/0001.png\twarm\nall/blue/0000.png\tcold\n")
    found = list(PictureSource(table=table).read())
    assert [one.label for one in found] == ["warm", "cold"]
    assert np.array_equal(found[1].pixels, picture("blue", 0))


def test_idx_pictures_are_grey_and_their_labels_numbers(tmp_path: Path) -> None:
    grey = np.arange(2 * 3 * 5, dtype=np.uint8).reshape(2, 3, 5)
    source = PictureSource(
        images=write_idx(tmp_path / "images.gz", grey),
        labels=write_idx(tmp_path / "labels.gz", np.array([7, 0])),
    )
    found = list(source.read())
    assert [one.label for one in found] == ["7", "0"]
    assert str(found[1].place) == f"{tmp_path / 'images.gz'}, image 2"
    assert found[1].pixels[2, 4].tolist() == [29, 29, 29]
    assert np.array_equal(Shape(3, 5, 1).fit(found[0].pixels)[:, :, 0], grey[0])


def test_a_shape_stretches_and_weighs_colours() -> None:
    pixels = np.zeros((2, 4, 3), dtype=np.uint8)
    pixels[:, :2] = (255, 0, 0)
    assert Shape(6, 8, 3).fit(pixels).shape == (6, 8, 3)
    grey = Shape(2, 4, 1).fit(pixels)
    assert grey[0, :, 0].tolist() == [76, 76, 0, 0]  # ITU-R BT.601: 0.299 x 255


def test_a_damaged_picture_comes_with_its_error(tmp_path: Path) -> None:
    folder = paint(tmp_path / "all", 1)
    (folder / "green" / "0000.png").write_bytes(b"not a picture")
    found = list(PictureSource(folder=folder).read())
    assert [isinstance(one.pixels, DataError) for one in found] == [False, True, False]
    assert "green/0000.png" in str(found[1].pixels)


def test_a_table_names_the_row_of_a_missing_picture(tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("file\tlabel\nnowhere.png\tx\n")
    (found,) = PictureSource(table=table).read()
    assert isinstance(found.pixels, DataError)
    said = str(found.pixels)
    assert said.startswith(f"{table}, line 2: there is no such file.")
    assert "nowhere.png" in said


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("name\tlabel\na.png\tx\n", "there is no column 'file'"),
        ("file\tlabel\na.png\n", "line 2: the row has too few columns"),
    ],
)
def test_a_faulty_table_is_refused(tmp_path: Path, rows: str, said: str) -> None:
    (tmp_path / "table.tsv").write_text(rows)
    with pytest.raises(DataError, match=said):
        list(PictureSource(table=tmp_path / "table.tsv").read())


def test_a_picture_without_a_labels_folder_is_named(tmp_path: Path) -> None:
    folder = paint(tmp_path / "all", 1)
    (folder / "stray.png").write_bytes((folder / "red" / "0000.png").read_bytes())
    *_, stray = PictureSource(folder=folder).read()
    assert "stray.png: the image is not in the folder of a label" in str(stray.pixels)


def test_a_row_without_a_label_is_named(tmp_path: Path) -> None:
    (tmp_path / "table.tsv").write_text("file\tlabel\na.png\t \n")
    (found,) = PictureSource(table=tmp_path / "table.tsv").read()
    assert "table.tsv, line 2: the row has no label" in str(found.pixels)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there are no images in this folder or archive"):
        list(PictureSource(folder=tmp_path).read())


def test_labels_that_do_not_count_the_pictures_are_refused(tmp_path: Path) -> None:
    source = PictureSource(
        images=write_idx(tmp_path / "images", np.zeros((2, 3, 5))),
        labels=write_idx(tmp_path / "labels", np.zeros(3)),
    )
    with pytest.raises(
        DataError, match=r"(?s)the numbers of labels and images differ.*expected: 2 labels"
    ):
        list(source.read())


def test_another_archive_of_the_same_name_is_other_content(tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("file\tlabel\nall.zip/red/0000.png\twarm\n")
    seen = set()
    for count in (1, 2):
        pack(paint(tmp_path / f"{count}" / "all", count)).replace(tmp_path / "all.zip")
        seen.add(tuple(PictureSource(table=table).identity()))
    assert len(seen) == 2


def test_the_header_is_as_lecun_describes_it(tmp_path: Path) -> None:
    file = tmp_path / "by-hand"
    file.write_bytes(bytes.fromhex("00000803 00000001 00000002 00000003 0102030405FF"))
    assert read_idx(file, 3).tolist() == [[[1, 2, 3], [4, 5, 255]]]


@pytest.mark.parametrize(
    ("content", "axes", "said"),
    [
        (b"\x89PNG....", 3, "not an IDX file of unsigned bytes"),
        (b"\0\0", 1, "not an IDX file of unsigned bytes"),
        (bytes.fromhex("00000D01 00000000"), 1, "begin with 00 00 0d 01"),
        (bytes.fromhex("00000801 00000001 05") + b"\0" * 9, 3, "images` and `labels` are not swap"),
        (bytes.fromhex("00000801 00000003 0506"), 1, "expected: 3 = 3 values\n  got:      2"),
    ],
)
def test_what_is_no_idx_file_is_refused(
    tmp_path: Path, content: bytes, axes: int, said: str
) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_idx(tmp_path / "file", axes)


def test_a_file_cut_short_inside_its_compression_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(bytes.fromhex("00000801 00000003 050607"))
    (tmp_path / "labels.gz").write_bytes(whole[:-9])
    with pytest.raises(DataError, match="damaged or truncated"):
        read_idx(tmp_path / "labels.gz", 1)
