"""Images with captions: one table of captions, and one folder or archive of images.

Splits are made by image: one with captions in both training and test would be memorized.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from jumok.data.files.images import ImageSource, PictureFiles
from jumok.data.files.tables import Column, read_tsv
from jumok.data.report import CorpusReport, LineCount
from jumok.errors import DataError, Location


@dataclass(frozen=True)
class CaptionCorpus:
    """The files of captions and images.

    Attributes:
        captions: a TSV file (also .gz and .zst), one caption per row.
        images: a folder or .zip archive.
        file_column, caption_column: a number from 0, or a name in a header line. Such tables
            usually have the columns file, number, caption, without a header.
    """

    captions: Path
    images: Path
    file_column: Column = 0
    caption_column: Column = 2


class Captioned(NamedTuple):
    """An image's name in its folder, its captions in order, and the row (from 1) of the first."""

    file: str
    captions: tuple[str, ...]
    line: int


NO_PICTURE = "there is no such image"
NO_CAPTION = "the image has no caption"
EMPTY = "the caption is empty"


def read_captions(
    corpus: CaptionCorpus,
    pictures: PictureFiles | None = None,
    *,
    skip: bool = False,
    others: bool = False,
    report: CorpusReport | None = None,
) -> list[Captioned]:
    """The images that have captions, in the order of their first rows.

    Args:
        pictures: None: those in the corpus's folder.
        skip: count rows without an image or a caption, and images without captions, in `report`,
            instead of stopping at the first.
        others: the folder may have images that are in another table.
        report: `read` counts the rows, `kept` the captions.

    Raises:
        DataError: a row or an image without the other (unless skipped); nothing is left; and what
            `read_tsv` and `ImageSource` raise.
    """
    pictures = ImageSource(corpus.images) if pictures is None else pictures
    count = report or CorpusReport(corpus.captions.name)
    captions_of: dict[str, list[str]] = {}
    first: dict[str, int] = {}
    columns = (corpus.file_column, corpus.caption_column)
    for (name, caption), line in read_tsv(corpus.captions, columns, report):
        count.read += 1
        reason = _fault(name, caption.strip(), pictures)
        if reason is None:
            captions_of.setdefault(name, []).append(caption.strip())
            first.setdefault(name, line)
            count.kept += 1
        elif skip:
            count.drop(reason, [line])
        else:
            raise _bad_row(reason, name, corpus, line)
    # By file: for features, a table may name the images that they were computed from.
    captioned = {pictures.place(name) for name in captions_of}
    names = () if others else pictures.names
    bare = [name for name in names if pictures.place(name) not in captioned]
    if bare and not skip:
        raise DataError(
            "some images have no caption.",
            expected=f"at least one row for each of the {len(pictures):,} pictures",
            got=f"none for {len(bare):,} of them: {', '.join(bare[:3])}{', ...' * (len(bare) > 3)}",
            do="add captions, remove the images, or set data.skip_damaged = true",
            place=Location(corpus.images),
        )
    if bare:
        count.dropped[NO_CAPTION] = LineCount(len(bare))  # images have no line
    if not captions_of:
        raise DataError("there is no captioned image.", place=Location(corpus.captions))
    return [Captioned(name, tuple(captions), first[name]) for name, captions in captions_of.items()]


def _fault(name: str, caption: str, pictures: PictureFiles) -> str | None:
    if name not in pictures:
        return NO_PICTURE
    return None if caption else EMPTY


def _bad_row(reason: str, name: str, corpus: CaptionCorpus, line: int) -> DataError:
    if reason == EMPTY:
        return DataError(
            f"the caption of {name!r} is empty.",
            do="write one, remove the row, or set data.skip_damaged = true",
            place=Location(corpus.captions, line),
        )
    return DataError(
        "the row names an image that does not exist.",
        expected=f"an image in {corpus.images}",
        got=repr(name),
        do="add the image, remove the row, or set data.skip_damaged = true",
        place=Location(corpus.captions, line),
    )


def split_pictures(
    pictures: Iterable[Captioned], validation: float = 0.1, test: float = 0.1
) -> dict[str, list[Captioned]]:
    """The splits "train", "validation" and "test", by a hash of each image's name.

    An image's split does not depend on the other images, so the shares hold on average only.
    """
    splits: dict[str, list[Captioned]] = {"train": [], "validation": [], "test": []}
    for picture in pictures:
        digest = blake2b(picture.file.encode(), digest_size=8).digest()
        position = int.from_bytes(digest, "big") / 2**64
        if position < test:
            splits["test"].append(picture)
        elif position < test + validation:
            splits["validation"].append(picture)
        else:
            splits["train"].append(picture)
    return splits
