"""Pictures with captions: one table of captions, one folder or archive of pictures.

Every row of the table holds a picture's file name and one caption; a picture has as many captions
as rows. Splits are made by picture: a photograph whose captions stood in training and in test
would be remembered, not described.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from jumok.data.images import ImageSource, PictureFiles
from jumok.data.report import CorpusReport, Count
from jumok.data.tables import Column, read_tsv
from jumok.errors import DataError, Place


@dataclass(frozen=True)
class CaptionCorpus:
    """Where captions and pictures are.

    Attributes:
        captions: a TSV file (.gz and .zst too), one caption a row.
        images: a folder, or a .zip archive, that holds the pictures.
        file_column, caption_column: a column's number from 0, or its name in a header line. The
            usual order of such tables is file, number, caption, without a header.
    """

    captions: Path
    images: Path
    file_column: Column = 0
    caption_column: Column = 2


class Captioned(NamedTuple):
    """A picture's name in its folder, its captions in order, and the row (from 1) of the first."""

    file: str
    captions: tuple[str, ...]
    line: int


NO_PICTURE = "there is no such picture"
NO_CAPTION = "the picture has no caption"
EMPTY = "the caption is empty"


def read_captions(
    corpus: CaptionCorpus,
    pictures: PictureFiles | None = None,
    *,
    skip: bool = False,
    others: bool = False,
    report: CorpusReport | None = None,
) -> list[Captioned]:
    """The pictures that have captions, in the order of their first rows.

    Args:
        pictures: the files that stand for the pictures; None: those in the corpus's folder.
        skip: leave out what is wrong (rows without a picture or a caption, pictures without
            captions) and count it in `report`, instead of stopping at the first.
        others: the folder may hold pictures that are not in this table: another one has them.
        report: `read` counts the rows, `kept` the captions.

    Raises:
        DataError: a row names a missing picture or holds an empty caption (unless skipped); a
            picture has no caption (unless skipped); nothing is left; or as `read_tsv` and
            `ImageSource`. The text names the file and the row.
    """
    pictures = ImageSource(corpus.images) if pictures is None else pictures
    count = report or CorpusReport(corpus.captions.name)
    found: dict[str, list[str]] = {}
    first: dict[str, int] = {}
    rows = read_tsv(corpus.captions, corpus.file_column, corpus.caption_column, report)
    for name, caption, line in rows:
        count.read += 1
        reason = _fault(name, caption.strip(), pictures)
        if reason is None:
            found.setdefault(name, []).append(caption.strip())
            first.setdefault(name, line)
            count.kept += 1
        elif skip:
            count.drop(reason, [line])
        else:
            raise _bad_row(reason, name, corpus, line)
    # By their files: of features a table may name the pictures that they were made from.
    told = {pictures.place(name) for name in found}
    bare = [] if others else [each for each in pictures.names if pictures.place(each) not in told]
    if bare and not skip:
        raise DataError(
            "Some pictures have no caption.",
            expected=f"at least one row for each of the {len(pictures):,} pictures",
            got=f"none for {len(bare):,} of them: {', '.join(bare[:3])}{', ...' * (len(bare) > 3)}",
            do="add captions, take the pictures out, or set data.skip_damaged = true",
            place=Place(corpus.images),
        )
    if bare:
        count.dropped[NO_CAPTION] = Count(len(bare))  # pictures stand on no line
    if not found:
        raise DataError("There is not one captioned picture.", place=Place(corpus.captions))
    return [Captioned(name, tuple(captions), first[name]) for name, captions in found.items()]


def _fault(name: str, caption: str, pictures: PictureFiles) -> str | None:
    if name not in pictures:
        return NO_PICTURE
    return None if caption else EMPTY


def _bad_row(reason: str, name: str, corpus: CaptionCorpus, line: int) -> DataError:
    if reason == EMPTY:
        return DataError(
            f"The caption of {name!r} is empty.",
            do="write one, take the row out, or set data.skip_damaged = true",
            place=Place(corpus.captions, line),
        )
    return DataError(
        "The row names a picture that is not there.",
        expected=f"a picture in {corpus.images}",
        got=repr(name),
        do="add the picture, take the row out, or set data.skip_damaged = true",
        place=Place(corpus.captions, line),
    )


def split_pictures(
    pictures: Iterable[Captioned], validation: float = 0.1, test: float = 0.1
) -> dict[str, list[Captioned]]:
    """The splits "train", "validation" and "test", by a hash of each picture's name.

    A picture keeps its split whatever other pictures there are, in any order; so the shares are
    met on average and not exactly.
    """
    splits: dict[str, list[Captioned]] = {"train": [], "validation": [], "test": []}
    for each in pictures:
        digest = blake2b(each.file.encode(), digest_size=8).digest()
        place = int.from_bytes(digest, "big") / 2**64
        if place < test:
            splits["test"].append(each)
        elif place < test + validation:
            splits["validation"].append(each)
        else:
            splits["train"].append(each)
    return splits
