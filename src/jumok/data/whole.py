"""Files and folders that are there whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from jumok.errors import DataError, Place


@contextmanager
def written_whole(folder: Path) -> Iterator[Path]:
    """A folder to write into, which gets the name `folder` when the block has ended well.

    What an earlier try left half done is taken away first.
    """
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    yield partial
    partial.rename(folder)


@contextmanager
def replaced(file: Path) -> Iterator[Path]:
    """Where to write what shall stand at `file`, which is there whole or not at all.

    Raises:
        DataError: the file cannot be written.
    """
    if not file.name or "\0" in str(file):
        raise DataError("the output cannot be written.", got=f"no file's name: {str(file)!r}")
    part = file.with_name(f".{file.name[:200]}.writing-{os.getpid()}")
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
