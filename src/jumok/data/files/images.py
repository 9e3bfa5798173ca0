"""Image files as arrays: red, green and blue of one byte each.

Greyscale becomes three equal channels; transparency is composed onto white; CMYK is converted
without a colour profile; 16 bits are rounded to 8; the EXIF orientation is applied. A file beyond
the limits is refused before its pixels are decoded (a "decompression bomb").
"""

import hashlib
import io
import lzma
import unicodedata
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import UInt8

from jumok.data.files.damage import ANYTHING
from jumok.data.files.unpacking import unpacked
from jumok.environment import is_named_pipe
from jumok.errors import DataError, Location, optional_import

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

Pixels: TypeAlias = UInt8[np.ndarray, "height width 3"]

LONGEST_SIDE = 16_384  # pixels
MOST_IMAGE_BYTES = 1 << 30  # of a file: the pixels of the largest image take a fifth of it
MOST_PIXELS = 64_000_000  # 192 MB decoded; the largest sensors in common use have 50 million
# Formats that are decoded without executing anything (PostScript is a program).
IMAGE_FORMATS = ("JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF", "PPM")
HEIF = (b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"avif")
IMAGE_SUFFIXES = (
    *(".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff"),
    *(".ppm", ".pgm", ".pbm"),
)
# What Pillow raises on damaged files of one format or another.
DAMAGE = (*ANYTHING, zlib.error)


def read_image(source: Path | bytes, name: str = "") -> Pixels:
    """The pixels of an image, from the top left; 0 is black, 255 is white.

    Args:
        source: a file, "archive.zip/member.jpg", or a file's bytes.
        name: its name in errors; empty: the path.

    Raises:
        DataError: it is missing, damaged, not an image, or larger than LONGEST_SIDE or MOST_PIXELS.
        MissingExtraError: Pillow is not installed.
    """
    if isinstance(source, bytes):
        return _decode_image(source, name or "the picture")
    return _decode_image(content_of(source), name or str(source))


def content_of(path: Path) -> bytes:
    """The bytes of a file, or of "archive.zip/member.jpg".

    Raises:
        DataError: it cannot be read, or is too large.
    """
    archive = archive_of(path)
    if archive is not None and archive.is_file():
        return ImageSource(archive).content(path.relative_to(archive).as_posix())
    return _content(path)


def archive_of(path: Path) -> Path | None:
    """The archive of "archive.zip/member.jpg"; None of any other path."""
    return next((parent for parent in path.parents if parent.suffix == ".zip"), None)


def resize(
    pixels: UInt8[np.ndarray, "old_height old_width 3"],
    height: int,
    width: int,
    resample: str = "bilinear",
) -> UInt8[np.ndarray, "{height} {width} 3"]:
    """The image at another size; a smaller one is averaged over all pixels (a triangle filter).

    Args:
        resample: the filter, by Pillow's name in small letters.
    """
    with optional_import("reading images", extra="images"):
        from PIL import Image

    image = Image.fromarray(pixels)
    filtered = image.resize((width, height), Image.Resampling[resample.upper()])
    return np.array(filtered)


@runtime_checkable  # the tests check annotations while they run
class PictureFiles(Protocol):
    """The files of images, by the images' names."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def __contains__(self, name: str) -> bool: ...

    def __len__(self) -> int: ...

    def content(self, name: str) -> bytes: ...

    def place(self, name: str) -> str:
        """Its name in errors."""
        ...


class ImageSource:
    """The images of a folder or of a zip archive, by their names in it.

    Names are paths with "/", in NFC: an archive made on macOS has them decomposed. Files whose
    suffix is not in IMAGE_SUFFIXES are ignored.

    Raises:
        DataError: there is no such folder or archive, or the archive is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._archive: zipfile.ZipFile | None = None
        if path.is_dir():
            members = [member.relative_to(path).as_posix() for member in path.rglob("*")]
        elif path.is_file():
            members = self._members()
        else:
            raise DataError(
                "there is no such folder of images.",
                expected="a folder, or a .zip archive",
                do="check the spelling (names are case-sensitive)",
                place=Location(path),
            )
        names = [member for member in members if member.lower().endswith(IMAGE_SUFFIXES)]
        # Archives from macOS have a metadata file for each file in this folder.
        names = [member for member in names if not member.startswith("__MACOSX/")]
        self._files = {unicodedata.normalize("NFC", member): member for member in sorted(names)}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._files)

    def __contains__(self, name: str) -> bool:
        return unicodedata.normalize("NFC", name) in self._files

    def __len__(self) -> int:
        return len(self._files)

    def read(self, name: str) -> Pixels:
        return _decode_image(self.content(name), self.place(name))

    def place(self, name: str) -> str:
        return str(self.path / name)

    def content(self, name: str) -> bytes:
        """The bytes of one image's file.

        Raises:
            DataError: there is none of this name, or it cannot be read.
        """
        if name not in self:
            raise DataError(
                "there is no such image.",
                expected=f"one of the {len(self):,} pictures in {self.path}",
                got=repr(name),
                do="check the spelling (names are case-sensitive)",
                place=Location(self.path / name),
            )
        file = self._files[unicodedata.normalize("NFC", name)]
        if self._archive is None:
            return _content(self.path / file)
        _check_bytes(self._archive.getinfo(file).file_size, self.path / name)
        try:
            return unpacked(self._archive, file)
        except (zipfile.BadZipFile, zlib.error, RuntimeError, lzma.LZMAError, *ANYTHING) as error:
            raise DataError(
                "the image cannot be extracted from the archive.",
                got=str(error),
                do="download or create the archive again; it must not have a password",
                place=Location(self.path / name),
            ) from None

    def _members(self) -> list[str]:
        try:
            self._archive = zipfile.ZipFile(self.path)
        except (zipfile.BadZipFile, *ANYTHING) as error:
            raise DataError(
                "the file is not a zip archive, or it is truncated.",
                expected="a folder or a .zip archive of images",
                got=str(error),
                place=Location(self.path),
            ) from None
        return self._archive.namelist()


