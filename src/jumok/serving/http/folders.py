"""The folder of a running server, and the end of those whose servers were killed."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has none; its folders of killed servers stay
    fcntl = None  # type: ignore[assignment]

PREFIX = "jumok-serve-"
LOCK = "lock"


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """A temporary folder, which is removed at the end; those of killed servers are removed now."""
    sweep(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder, locked(Path(folder)):
        yield Path(folder)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Marks a folder as one in use; the system ends that with the process, however it ends."""
    if fcntl is None:
        yield
        return
    # The lock appears under its name when it is held, so that `sweep` finds no free one too early.
    new = folder / f"{LOCK}.new"
    with new.open("x") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        new.rename(folder / LOCK)
        yield


def sweep(place: Path) -> None:
    """Removes the folders in which this user's servers, which run no longer, kept their files."""
    if fcntl is None:
        return
    for folder in place.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # in use, another user's, or removed by another server
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)
