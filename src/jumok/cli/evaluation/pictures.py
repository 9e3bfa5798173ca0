"""`jumok evaluate` for image classifiers: accuracy and F1."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.screen import counted
from jumok.cli.verbs.evaluate import Evaluation, Judged
from jumok.errors import DataError, Location

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
    predicted: list[str] = []
    import numpy as np

    waiting: list[np.ndarray] = []
    damaged: list[PictureExample] = []
    pictures = _readable(source.read(), damaged) if asked.skip_damaged else source.read()
    for picture in labelled_pictures(system, counted(pictures), "--skip-damaged leaves it out"):
        truth.append(picture.label)
        waiting.append(picture.pixels)
        if len(waiting) == asked.machine.batch:
            predicted += [each.label for each in system.classify_fitted(np.stack(waiting))]
            waiting.clear()
    if waiting:
        predicted += [each.label for each in system.classify_fitted(np.stack(waiting))]
    if damaged:
        typer.echo(
            f"skipped unreadable images: {len(damaged):,}, the first: {damaged[0].place}",
            err=True,
        )
    if not truth:
        raise DataError("none of the images can be read.", place=Location(asked.needs_data()))
    from jumok.evaluation.classification import ClassifiedExamples, confusion_lines

    labelled = ClassifiedExamples.of(truth, [system.labels.index(label) for label in predicted])
    on = f"{len(truth):,} images"
    return Judged(
        labelled.scores(system.labels, on),
        predicted,
        on,
        tuple(confusion_lines(labelled, system.labels)),
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
    """The images as model inputs, with the numbers of their labels.

    Args:
        way_out: what else can be done about an unreadable image, for the error.

    Raises:
        DataError: an image cannot be read, or the model does not have a label.
    """
    from jumok.evaluation.heads.pictures import LabelledPicture

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
        yield LabelledPicture(system.fit(picture.pixels), label)


def source_of(data: Path) -> "PictureSource":
    """The images of --data: a folder, a zip archive, a table, or an idx file next to its labels.

    Raises:
        DataError: the labels of an idx file of images are not next to it.
    """
    from jumok.data.pictures.corpus import PictureSource

    if data.is_dir() or data.suffix == ".zip":
        return PictureSource(folder=data)
    if "idx3" not in data.name:
        return PictureSource(table=data)
    labels = data.with_name(data.name.replace("images", "labels").replace("idx3", "idx1"))
    if not labels.is_file():
        raise DataError(
            "the labels of these images are not next to them.",
            expected=labels.name,
            place=Location(data),
        )
    return PictureSource(images=data, labels=labels)
