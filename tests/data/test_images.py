"""Pictures of every kind, each against pixels worked out by hand."""

import io
import struct
import unicodedata
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from jumok.data.files import images
from jumok.data.files.images import ImageSource, read_image, resize
from jumok.errors import DataError, MissingExtraError
from tests.missing import uninstall

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def saved(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def picture(mode: str, pixels: list[list[object]]) -> Image.Image:
    image = Image.new(mode, (len(pixels[0]), len(pixels)))
    image.putdata([each for row in pixels for each in row])
    return image


def png(width: int, height: int, depth: int = 8, kind: int = 0, data: bytes = b"\0\0") -> bytes:
    """A PNG file whose header may say anything."""
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)),
        (b"IDAT", zlib.compress(data)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )


def test_read_image_keeps_colours_rows_and_columns() -> None:
    pixels = read_image(saved(picture("RGB", [[RED, GREEN, BLUE], [(1, 2, 3), (4, 5, 6), WHITE]])))
    assert pixels.dtype == np.uint8
    assert pixels.shape == (2, 3, 3)
    assert pixels.tolist() == [
        [[255, 0, 0], [0, 255, 0], [0, 0, 255]],
        [[1, 2, 3], [4, 5, 6], [255, 255, 255]],
    ]


def test_read_image_makes_three_channels_of_grey_and_of_one_bit() -> None:
    assert read_image(saved(picture("L", [[0, 7, 255]]))).tolist() == [
        [[0] * 3, [7] * 3, [255] * 3]
    ]
    assert read_image(saved(picture("1", [[0, 255]]))).tolist() == [[[0] * 3, [255] * 3]]


def test_read_image_lays_transparent_pixels_on_white() -> None:
    layer = picture("RGBA", [[(0, 0, 0, 0), (255, 0, 0, 255), (0, 0, 0, 51)]])
    assert read_image(saved(layer)).tolist() == [[[255] * 3, [255, 0, 0], [204] * 3]]
    grey = picture("LA", [[(10, 255), (10, 0)]])
    assert read_image(saved(grey)).tolist() == [[[10] * 3, [255] * 3]]


def test_read_image_looks_palettes_up_with_their_transparent_entry() -> None:
    image = picture("P", [[0, 1, 2]])
    image.putpalette([*RED, *GREEN, 9, 8, 7])
    assert read_image(saved(image)).tolist() == [[[255, 0, 0], [0, 255, 0], [9, 8, 7]]]
    assert read_image(saved(image, transparency=1)).tolist()[0][1] == [255] * 3
    assert read_image(saved(image, "GIF")).tolist() == [[[255, 0, 0], [0, 255, 0], [9, 8, 7]]]


def test_read_image_converts_cmyk() -> None:
    """Red is (1 - C)(1 - K): no cyan and no black leave it whole, all cyan takes it away."""
    image = picture("CMYK", [[(0, 255, 255, 0), (255, 0, 0, 0), (0, 0, 0, 255), (0, 0, 0, 0)]])
    found = read_image(saved(image, "TIFF")).tolist()
    assert found == [[[255, 0, 0], [0, 255, 255], [0, 0, 0], [255, 255, 255]]]
    large = image.resize((32, 8), Image.Resampling.NEAREST)  # JPEG keeps plains of 8 x 8 exactly
    jpeg = read_image(saved(large, "JPEG", quality=100, subsampling=0))
    assert np.abs(jpeg[4, 4::8].astype(int) - np.array(found[0])).max() <= 3


def test_read_image_rounds_sixteen_bits_to_eight() -> None:
    values = np.array([[0, 257, 32_768, 65_535], [128, 129, 65_406, 65_407]], np.uint16)
    file = saved(Image.fromarray(values))
    assert read_image(file)[:, :, 0].tolist() == [[0, 1, 128, 255], [0, 1, 254, 255]]
    assert (read_image(file) == read_image(file)[:, :, :1]).all()
    colour = png(2, 1, 16, 2, b"\0" + bytes([255, 255, 128, 128, 0, 0]) + bytes(6))
    assert read_image(colour).tolist() == [[[255, 128, 0], [0, 0, 0]]]


@pytest.mark.parametrize(
    ("orientation", "upright"),
    [
        (1, [[1, 2, 3], [4, 5, 6]]),
        (2, [[3, 2, 1], [6, 5, 4]]),
        (3, [[6, 5, 4], [3, 2, 1]]),
        (6, [[4, 1], [5, 2], [6, 3]]),
        (8, [[3, 6], [2, 5], [1, 4]]),
    ],
)
def test_read_image_turns_what_exif_marks_as_turned(
    orientation: int, upright: list[list[int]]
) -> None:
    image = picture("L", [[1, 2, 3], [4, 5, 6]])
    exif = Image.Exif()
    exif[0x0112] = orientation
    assert read_image(saved(image, exif=exif))[:, :, 0].tolist() == upright


def test_read_image_ignores_exif_that_is_nonsense() -> None:
    image = picture("L", [[1, 2, 3]])
    assert read_image(saved(image, exif=b"Exif\0\0MM\0*\xff\xff\xff\xff"))[0, :, 0].tolist() == [
        1,
        2,
        3,
    ]


def test_read_image_takes_the_smallest_picture_as_it_is() -> None:
    assert read_image(saved(picture("RGB", [[(3, 5, 7)]]))).tolist() == [[[3, 5, 7]]]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF"])
