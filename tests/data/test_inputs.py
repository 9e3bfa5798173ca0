"""Pictures as arrays on disk: what is stored, what is refused, and what a row is told."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import save

from jumok.data.captions.store import (
    FeatureSource,
    Item,
    feature_reader,
    pixel_reader,
    store_inputs,
)
from jumok.data.files.images import ImageSource
from jumok.errors import DataError, Location


def picture(folder: Path, name: str, colour: tuple[int, int, int], size: tuple[int, int]) -> Path:
    file = folder / name
    Image.new("RGB", size, colour).save(file)
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "images"
    found.mkdir()
    picture(found, "red.png", (255, 0, 0), (9, 5))
    picture(found, "blue.png", (0, 0, 255), (4, 4))
    return found


def items(folder: Path, *names: str) -> list[Item]:
    source = ImageSource(folder)
    table = folder.parent / "captions.tsv"
    return [Item(source, name, Location(table, line)) for line, name in enumerate(names, start=1)]


def test_pixels_are_stored_colour_by_colour_at_the_models_size(folder, tmp_path):
    stored = store_inputs(items(folder, "red.png", "blue.png"), pixel_reader(3), tmp_path / "c")
    assert stored.values.shape == (2, 3, 3, 3)
    assert stored.values.dtype == np.uint8
    assert stored.values[0, :, 1, 1].tolist() == [255, 0, 0]
    assert stored.values[1, :, 2, 0].tolist() == [0, 0, 255]
    assert (stored.kept, stored.faults) == ((0, 1), ())


def test_the_same_pictures_are_not_read_again(folder, tmp_path):
    first = store_inputs(items(folder, "red.png"), pixel_reader(3), tmp_path / "c")
    (folder / "red.png").rename(folder / "other.png")
    again = store_inputs(items(folder, "other.png"), pixel_reader(3), tmp_path / "c")
    larger = store_inputs(items(folder, "other.png"), pixel_reader(4), tmp_path / "c")
    assert again.key == first.key
    assert larger.key != first.key
    assert len(list((tmp_path / "c").iterdir())) == 2


def test_a_changed_picture_is_read_anew(folder, tmp_path):
    first = store_inputs(items(folder, "red.png"), pixel_reader(3), tmp_path / "c")
    picture(folder, "red.png", (200, 0, 0), (9, 5))
    assert store_inputs(items(folder, "red.png"), pixel_reader(3), tmp_path / "c").key != first.key


def test_a_damaged_picture_stops_with_file_and_row(folder, tmp_path):
    (folder / "bad.png").write_bytes(b"hello")
    with pytest.raises(DataError) as error:
        store_inputs(items(folder, "red.png", "bad.png"), pixel_reader(3), tmp_path / "c")
    assert str(error.value) == (
        f"{tmp_path}/captions.tsv, line 2: the image of this row cannot be used: "
        "the file is not an image.\n"
        "  expected: one of JPEG, PNG, GIF, BMP, WEBP, TIFF, PPM\n"
        f"  got:      {folder}/bad.png: 5 bytes that begin with 'hello'\n"
        "  do:       repair the file, remove the row, or set data.skip_damaged = true"
    )
    assert list((tmp_path / "c").iterdir()) == []


def test_damaged_pictures_are_skipped_where_that_is_wanted(folder, tmp_path):
    (folder / "bad.png").write_bytes(b"")
    names = ("bad.png", "red.png")
    stored = store_inputs(items(folder, *names), pixel_reader(2), tmp_path / "c", skip=True)
    assert stored.kept == (1,)
    assert stored.faults == (
        f"{tmp_path}/captions.tsv, line 1: "
        "the image of this row cannot be used: the file is empty.",
    )
    assert stored.values[0, 0, 0, 0] == 255


def test_what_cannot_be_extracted_or_opened_is_skipped_too(tmp_path):
    archive = tmp_path / "images.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.png", b"a")
        file.write(picture(tmp_path, "red.png", (255, 0, 0), (2, 2)), "red.png")
    archive.write_bytes(archive.read_bytes().replace(b"a.pnga", b"a.pngb"))  # another CRC
    files = items(archive, "a.png", "red.png")
    stored = store_inputs(files, pixel_reader(2), tmp_path / "c", skip=True)
    assert (stored.kept, len(stored.faults)) == ((1,), 1)
    assert "line 1: the image of this row cannot be used: the image cannot be" in stored.faults[0]
    with pytest.raises(DataError, match="line 1: the image of this row cannot be used"):
        store_inputs(files, pixel_reader(2), tmp_path / "c")
    (tmp_path / "one.npy").mkdir()
    source = FeatureSource(tmp_path)
    folder = [Item(source, "one.jpg", Location("t.tsv", 1))]
    with pytest.raises(DataError, match=r"(?s)line 1: .*this is a folder"):
        store_inputs(folder, feature_reader(1, 1, 2), tmp_path / "c")


def test_nothing_but_damaged_pictures_is_refused(folder, tmp_path):
    (folder / "bad.png").write_bytes(b"")
    with pytest.raises(DataError, match="none of the images can be read"):
        store_inputs(items(folder, "bad.png"), pixel_reader(2), tmp_path / "c", skip=True)


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.mark.parametrize("shape", [(6, 5), (2, 3, 5)])
@pytest.mark.parametrize("suffix", ["npy", "safetensors"])
def test_features_are_read_flat_or_as_a_grid(shape, suffix):
    array = np.arange(30, dtype=np.float16).reshape(shape)
    content = npy(array) if suffix == "npy" else save({"features": array})
    found = feature_reader(2, 3, 5).read(content, f"a.{suffix}")
    assert found.dtype == np.float32
    assert found.tolist() == np.arange(30.0).reshape(6, 5).tolist()


def test_features_of_another_shape_are_refused():
    with pytest.raises(DataError) as error:
        feature_reader(2, 3, 5).read(npy(np.zeros((3, 5))), "a.npy")
    assert str(error.value) == (
        "a.npy: the features do not have the model's input shape.\n"
        "  expected: (6, 5) or (2, 3, 5)\n"
        "  got:      (3, 5)\n"
        "  do:       compute them again, or set their rows, columns and dim in [model.encoder]"
    )


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"hello", "a.npy"),
        (npy(np.zeros(3))[:-2], "a.npy"),
        (b"hello", "a.safetensors"),
        (npy(np.array([{}], dtype=object)), "a.npy"),
    ],
)
def test_features_that_cannot_be_read_name_their_file(content, name):
    with pytest.raises(DataError, match=f"{name}: the features cannot be read"):
        feature_reader(1, 1, 3).read(content, name)


def test_a_pictures_features_are_found_by_its_name(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "one.npy").write_bytes(npy(np.full((1, 2), 7.0)))
    source = FeatureSource(tmp_path)
    assert source.names == ("b/one",)
    assert "b/one.jpg" in source
    assert "b/one" in source
    assert "b/two.jpg" not in source
    stored = store_inputs(
        [Item(source, "b/one.jpg", Location("t.tsv", 1))], feature_reader(1, 1, 2), tmp_path / "c"
    )
    assert stored.values.tolist() == [[[7.0, 7.0]]]


def test_a_missing_folder_of_features_is_named(tmp_path):
    with pytest.raises(DataError, match="there is no such folder of features"):
        FeatureSource(tmp_path / "none")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.full((6, 4), 1e300), "not finite in float32"),
        (np.full((6, 4), np.nan), "not finite in float32"),
        (np.full((6, 4), "text"), "the features cannot be read"),
        (np.full((6, 4), 1j), "the features cannot be read"),
    ],
)
def test_features_that_are_no_numbers_are_refused(values: np.ndarray, said: str) -> None:
    file = io.BytesIO()
    np.save(file, values)
    with pytest.raises(DataError, match=said):
        feature_reader(2, 3, 4).read(file.getvalue(), "a.npy")


def test_an_image_in_place_of_features_is_named() -> None:
    with pytest.raises(DataError, match="this is an image, and the model reads features"):
        feature_reader(1, 1, 3).read(b"\xff\xd8\xff\xe0" + bytes(64), "a.jpg")
