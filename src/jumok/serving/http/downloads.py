"""The folder of a running server, with the translated files of all its processes."""

import contextlib
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from jumok.serving.http.refusals import RequestRefused

try:
    import fcntl
except ImportError:  # Windows has none; its folders of killed servers stay
    fcntl = None  # type: ignore[assignment]

KEPT_SECONDS = 600.0
"""How long a file can be downloaded."""

MOST_KEPT_BYTES = 256 * 1024**2
"""All files together; a new one is refused beyond it."""

FILE_NAME = re.compile(r"[A-Za-z0-9_-]{22}\.[\w.-]{1,80}", re.ASCII)

PREFIX = "jumok-serve-"
LOCK = "lock"


class Downloads:
    """The files, each under a name that cannot be guessed.

    Args:
        folder: None: no files are kept.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @property
    def on(self) -> bool:
        return self._folder is not None

    def keep(self, name: str, content: bytes) -> str:
        """Keeps a file; returns the name under which it can be fetched.

        Raises:
            RequestRefused: too many bytes are kept already, or the disk is full.
        """
        folder = self._there()
        self._forget()
        held = sum(file.stat().st_size for file in folder.iterdir())
        if held + len(content) > MOST_KEPT_BYTES:
            text = f"Translated files of {MOST_KEPT_BYTES} bytes wait for their clients already."
            raise RequestRefused(503, "files_full", text, retry_after=60)
        plain = re.sub(r"[^\w.-]", "_", Path(name).name, flags=re.ASCII)[-60:] or "file"
        known = f"{secrets.token_urlsafe(16)}.{plain}"
        part = folder / f"part-{known}"
        try:
            part.write_bytes(content)
            part.rename(folder / known)
        except OSError:
            part.unlink(missing_ok=True)
            text = "There is no space for translated files on this server."
            raise RequestRefused(503, "files_full", text, retry_after=60) from None
        return known

    def read(self, known: str) -> bytes:
        """The file of this name.

        Raises:
            RequestRefused: there is none, or no longer.
        """
        try:
            if FILE_NAME.fullmatch(known) is None:
                raise FileNotFoundError
            file = self._there() / known
            if time.time() - file.stat().st_mtime > KEPT_SECONDS:
                raise FileNotFoundError
            return file.read_bytes()
        except OSError:
            raise RequestRefused(404, "file_not_found", "There is no such file.") from None

    def _there(self) -> Path:
        if self._folder is None:
            text = "Files translation is disabled on this server."
            raise RequestRefused(403, "files_off", text)
        return self._folder

    def _forget(self) -> None:
        for file in self._there().iterdir():
            if time.time() - file.stat().st_mtime > KEPT_SECONDS:
                file.unlink(missing_ok=True)


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """A temporary folder; those of killed servers are removed."""
    remove_abandoned(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder, locked(Path(folder)):
        yield Path(folder)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Marks a folder as in use until the process ends, however it ends."""
    if fcntl is None:
        yield
        return
    # The lock appears under its name when it is held: `remove_abandoned` finds no free one.
    new = folder / f"{LOCK}.new"
    with new.open("x") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        new.rename(folder / LOCK)
        yield


def remove_abandoned(place: Path) -> None:
    """Removes the folders of this user's servers that run no longer."""
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
