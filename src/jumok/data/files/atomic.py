"""Files and folders that are written atomically."""

import errno
import os
import re
import shutil
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from platform import node

from jumok.errors import DataError, Location

WINDOWS = sys.platform == "win32"


@contextmanager
def working_folder(path: Path) -> Iterator[Path]:
    """A folder beside `path`, for this thread alone, that is removed behind the block."""
    partial = partial_of(path)
    partial = partial.with_name(f"{partial.name}-{threading.get_ident()}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A folder to write into, which is renamed to `folder` when the block succeeds.

    Of several processes that write it, the first to finish determines its content.
    """
    with working_folder(folder) as partial:
        yield partial
        for path in sorted(partial.rglob("*")):
            force_to_disk(path)
        force_to_disk(partial)
        try:
            partial.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
        force_to_disk(folder.parent)


@contextmanager
def atomic_file(file: Path) -> Iterator[Path]:
    """The path to write to, so that `file`, or the target of a link, is written atomically.

    Raises:
        DataError: the file cannot be written.
    """
    if not file.name or "\0" in str(file):
        raise DataError("the output cannot be written.", got=f"no file's name: {str(file)!r}")
    direct = is_direct(file)
    part = file if direct else partial_of(behind_links(file))
    try:
        yield part
        if not direct:
            put_in_place(part, file)
    except OSError as error:
        raise DataError(
            "the output cannot be written.", got=str(error.strerror or error), place=Location(file)
        ) from error
    finally:
        if not direct:
            with suppress(OSError):  # the error is reported above, where it matters
                part.unlink(missing_ok=True)


def is_direct(file: Path) -> bool:
    """Whether the file is written to directly, and never replaced or removed.

    So are devices, named pipes, and the names of open files, such as /dev/stdout.
    """
    if not os.path.exists(file):
        return False
    if not (os.path.isfile(file) or os.path.isdir(file)):
        return True
    folder = os.path.realpath(file.parent)
    return folder == "/dev" or folder.startswith(("/dev/fd", "/proc/"))


def put_in_place(partial: Path, file: Path) -> None:
    """Gives a finished file its name, whose previous content it replaces.

    Raises:
        OSError: the system refuses, or the name is not that of an ordinary file.
    """
    if is_direct(file):
        raise FileExistsError(errno.EEXIST, "it is no ordinary file", str(file))
    partial.replace(behind_links(file))


def behind_links(file: Path) -> Path:
    """What a link names, also if it does not exist yet; any other path as it is."""
    return Path(os.path.realpath(file)) if os.path.islink(file) else file


def write_durably(file: Path, content: bytes) -> None:
    """Writes the file atomically: after a power cut it has the old content or the new one.

    Raises:
        OSError: the disk refuses; the previous content is unchanged.
    """
    if is_direct(file):
        file.write_bytes(content)
        return
    partial = partial_of(behind_links(file))
    try:
        partial.write_bytes(content)
        force_to_disk(partial)
        put_in_place(partial, file)
        force_to_disk(partial.parent)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def force_to_disk(path: Path) -> None:
    """Waits until a file, or the entries of a folder, would survive a power cut."""
    if WINDOWS and path.is_dir():
        return  # Windows opens no folder; its file systems keep a journal of their entries
    descriptor = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def partial_of(path: Path) -> Path:
    """The temporary name under which this process writes `path`, and `sweep` finds it."""
    return path.with_name(f".{path.name[:200]}.writing-{_machine()}-{os.getpid()}")


def sweep(folder: Path, names: str = "*") -> None:
    """Removes the partial files that dead processes of this machine left in the folder.

    Args:
        names: a glob of the final names.
    """
    for path in folder.glob(f".{names}.writing-{_machine()}-*"):
        number = re.match(r"\d+", path.name.rpartition(f"-{_machine()}-")[2])
        if number is None or _alive(int(number[0])):
            continue
        with suppress(OSError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _machine() -> str:
    return f"{zlib.crc32(node().encode()):08x}"


def _alive(process: int) -> bool:
    if WINDOWS:
        return True  # os.kill would end the process there
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # another user's process, and alive
    return True
