"""A bundle as one file (.tar.zst), and back. Imports no torch.

The same bundle is always the same bytes: files in the order of their names, without times and
owners. Only plain files are taken from a foreign archive, into a folder of their own.
"""

import hashlib
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from jumok.data.files.atomic import atomic_folder
from jumok.environment import cache_folder
from jumok.errors import BundleError, JumokError, Location, optional_import

Read = Callable[[int], bytes]

MAGIC = b"\x28\xb5\x2f\xfd"
"""The first bytes of zstd."""
BLOCK, READ = tarfile.BLOCKSIZE, 1 << 20
LEVEL = 10
MOST_FILES, LARGEST_RATIO, ROOM = 1_000, 1_000, 1 << 20
"""The most files of a packed file, and the most bytes for each of its own."""
LARGEST_WINDOW = 1 << 27
"""Bytes that unpacking may keep in memory."""
KEPT = 10
"""Packed models that stay unpacked in the cache."""


def is_packed(path: Path) -> bool:
    """Whether a path is a file that begins as zstd does."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def pack(folder: Path, file: Path) -> str:
    """Writes the bundle in a folder to a file; its SHA-256.

    Raises:
        BundleError: a file in the folder is a link, or no plain file, or has too long a name.
        MissingExtraError: zstandard is not installed.
    """
    with optional_import("packing a model", extra="pack"):
        import zstandard
    members = []
    for path in sorted(folder.rglob("*"), key=lambda each: each.relative_to(folder).as_posix()):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise BundleError("only plain files can be packed.", place=Location(path))
        if path.is_file():
            members.append(path)
    packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True, write_content_size=False)
    with file.open("wb") as raw, packer.stream_writer(raw) as out:
        for path in members:
            info = tarfile.TarInfo(path.relative_to(folder).as_posix())
            info.size = path.stat().st_size
            try:
                out.write(info.tobuf(tarfile.USTAR_FORMAT))
            except ValueError as error:
                raise BundleError(
                    "this file cannot be packed.", got=str(error), place=Location(path)
                ) from None
            with path.open("rb") as stream:
                shutil.copyfileobj(stream, out, READ)
            out.write(bytes(-info.size % BLOCK))
        out.write(bytes(2 * BLOCK))
    return digest_of(file)


def unpack(file: Path, folder: Path) -> None:
    """Unpacks a file into an empty folder.

    Raises:
        BundleError: it is damaged, or holds something else than a bundle's plain files.
        MissingExtraError: zstandard is not installed.
    """
    with optional_import("reading a packed model", extra="pack"):
        import zstandard
    unpacker = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW)
    try:
        with file.open("rb") as raw, unpacker.stream_reader(raw) as stream:
            most = LARGEST_RATIO * file.stat().st_size + ROOM
            for info in _members(stream.read, most):
                target = folder / info.name
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as out:
                    for begin in range(0, info.size, READ):
                        out.write(_exactly(stream.read, min(READ, info.size - begin)))
                _exactly(stream.read, -info.size % BLOCK)
            if stream.read(1):
                raise ValueError("there is more after its end")
    except (ValueError, OSError, tarfile.HeaderError, zstandard.ZstdError) as error:
        raise BundleError(
            "this packed model cannot be read.", got=str(error)[:200],
            do="copy or download it again", place=Location(file),
        ) from None  # fmt: skip


def _members(read: Read, most: int) -> Iterator[tarfile.TarInfo]:
    """The headers up to the end; a ValueError for one that is not followed."""
    for _ in range(MOST_FILES + 1):
        block = _exactly(read, BLOCK)
        if not any(block):
            if any(_exactly(read, BLOCK)):
                raise ValueError("half an end")
            return
        info = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise ValueError(f"{info.name!r} is no plain file")
        parts = PurePosixPath(info.name).parts
        strange = any(part in ("..", ".") or set(part) & set("/\\:\0") for part in parts)
        if strange or not parts or info.name != "/".join(parts):
            raise ValueError(f"a file named {info.name!r}")
        most -= info.size + BLOCK
        if info.size < 0 or most < 0:
            raise ValueError("its files are too large for its size")
        yield info
    raise ValueError(f"more than {MOST_FILES:,} files")


def _exactly(read: Read, count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = read(count - len(found))
        if not more:
            raise ValueError("it ends too early")
        found += more
    return found


def digest_of(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def unpacked(file: Path) -> Path:
    """The folder in the cache that a packed model is unpacked into, once.

    Raises:
        BundleError: as `unpack`, or the cache cannot be written.
    """
    models = cache_folder() / "models"
    folder = models / digest_of(file)
    try:
        if not folder.is_dir():
            with atomic_folder(folder) as partial:
                unpack(file, partial)
        folder.touch()
        last = sorted(models.iterdir(), key=lambda each: each.stat().st_mtime, reverse=True)
        for old in last[KEPT:]:
            shutil.rmtree(old, ignore_errors=True)
    except JumokError:
        raise
    except OSError as error:
        raise BundleError(
            "the packed model cannot be unpacked into the cache.", got=str(error),
            do="set JUMOK_CACHE to a folder with room, or use jumok unpack", place=Location(file),
        ) from None  # fmt: skip
    return folder
