"""Stores: folders that are created once, checked whole, and found by a hash of their content."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from jumok.data.files.atomic import atomic_folder
from jumok.errors import DataError, Place
from jumok.json_types import JsonObject

STORE = "store.json"
LAYOUT = 3  # of every store: 3 has the lengths of sequences in files of their own


def cached_folder(
    cache: Path,
    identity: object,
    fill: Callable[[Path], Mapping[str, object]],
    what: str = "prepared corpus",
) -> Path:
    """The folder of this content in the cache; if there is none, `fill` writes it.

    Args:
        identity: JSON that changes whenever the content changes.
        fill: writes everything into the given folder, and returns the contents of `store.json`.
        what: what is created, in the words of the error.

    Raises:
        DataError: the cache cannot be written.
    """
    content = json.dumps([LAYOUT, identity], sort_keys=True)
    folder = cache / hashlib.sha256(content.encode()).hexdigest()[:32]
    if folder.is_dir():
        return folder
    try:
        write_store(folder, fill)
    except OSError as error:
        raise DataError(
            f"the {what} cannot be written.",
            got=error.strerror,
            do="free some space, or name another cache folder",
            place=Place(cache),
        ) from None
    return folder


def write_store(folder: Path, fill: Callable[[Path], Mapping[str, object]]) -> None:
    """Writes a store atomically: the files of `fill`, and `store.json` with their digests.

    Raises:
        OSError: the disk refuses; nothing is left behind.
    """
    with atomic_folder(folder) as partial:
        about = fill(partial)
        files = {path.name: digest(path) for path in sorted(partial.iterdir())}
        described = {"about": about, "files": files, "sha256": _digest_of(about, files)}
        (partial / STORE).write_text(json.dumps(described, ensure_ascii=False), "utf-8")


@contextmanager
def opened(folder: Path, what: str, source: str) -> Iterator[JsonObject]:
    """The contents of `store.json` of a store, after all of its files were checked.

    Args:
        what, source: "corpus is" and "corpus": what is damaged and what it is created from, in the
            words of the error.

    Raises:
        DataError: a file is missing or changed, or the block raises ValueError because a file has
            unexpected contents.
    """
    try:
        described = json.loads((folder / STORE).read_text("utf-8"))
        about, files = described["about"], described["files"]
        if described["sha256"] != _digest_of(about, files):
            raise ValueError(f"{STORE} differs from what was written")
        for name, written in files.items():
            if digest(folder / name) != written:
                raise ValueError(f"{name} differs from what was written")
        yield about
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(
            f"the prepared {what} damaged.",
            got=str(error),
            do=f"delete this folder; it is rebuilt from the {source}",
            place=Place(folder),
        ) from None


def _digest_of(about: object, files: object) -> str:
    return hashlib.sha256(json.dumps([about, files], sort_keys=True).encode()).hexdigest()


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes; "" if it cannot be read, which opening it reports."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
