"""Folders given instead of image files: all images in them, sorted by name."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from jumok.errors import DataError, Place
from jumok.late import late_imports

with late_imports():
    from jumok.data.files import images


def pictures_in(items: Iterable[str | Path]) -> Iterator[Path]:
    """The files as they are given; for a folder, the images in it and in its subfolders.

    Other files of a folder are skipped, and counted on stderr; hidden files are ignored.

    Raises:
        DataError: a folder holds no image.
    """
    for item in map(Path, items):
        if not item.is_dir():
            yield item
            continue
        found = sorted(path for path in item.rglob("*") if _is_plain(path, item))
        pictures = [path for path in found if path.name.lower().endswith(images.SUFFIXES)]
        if not pictures:
            raise DataError(
                "there is no image in this folder.",
                expected=f"files that end in {', '.join(images.SUFFIXES)}",
                got=f"{len(found):,} other files",
                place=Place(item),
            )
        if others := len(found) - len(pictures):
            files = "1 file that is not an image" if others == 1 else (
                f"{others:,} files that are not images"
            )  # fmt: skip
            typer.echo(f"{item}: skipped {files}", err=True)
        yield from pictures


def _is_plain(path: Path, folder: Path) -> bool:
    return path.is_file() and not any(
        part.startswith(".") for part in path.relative_to(folder).parts
    )
