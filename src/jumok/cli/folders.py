"""Folders of images as arguments."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from jumok.errors import DataError, Location


def pictures_in(items: Iterable[str | Path]) -> Iterator[Path]:
    """The files in the given order, and the images below each folder.

    A folder's other files are counted on stderr; hidden ones are ignored.

    Raises:
        DataError: a folder holds no image.
    """
    from jumok.data.files.images import IMAGE_SUFFIXES

    for item in map(Path, items):
        if not item.is_dir():
            yield item
            continue
        inside = sorted(path for path in item.rglob("*") if _is_plain(path, item))
        pictures = [path for path in inside if path.name.lower().endswith(IMAGE_SUFFIXES)]
        if not pictures:
            raise DataError(
                "there is no image in this folder.",
                expected=f"files that end in {', '.join(IMAGE_SUFFIXES)}",
                got=f"{len(inside):,} other files",
                place=Location(item),
            )
        if others := len(inside) - len(pictures):
            files = "1 file that is not an image" if others == 1 else (
                f"{others:,} files that are not images"
            )  # fmt: skip
            typer.echo(f"{item}: skipped {files}", err=True)
        yield from pictures


def _is_plain(path: Path, folder: Path) -> bool:
    return path.is_file() and not any(
        part.startswith(".") for part in path.relative_to(folder).parts
    )
