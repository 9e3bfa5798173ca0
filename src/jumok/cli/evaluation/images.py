"""`jumok evaluate` for models that read images: captioners and classifiers."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.columns import two_columns
from jumok.cli.screen import counted
from jumok.cli.verbs.evaluate import Evaluation, Judged, judged_labels
from jumok.decoding.options import FOR_CAPTIONS
from jumok.errors import ConfigError, DataError, Location

if TYPE_CHECKING:
    from jumok.data.captions.corpus import Captioned
    from jumok.data.files.images import PictureFiles
    from jumok.data.pictures.corpus import PictureExample, PictureSource
    from jumok.evaluation.heads.pictures import LabelledPicture
    from jumok.evaluation.pointing import Gold
    from jumok.systems.caption import Caption
    from jumok.systems.captioner import Captioner
    from jumok.systems.image_classifier import ImageClassification


def evaluate_captions(asked: Evaluation) -> Judged:
    """BLEU-1 to BLEU-4, CIDEr-D and ROUGE-L; pointing if boxes.jsonl is next to the captions.

    Raises:
        ConfigError: the folder of the images is not known.
        DataError: the table, an image or the boxes cannot be read.
    """
    with_meteor = asked.metrics == "meteor"
    if with_meteor:
        from jumok.evaluation.captions import meteor_program

        meteor_program()  # a missing program is reported before minutes of captioning
    table = asked.needs_data()
    images = images_of(asked.images, table, f"jumok evaluate {asked.model}")
    captioner: Captioner = asked.load("caption")
    files, pictures = read_captioned(table, images, asked.columns, captioner)
    gold = gold_boxes(table, pictures, captioner) if captioner.reading is not None else None
    from jumok.evaluation.captioner import caption_tokenizer
    from jumok.evaluation.captions import caption_words, score_captions

    tokenizer = asked.tokenize or caption_tokenizer(captioner.language)
    caption_words("", tokenizer)  # an unknown one is reported before minutes of captioning
    looks = gold is not None
    captions = list(counted(_captions_of(asked, captioner, files, pictures, looks)))
    texts = [caption.text for caption in captions]
    references = [picture.captions for picture in pictures]
    scores = score_captions(texts, references, tokenizer=tokenizer, meteor=with_meteor)
    if gold is not None:
        from jumok.evaluation.captioner import Pointed, picture_sizes
        from jumok.evaluation.pointing import score_pointing

        names = [picture.file for picture in pictures]
        pointed = Pointed(names, picture_sizes((files, name) for name in names), gold)
        pointing = list(pointed.looks(texts, [caption.looks for caption in captions]))
        # A poor captioner may not write any noun.
        scores += score_pointing(pointing) if pointing else []
    return Judged(tuple(scores), texts, f"{len(pictures):,} images, beam {asked.decoding.beam}")


def read_captioned(
    table: Path, images: Path, columns: str, captioner: "Captioner"
) -> "tuple[PictureFiles, list[Captioned]]":
    """The images, or their features, and the captions of each.

    Args:
        columns: of the image files and of the captions, as --columns has them.
    """
    from jumok.data.captions.corpus import CaptionCorpus, read_captions
    from jumok.data.captions.store import FeatureSource
    from jumok.data.files.images import ImageSource

    named = two_columns(columns, "the image's and the caption's", "file,caption")
    files = FeatureSource(images) if captioner.reads_features else ImageSource(images)
    return files, read_captions(CaptionCorpus(table, images, *named), files, others=True)


def gold_boxes(table: Path, pictures: "list[Captioned]", captioner: "Captioner") -> "Gold | None":
    """The boxes next to the captions; None without them, and for features, which have no pixels."""
    boxes = table.parent / "boxes.jsonl"
    if captioner.reads_features or not boxes.is_file():
        return None
    from jumok.data.captions.boxes import read_boxes
    from jumok.evaluation.pointing import Gold

    return Gold(read_boxes(boxes, captioner.language), pictures)


def images_of(images: Path | None, table: Path, command: str) -> Path:
    """The folder or archive that is named, or the one next to the table.

    Raises:
        ConfigError: neither exists; the error names `command`.
    """
    beside = [table.parent / name for name in ("images", "images.zip")]
    folder = images or next((path for path in beside if path.exists()), None)
    if folder is None:
        raise ConfigError(
            "image folder not found.",
            expected=f"--images, or {beside[0]}, or {beside[1]}",
            do=f"{command} --data {table} --images FOLDER",
        )
    return folder


def _captions_of(
    asked: Evaluation,
    captioner: "Captioner",
    files: "PictureFiles",
    pictures: "list[Captioned]",
    looks: bool,
) -> Iterator["Caption"]:
    options, stream = asked.search(FOR_CAPTIONS), iter(pictures)
    import torch

    from jumok.data.captions.store import Item, read_item

    while chunk := list(islice(stream, asked.machine.batch)):
        items = (Item(files, each.file, Location(asked.needs_data(), each.line)) for each in chunk)
        read = [torch.from_numpy(read_item(item, captioner.reader)) for item in items]
        yield from captioner.caption(read, options, looks=looks, batch_size=asked.machine.batch)


def evaluate_images(asked: Evaluation) -> Judged:
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
    pictures = _readable_images(source.read(), damaged) if asked.skip_damaged else source.read()
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
    numbers = [system.labels.index(label) for label in predicted]
    return judged_labels(truth, numbers, system.labels, f"{len(truth):,} images")


def _readable_images(
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
