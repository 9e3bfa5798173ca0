"""`jumok evaluate` for captioners: their captions against reference captions."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.cli.columns import two_columns
from jumok.cli.screen import counted
from jumok.cli.verbs.evaluate import Evaluation, Judged
from jumok.decoding.options import FOR_CAPTIONS
from jumok.errors import ConfigError, Location

if TYPE_CHECKING:
    from jumok.bundle.card import Score
    from jumok.data.captions.corpus import Captioned
    from jumok.data.files.images import PictureFiles
    from jumok.data.files.tables import Column
    from jumok.systems.caption import Caption
    from jumok.systems.captioner import Captioner

BOXES = "boxes.jsonl"


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
    from jumok.data.captions.store import FeatureSource
    from jumok.data.files.images import ImageSource

    files = FeatureSource(images) if captioner.reads_features else ImageSource(images)
    from jumok.data.captions.corpus import CaptionCorpus, read_captions

    corpus = CaptionCorpus(table, images, *caption_columns(asked.columns))
    pictures = read_captions(corpus, files, others=True)
    boxes = table.parent / BOXES
    # Boxes are in pixels, and features do not hold the sizes of their images.
    boxed = boxes.is_file() and not captioner.reads_features
    pointing = boxed and captioner.reading is not None
    captions = list(counted(_write(asked, captioner, files, pictures, pointing)))
    texts = [caption.text for caption in captions]
    from jumok.evaluation.captioner import caption_tokenizer

    tokenizer = asked.tokenize or caption_tokenizer(captioner.language)
    references = [picture.captions for picture in pictures]
    from jumok.evaluation.captions import score_captions

    scores = score_captions(texts, references, tokenizer=tokenizer, meteor=with_meteor)
    if pointing:
        scores += _pointing(boxes, captioner.language, files, pictures, captions)
    return Judged(tuple(scores), texts, f"{len(pictures):,} images, beam {asked.decoding.beam}")


def caption_columns(named: str) -> "tuple[Column, Column]":
    """The columns of the image files and of the captions."""
    return two_columns(named, "the image's and the caption's", "file,caption")


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


def _write(
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


def _pointing(
    boxes: Path,
    language: str,
    files: "PictureFiles",
    pictures: "list[Captioned]",
    captions: "list[Caption]",
) -> "list[Score]":
    names = [picture.file for picture in pictures]
    from jumok.data.captions.boxes import read_boxes
    from jumok.evaluation.pointing import Gold, score_pointing

    gold = Gold(read_boxes(boxes, language), pictures)
    from jumok.evaluation.captioner import Pointed, picture_sizes

    pointed = Pointed(names, picture_sizes((files, name) for name in names), gold)
    texts = [caption.text for caption in captions]
    looks = list(pointed.looks(texts, [caption.looks for caption in captions]))
    return score_pointing(looks) if looks else []  # a poor captioner may not write any noun
