"""Folders where pictures' files could stand: every picture in them, in the order of their names."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from jumok.errors import DataError, Place


def pictures_in(items: Iterable[str | Path]) -> Iterator[Path]:
    """The files as they are given; for a folder the pictures in it and in its folders.

    What in a folder is not a picture by its name is left out, and counted on standard error;
    hidden files are passed over.

    Raises:
        DataError: a folder without a picture.
    """
    from jumok.data.images import SUFFIXES

    for item in map(Path, items):
        if not item.is_dir():
            yield item
            continue
        found = sorted(path for path in item.rglob("*") if _is_plain(path, item))
        pictures = [path for path in found if path.name.lower().endswith(SUFFIXES)]
        if not pictures:
            raise DataError(
                "there is no picture in this folder.",
                expected=f"files that end in {', '.join(SUFFIXES)}",
                got=f"{len(found):,} other files",
                place=Place(item),
            )
        if others := len(found) - len(pictures):
            files = "1 file is not a picture and was" if others == 1 else (
                f"{others:,} files are not pictures and were"
            )  # fmt: skip
            typer.echo(f"{item}: {files} left out", err=True)
        yield from pictures


def _is_plain(path: Path, folder: Path) -> bool:
    return path.is_file() and not any(
        part.startswith(".") for part in path.relative_to(folder).parts
    )