def test_a_truncated_picture_is_named(tmp_path: Path, kind: str) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (61, 67, 3), np.uint8)
    content = saved(Image.fromarray(noise), kind)
    file = tmp_path / f"a.{kind.lower()}"
    file.write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises(DataError) as caught:
        read_image(file)
    assert str(caught.value).startswith(f"{file}: the ")
    assert "truncated" in str(caught.value) or "not an image" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>404</html>", "the file is not an image.\n  expected: one of JPEG"),
        (b"", "the file is empty."),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "the file is not an image."),
        (png(0, 0), "the file is not an image."),
    ],
)
def test_what_is_no_picture_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "a.jpg"
    file.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_image(file)
    assert str(caught.value).startswith(f"{file}: {message}")


def test_a_phones_picture_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.heic"
    file.write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0")
    with pytest.raises(DataError) as caught:
        read_image(file)
    assert "got:      HEIC or AVIF, as from a phone" in str(caught.value)
    assert "do:       convert it to JPEG, for example with heif-convert or pillow-heif" in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("width", "height"), [(20_000, 1), (20_000, 20_000), (8_001, 8_000), (1 << 30, 1 << 30)]
)
def test_a_picture_too_large_is_refused_before_it_is_unpacked(width: int, height: int) -> None:
    with pytest.raises(DataError, match="too large to decode") as caught:
        read_image(png(width, height), "bomb.png")
    assert "bomb.png" in str(caught.value)
    assert "at most 16,384 pixels, and 64,000,000 pixels in all" in str(caught.value)


def test_floating_point_numbers_are_refused() -> None:
    with pytest.raises(DataError, match="floating-point numbers"):
        read_image(saved(picture("F", [[0.5]]), "TIFF"))


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.png: there is no such file\."):
        read_image(tmp_path / "a.png")
    with pytest.raises(DataError, match="this is a folder"):
        read_image(tmp_path)


def test_reading_pictures_names_the_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    uninstall(monkeypatch, "PIL")
    with pytest.raises(MissingExtraError, match=r'pip install "jumok\[images\]"'):
        read_image(b"x")


def test_resize_averages_what_it_shrinks_and_keeps_plains() -> None:
    stripes = np.zeros((4, 8, 3), np.uint8)
    stripes[:, ::2] = 255  # white and black columns in turn: grey from afar
    small = resize(stripes, 2, 1)
    assert small.shape == (2, 1, 3)
    assert np.abs(small.astype(int) - 128).max() <= 1
    assert (resize(np.full((5, 3, 3), 77, np.uint8), 11, 7) == 77).all()


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "2.png").write_bytes(saved(picture("RGB", [[BLUE]])))
    (folder / "1.PNG").write_bytes(saved(picture("RGB", [[RED]])))
    (folder / "notes.txt").write_text("not a picture")
    return folder


def zipped(folder: Path) -> Path:
    archive = folder.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w") as target:
        for file in sorted(each for each in folder.rglob("*") if each.is_file()):
            target.write(file, file.relative_to(folder).as_posix())
    return archive


@pytest.mark.parametrize("make", [Path, zipped])
def test_image_source_reads_folders_and_archives_alike(pictures: Path, make) -> None:
    source = ImageSource(make(pictures))
    assert source.names == ("1.PNG", "b/2.png")
    assert len(source) == 2
    assert "b/2.png" in source
    assert "notes.txt" not in source
    assert source.read("b/2.png").tolist() == [[[0, 0, 255]]]
    assert source.read("1.PNG").tolist() == [[[255, 0, 0]]]
    with pytest.raises(DataError, match="one of the 2 pictures in"):
        source.read("b/3.png")


def test_read_image_looks_into_archives(pictures: Path) -> None:
    archive = zipped(pictures)
    assert read_image(archive / "b" / "2.png").tolist() == [[[0, 0, 255]]]
    with pytest.raises(DataError, match=r"pictures\.zip/c\.png: there is no such image"):
        read_image(archive / "c.png")


def test_image_source_finds_hangul_that_macos_took_apart(pictures: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "고양이.png")
    (pictures / "1.PNG").rename(pictures / decomposed)
    for source in (ImageSource(pictures), ImageSource(zipped(pictures))):
        assert "고양이.png" in source.names
        assert source.read("고양이.png").tolist() == [[[255, 0, 0]]]


def test_image_source_names_what_is_not_there_or_no_archive(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder of images"):
        ImageSource(tmp_path / "none")
    (tmp_path / "a.zip").write_bytes(b"PK\3\4 cut short")
    with pytest.raises(DataError, match=r"a\.zip: the file is not a zip archive"):
        ImageSource(tmp_path / "a.zip")


@pytest.mark.parametrize("name", ["x" * 300, "nul\0.png", "ring.png", "/dev/zero"])
def test_what_cannot_be_read_is_a_fault_of_the_data(tmp_path: Path, name: str) -> None:
    (tmp_path / "ring.png").symlink_to(tmp_path / "ring.png")
    with pytest.raises(DataError):
        read_image(tmp_path / name)


def test_what_is_larger_than_any_picture_is_not_read(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(images, "MOST_IMAGE_BYTES", 10)
    (tmp_path / "a.png").write_bytes(b"x" * 11)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(tmp_path / "a.png", "a.png")
    for place in ("a.png", "all.zip/a.png"):
        with pytest.raises(DataError, match="too large for an image"):
            read_image(tmp_path / place)
