"""The pictures that a live page may look at: its first one, one by its path, or one that it sent.

What is sent is kept as a file in a folder of its own, of whose path the page chooses the last name
alone; the folder goes when the page's server does. Whether it is a picture, how large it is and
whether it is a decompression bomb finds out who reads it (`jumok.data.images`), as for any other
file.
"""

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from shutil import rmtree
from tempfile import TemporaryDirectory
from threading import Lock

from jumok.errors import DataError, Place

SENT = "sent:"
"""How the page names a picture that it sent; a path stands for itself."""

KEPT = 8
"""Pictures that were sent and can still be asked about: the latest ones."""


class ServedPictures:
    """What is looked at, whatever the page asks about it.

    Args:
        first: the file that the page opened with; None: the picture itself is not there.
        check: raises a DataError where a path is none that the model reads.
    """

    def __init__(self, first: str | None, check: Callable[[str], None]) -> None:
        self._first, self._check = first, check
        self._folder = TemporaryDirectory(prefix="jumok-")
        self._sent: dict[str, Path] = {}
        self._turn = Lock()  # files come in threads of their own

    def receive(self, name: str, content: bytes) -> dict[str, str]:
        """Keeps a file that the page sent; gives how to ask for it, in "picture".

        Raises:
            DataError: it cannot be written: the disk may be full.
        """
        key = SENT + hashlib.sha256(content).hexdigest()[:16]
        folder = Path(self._folder.name) / key.removeprefix(SENT)
        file = folder / _plain(name)
        with self._turn:
            try:
                folder.mkdir(exist_ok=True)
                file.write_bytes(content)
            except OSError as error:
                raise DataError(
                    "the picture cannot be kept.", got=error.strerror, place=Place(file)
                ) from error
            self._sent.pop(key, None)
            self._sent[key] = file
            while len(self._sent) > KEPT:
                oldest = next(iter(self._sent))
                rmtree(self._sent.pop(oldest).parent)
        return {"picture": key}

    def chosen(self, asked: object) -> str:
        """The file of what the page asks about: a path, what it sent, or nothing for the first one.

        Raises:
            DataError: there is no such picture.
        """
        if not isinstance(asked, str) or not asked.strip():
            if self._first is None:
                raise DataError(
                    "the picture itself is not in its trace: nothing more can be asked about it.",
                    do="give the picture above: its path, or its file",
                )
            return self._first
        if asked.startswith(SENT):
            with self._turn:
                sent = self._sent.get(asked)
            if sent is None:
                raise DataError(
                    "this picture was sent to another page, or many were sent after it.",
                    do="choose its file again",
                )
            return str(sent)
        path = os.path.expanduser(asked.strip())
        self._check(path)
        return path

    def name_of(self, file: Path | str) -> Path | str:
        """How a file was called that was sent; of any other its path."""
        sent = Path(self._folder.name) in Path(file).parents
        return Path(file).name if sent else file

    def close(self) -> None:
        """Removes what was sent."""
        self._folder.cleanup()


def _plain(name: str) -> str:
    """The file's own name without its folders, short, of letters, digits and a few signs."""
    last = PurePosixPath(name.replace("\\", "/")).name
    return re.sub(r"[^\w.()+ -]", "_", last)[-60:].lstrip(". ") or "picture"
