"""Files and folders that are there whole or not at all."""

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

from jumok.errors import DataError, Place

WINDOWS = sys.platform == "win32"


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A folder to write into, which gets the name `folder` when the block has ended well.

    Several processes may write the same folder at once: the first to end gives it its content,
    and what the others wrote is removed.
    """
    partial = partial_of(folder)
    partial = partial.with_name(f"{partial.name}-{threading.get_ident()}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
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
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def atomic_file(file: Path) -> Iterator[Path]:
    """Where to write what shall stand at `file`, which is there whole or not at all.

    What is no file, such as /dev/null or a named pipe, is written to and never replaced.

    Raises:
        DataError: the file cannot be written.
    """
    if not file.name or "\0" in str(file):
        raise DataError("the output cannot be written.", got=f"no file's name: {str(file)!r}")
    if os.path.exists(file) and not (os.path.isfile(file) or os.path.isdir(file)):
        yield file
        return
    part = partial_of(file)
    try:
        yield part
        part.replace(file)
    except OSError as error:
        raise DataError(
            "the output cannot be written.", got=str(error.strerror), place=Place(file)
        ) from error
    finally:
        with suppress(OSError):  # said above, where it matters
            part.unlink(missing_ok=True)


def write_durably(file: Path, content: bytes) -> None:
    """Gives the file this content, at once: a power cut leaves the old content or the new one.

    Raises:
        OSError: the disk refuses; what stood there before is untouched.
    """
    partial = partial_of(file)
    try:
        partial.write_bytes(content)
        force_to_disk(partial)
        partial.replace(file)
        force_to_disk(file.parent)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def force_to_disk(path: Path) -> None:
    """Waits until a file, or the entries of a folder, would survive a power cut.

    Raises:
        OSError: the disk refuses.
    """
    if WINDOWS and path.is_dir():
        return  # Windows opens no folder; its file systems keep a journal of their entries
    descriptor = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def partial_of(path: Path) -> Path:
    """The name under which this process writes what shall become `path`.

    It names the machine (by a check sum) and the process, so that `sweep` can tell what is left
    over from what is being written.
    """
    return path.with_name(f".{path.name[:200]}.writing-{_machine()}-{os.getpid()}")


def sweep(folder: Path, names: str = "*") -> None:
    """Removes what processes of this machine that are dead left half written in the folder.

    Args:
        names: a glob of what was being written; "*" is anything.
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
        pass  # somebody else's, and alive
    return True
