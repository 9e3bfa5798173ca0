"""The images of a live page.

A file that the page sends is kept in a temporary folder until the server stops. It is checked when
it is read (`jumok.data.files.images`), as any other file.
"""

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from shutil import rmtree
from tempfile import TemporaryDirectory
from threading import Lock

from jumok.errors import DataError, Location

SENT = "sent:"
"""The prefix of the name of an image that the page sent; other names are paths."""

MOST_PICTURES = 8
"""The number of sent images that are kept, the latest ones."""


class ServedPictures:
    """The images that the page may ask about.

    Args:
        first: the file that the page opened with; None: the image file is not available.
        check: raises a DataError where the model cannot read a path.
    """

    def __init__(self, first: str | None, check: Callable[[str], None]) -> None:
        self._first, self._check = first, check
        self._folder = TemporaryDirectory(prefix="jumok-")
        self._sent: dict[str, Path] = {}
        self._turn = Lock()  # files come in threads of their own

    def receive(self, name: str, content: bytes) -> dict[str, str]:
        """Stores a file; returns its name for later requests as "picture".

        Raises:
            DataError: it cannot be written: the disk may be full.
        """
        key = SENT + hashlib.sha256(content).hexdigest()[:16]
        folder = Path(self._folder.name) / key.removeprefix(SENT)
        file = folder / _safe_name(name)
        with self._turn:
            try:
                folder.mkdir(exist_ok=True)
                file.write_bytes(content)
            except OSError as error:
                raise DataError(
                    "the image cannot be stored.",
                    got=error.strerror,
                    place=Location(file.name),
                    known=("faultNotStored",),
                ) from error
            self._sent.pop(key, None)
            self._sent[key] = file
            while len(self._sent) > MOST_PICTURES:
                oldest = next(iter(self._sent))
                rmtree(self._sent.pop(oldest).parent)
        return {"picture": key}

    def chosen(self, asked: object) -> str:
        """The file that the page asks about: a path, a sent image, or nothing for the first one.

        Raises:
            DataError: there is no such image.
        """
        if not isinstance(asked, str) or not asked.strip():
            if self._first is None:
                raise DataError(
                    "the image file is not part of the trace, so the model cannot be run on it.",
                    do="choose an image above: its path, or its file",
                    known=("faultFirstImage",),
                )
            return self._first
        if asked.startswith(SENT):
            with self._turn:
                sent = self._sent.get(asked)
            if sent is None:
                raise DataError(
                    "this image was sent to another page, or was replaced by later ones.",
                    do="choose the file again",
                    known=("faultSentBefore",),
                )
            return str(sent)
        path = os.path.expanduser(asked.strip())
        self._check(path)
        return path

    def name_of(self, file: Path | str) -> Path | str:
        """The name that a sent file had; for any other file its path."""
        sent = Path(self._folder.name) in Path(file).parents
        return Path(file).name if sent else file

    def close(self) -> None:
        """Removes the sent files."""
        self._folder.cleanup()


def _safe_name(name: str) -> str:
    """The last part, shortened, with safe characters only."""
    last = PurePosixPath(name.replace("\\", "/")).name
    return re.sub(r"[^\w.()+ -]", "_", last)[-60:].lstrip(". ") or "picture"
