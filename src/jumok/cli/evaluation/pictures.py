"""`jumok evaluate` for image classifiers: accuracy and F1."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.screen import counted
from jumok.cli.verbs.evaluate import Evaluation, Judged
from jumok.errors import DataError, Place
from jumok.late import late_imports

with late_imports():
    import numpy as np

    from jumok.data.pictures import corpus
    from jumok.evaluation import classification
    from jumok.evaluation.heads import pictures as heads_pictures

if TYPE_CHECKING:
    from jumok.data.pictures.corpus import PictureExample, PictureSource
    from jumok.evaluation.heads.pictures import LabelledPicture
    from jumok.systems.image_classifier import ImageClassification


def evaluate_pictures(asked: Evaluation) -> Judged:
    """Accuracy, macro F1 and the confusion matrix.

    Raises:
        DataError: an image cannot be read, or the model does not have a label.
    """
    source = source_of(asked.needs_data())
    system = asked.load("classify")
    truth: list[int] = []
    found: list[str] = []
    waiting: list[np.ndarray] = []
    damaged: list[PictureExample] = []
    pictures = _readable(source.read(), damaged) if asked.skip_damaged else source.read()
    for picture in labelled_pictures(system, counted(pictures), "--skip-damaged leaves it out"):
        truth.append(picture.label)
        waiting.append(picture.pixels)
        if len(waiting) == asked.batch:
            found += [each.label for each in system.classify_fitted(np.stack(waiting))]
            waiting.clear()
    if waiting:
        found += [each.label for each in system.classify_fitted(np.stack(waiting))]
    if damaged:
        typer.echo(
            f"skipped unreadable images: {len(damaged):,}, the first: {damaged[0].place}",
            err=True,
        )
    if not truth:
        raise DataError("none of the images can be read.", place=Place(asked.needs_data()))
    labelled = classification.ClassifiedExamples.of(
        truth, [system.labels.index(label) for label in found]
    )
    on = f"{len(truth):,} images"
    return Judged(
        labelled.scores(system.labels, on),
        found,
        on,
        tuple(classification.confusion_lines(labelled, system.labels)),
    )


def _readable(
    pictures: "Iterable[PictureExample]", damaged: "list[PictureExample]"
) -> "Iterator[PictureExample]":
    """The images that can be read; the others are appended to `damaged`."""
    for picture in pictures:
        if isinstance(picture.pixels, DataError):
            damaged.append(picture)
        else:
            yield picture


def labelled_pictures(
    system: "ImageClassification", pictures: "Iterable[PictureExample]", way_out: str = ""
) -> "Iterator[LabelledPicture]":
    """The pictures as the model wants them, with the numbers of their labels.

    Args:
        way_out: what else can be done about one that cannot be read.

    Raises:
        DataError: a picture that cannot be read, or a label that the model does not have.
    """
    for picture in pictures:
        if isinstance(picture.pixels, DataError):
            error = picture.pixels
            ways = "; ".join(filter(None, (error.do, way_out))) or None
            raise DataError(
                error.what, expected=error.expected, got=error.got, do=ways, place=error.place
            )
        if picture.label not in system.labels:
            raise DataError(
                "the model does not have this label.",
                expected=", ".join(system.labels),
                got=repr(picture.label),
                place=picture.place,
            )
        label = system.labels.index(picture.label)
        yield heads_pictures.LabelledPicture(system.fit(picture.pixels), label)


def source_of(data: Path) -> "PictureSource":
    """The images of --data: a folder, a zip archive, a table, or an idx file next to its labels.

    Raises:
        DataError: the labels of an idx file of images are not next to it.
    """
    if data.is_dir() or data.suffix == ".zip":
        return corpus.PictureSource(folder=data)
    if "idx3" not in data.name:
        return corpus.PictureSource(table=data)
    labels = data.with_name(data.name.replace("images", "labels").replace("idx3", "idx1"))
    if not labels.is_file():
        raise DataError(
            "the labels of these images are not next to them.",
            expected=labels.name,
            place=Place(data),
        )
    return corpus.PictureSource(images=data, labels=labels)
