"""Translated files that wait for their client, in a folder that all processes of a server share."""

import re
import secrets
import time
from pathlib import Path

from jumok.serving.http.refusals import RequestRefused

KEPT_SECONDS = 600.0
"""How long a file can be downloaded."""

MOST_BYTES = 256 * 1024**2
"""All files together; a new one is refused beyond it."""

KNOWN = re.compile(r"[A-Za-z0-9_-]{22}\.[\w.-]{1,80}", re.ASCII)


class Downloads:
    """The files, each under a name that cannot be guessed.

    Args:
        folder: theirs alone; None: no files are kept.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @property
    def on(self) -> bool:
        """Whether files are kept at all."""
        return self._folder is not None

    def keep(self, name: str, content: bytes) -> str:
        """Keeps a file; returns the name under which it can be fetched.

        Raises:
            RequestRefused: too many bytes are kept already.
        """
        folder = self._there()
        self._forget()
        held = sum(file.stat().st_size for file in folder.iterdir())
        if held + len(content) > MOST_BYTES:
            text = f"Translated files of {MOST_BYTES} bytes wait for their clients already."
            raise RequestRefused(503, "files_full", text, retry_after=60)
        plain = re.sub(r"[^\w.-]", "_", Path(name).name, flags=re.ASCII)[-60:] or "file"
        known = f"{secrets.token_urlsafe(16)}.{plain}"
        part = folder / f"part-{known}"
        part.write_bytes(content)
        part.rename(folder / known)
        return known

    def read(self, known: str) -> bytes:
        """The file of this name.

        Raises:
            RequestRefused: there is none, or no longer.
        """
        try:
            if KNOWN.fullmatch(known) is None:
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
