"""`jumok evaluate` for captioners: their captions against reference captions."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.cli.columns import two_columns
from jumok.cli.screen import counted
from jumok.cli.verbs.evaluate import Evaluation, Judged
from jumok.errors import ConfigError, Place
from jumok.late import late_imports

with late_imports():
    import torch

    from jumok.data.captions import boxes as captions_boxes
    from jumok.data.captions import corpus as captions_corpus
    from jumok.data.captions import store
    from jumok.data.files import images as files_images
    from jumok.evaluation import captioner as evaluation_captioner
    from jumok.evaluation import captions as evaluation_captions
    from jumok.evaluation import meteor
    from jumok.evaluation import pointing as evaluation_pointing
    from jumok.systems import captioner as systems_captioner

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
        meteor.meteor_program()  # a missing program is reported before minutes of captioning
    table = asked.needs_data()
    images = images_of(asked.images, table, f"jumok evaluate {asked.model}")
    captioner: Captioner = asked.load("caption")
    files = (
        store.FeatureSource(images)
        if captioner.reads_features
        else files_images.ImageSource(images)
    )
    corpus = captions_corpus.CaptionCorpus(table, images, *caption_columns(asked.columns))
    pictures = captions_corpus.read_captions(corpus, files, others=True)
    boxes = table.parent / BOXES
    # Boxes are in pixels, and features do not hold the sizes of their images.
    boxed = boxes.is_file() and not captioner.reads_features
    pointing = boxed and captioner.reading is not None
    captions = list(counted(_write(asked, captioner, files, pictures, pointing)))
    texts = [caption.text for caption in captions]
    tokenizer = asked.tokenize or evaluation_captioner.caption_tokenizer(captioner.language)
    references = [picture.captions for picture in pictures]
    scores = evaluation_captions.score_captions(
        texts, references, tokenizer=tokenizer, meteor=with_meteor
    )
    if pointing:
        scores += _pointing(boxes, captioner.language, files, pictures, captions)
    return Judged(tuple(scores), texts, f"{len(pictures):,} images, beam {asked.beam}")


def caption_columns(named: str) -> "tuple[Column, Column]":
    """The columns of the image files and of the captions."""
    return two_columns(named, "the image's and the caption's", "file,caption")


def images_of(images: Path | None, table: Path, command: str) -> Path:
    """The folder or archive of the images: the one that is named, or the one next to the table.

    Args:
        command: the command, such as "jumok evaluate MODEL", for the error.

    Raises:
        ConfigError: neither exists.
    """
    beside = [table.parent / name for name in ("images", "images.zip")]
    found = images or next((path for path in beside if path.exists()), None)
    if found is None:
        raise ConfigError(
            "image folder not found.",
            expected=f"--images, or {beside[0]}, or {beside[1]}",
            do=f"{command} --data {table} --images FOLDER",
        )
    return found


def _write(
    asked: Evaluation,
    captioner: "Captioner",
    files: "PictureFiles",
    pictures: "list[Captioned]",
    looks: bool,
) -> Iterator["Caption"]:
    options, stream = asked.search(systems_captioner.DEFAULTS), iter(pictures)
    while chunk := list(islice(stream, asked.batch)):
        items = (
            store.Item(files, each.file, Place(asked.needs_data(), each.line)) for each in chunk
        )
        read = [torch.from_numpy(store.read_item(item, captioner.reader)) for item in items]
        yield from captioner.caption(read, options, looks=looks, batch_size=asked.batch)


def _pointing(
    boxes: Path,
    language: str,
    files: "PictureFiles",
    pictures: "list[Captioned]",
    captions: "list[Caption]",
) -> "list[Score]":
    names = [picture.file for picture in pictures]
    gold = evaluation_pointing.Gold(captions_boxes.read_boxes(boxes, language), pictures)
    pointed = evaluation_captioner.Pointed(
        names, evaluation_captioner.sizes_of((files, name) for name in names), gold
    )
    texts = [caption.text for caption in captions]
    looks = list(pointed.looks(texts, [caption.looks for caption in captions]))
    return (
        evaluation_pointing.score_pointing(looks) if looks else []
    )  # a poor captioner may not write any noun