def content_digest(files: PictureFiles, name: str) -> str:
    """The SHA-256 of an image's file; "" if it cannot be read, which using it reports."""
    try:
        return hashlib.sha256(files.content(name)).hexdigest()
    except DataError:
        return ""


def _content(path: Path) -> bytes:
    try:
        _check_bytes(path.stat().st_size, path)
        pipe = is_named_pipe(path)
        if not path.is_char_device() and not pipe:
            return path.read_bytes()
        what = f"this is a {'pipe' if pipe else 'device'}, not an image."
        do = "write its output to a file, and give that file" if pipe else "name a file"
    except (FileNotFoundError, NotADirectoryError):
        what, do = "there is no such file.", "check the spelling (names are case-sensitive)"
    except IsADirectoryError:
        what, do = "this is a folder, not an image.", f"give the images in it: {path}/*"
    except PermissionError:
        what, do = "the file cannot be read (permission denied).", None
    except (OSError, ValueError) as error:  # a name too long, links in a cycle, a NUL in the name
        what, do = (
            f"the file cannot be read ({error}).",
            "check the spelling (names are case-sensitive)",
        )
    raise DataError(what, do=do, place=Location(path), known=("faultUnreadable",))


def _check_bytes(size: int, path: Path) -> None:
    if size > MOST_IMAGE_BYTES:
        raise DataError(
            "the file is too large for an image.",
            expected=f"at most {MOST_IMAGE_BYTES:,} bytes",
            got=f"{size:,}",
            place=Location(path),
            known=("faultFileTooLarge",),
        )


def _decode_image(content: bytes, name: str) -> Pixels:
    image = _open_image(content, name)
    try:
        image.load()
        upright = _upright(image)
        if image.mode.startswith("I"):
            return _rounded(np.asarray(upright), name)
        if image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info:
            layer = upright.convert("RGBA")
            with optional_import("reading images", extra="images"):
                from PIL import Image
            paper = Image.new("RGBA", layer.size, "white")
            return np.array(Image.alpha_composite(paper, layer).convert("RGB"))
        if image.mode not in ("F", "LAB"):
            return np.array(upright.convert("RGB"))
    except DAMAGE as error:
        raise DataError(
            "the image is truncated or damaged.",
            got=f"{len(content):,} bytes of {image.format}: {error}",
            do="download or export it again, or leave it out",
            place=Location(name),
            known=("faultDamaged",),
        ) from None
    raise DataError(
        "images of floating-point numbers are not supported.",
        expected="grey, colour, palette, with or without transparency, or CMYK",
        got="floating-point numbers" if image.mode == "F" else image.mode,
        do="convert it to PNG",
        place=Location(name),
        known=("faultColours",),
    )


def _open_image(content: bytes, name: str) -> "Picture":
    """The image after reading its header, and not its pixels."""
    with optional_import("reading images", extra="images"):
        from PIL import Image

    too_many, warned = Image.DecompressionBombError, Image.DecompressionBombWarning
    try:
        with warnings.catch_warnings():  # Pillow's warnings are checked below
            warnings.simplefilter("ignore", warned)
            image: Picture = Image.open(io.BytesIO(content), formats=IMAGE_FORMATS)
    except too_many as error:
        raise _too_many_pixels(str(error), name) from None
    except DAMAGE:
        heif = content[4:8] == b"ftyp" and content[8:12] in HEIF
        raise DataError(
            "the file is not an image." if content else "the file is empty.",
            expected=f"one of {', '.join(IMAGE_FORMATS)}",
            got="HEIC or AVIF, as from a phone"
            if heif
            else f"{len(content):,} bytes that begin with {_as_text(content[:8])}",
            do="convert it to JPEG, for example with heif-convert or pillow-heif" if heif else None,
            place=Location(name),
            known=("faultPhone" if heif else "faultNotImage" if content else "faultNoBytes",),
        ) from None
    if max(image.size) > LONGEST_SIDE or image.width * image.height > MOST_PIXELS:
        raise _too_many_pixels(f"{image.width:,} x {image.height:,} pixels", name)
    return image


def _as_text(content: bytes) -> str:
    """The bytes as text where they are text, otherwise as numbers."""
    text = content.decode("ascii", "replace")
    return repr(text) if text.isprintable() and text.isascii() else content.hex(" ")


def _too_many_pixels(got: str, name: str) -> DataError:
    return DataError(
        "the image is too large to decode.",
        expected=f"sides of at most {LONGEST_SIDE:,} pixels, and {MOST_PIXELS:,} pixels in all",
        got=got,
        do="make it smaller first",
        place=Location(name),
        known=("faultPixels", LONGEST_SIDE, MOST_PIXELS),
    )


def _upright(image: "Picture") -> "Picture":
    """The image in its EXIF orientation; unchanged if that cannot be read."""
    try:
        with optional_import("reading images", extra="images"):
            from PIL import ImageOps
        return ImageOps.exif_transpose(image)
    except DAMAGE:
        return image


def _rounded(values: np.ndarray, name: str) -> Pixels:
    """Greyscale of 16 bits as 8 bits; Pillow's own conversion cuts off at 255."""
    if values.min() < 0 or values.max() > 65_535:
        raise DataError(
            "the image has more than 16 bits per channel.",
            do="convert it to PNG",
            place=Location(name),
        )
    grey = ((values.astype(np.uint32) * 255 + 32_767) // 65_535).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)
