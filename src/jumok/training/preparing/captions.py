"""From a recipe's data section to images on disk, captions as tokens, and splits by image."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from jumok.config import CaptionConfig, CaptionCorpusConfig
from jumok.config.eye import EyeConfig
from jumok.data.captions.batches import CaptionedPictures
from jumok.data.captions.corpus import CaptionCorpus, read_captions, split_pictures
from jumok.data.captions.store import FeatureSource, InputReader, Item, store_inputs
from jumok.data.files.atomic import atomic_folder, write_durably
from jumok.data.files.images import ImageSource, PictureFiles
from jumok.data.report import CorpusReport
from jumok.data.tokenizer import Tokenizer, normalize
from jumok.errors import DataError, Location
from jumok.systems.captioner import picture_reader_of
from jumok.training.folder import SCENES, TEST
from jumok.training.preparing.eye import PretrainedEye, Views, pretrained_eye
from jumok.training.preparing.vocabulary import learn_tokenizer
from jumok.training.task import Reporter
from smallworld import scenes


@dataclass(frozen=True)
class CaptionedSplit:
    """The captioned images of one split: their files and their captions."""

    items: list[Item]
    captions: list[tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True)
class PreparedCaptions:
    """The training and validation data of a run.

    Attributes:
        checked: the validation images and their reference captions.
        boxes: of the objects that validation captions name; None: not known.
        sources: the name of every table.
        eye: the pretrained encoder, whose frozen features are the inputs; None: there is none.
    """

    tokenizer: Tokenizer
    train: CaptionedPictures
    validation: CaptionedPictures
    checked: CaptionedSplit
    boxes: Path | None
    sources: tuple[str, ...]
    eye: PretrainedEye | None


def prepare_captions(
    config: CaptionConfig, home: Path, cache: Path, say: Reporter
) -> PreparedCaptions:
    """Reads the captions, splits them by image, and stores the images at the model's size.

    The captions of the test images are written to test.tsv in the run's folder.
    """
    train_on, check_on, boxes = _caption_tables(config, home, say)
    splits = _splits(config, train_on, check_on, say)
    say(", ".join(f"{name}: {len(split):,} images" for name, split in splits.items()))
    for name in ("train", "validation"):
        if not len(splits[name]):
            raise DataError(
                f"no image is left for {name}.",
                do="give more images, or other shares in [data]",
            )
    if len(splits["test"]):
        _write_table(home / TEST, splits["test"])
    lines = (caption for captions in splits["train"].captions for caption in captions)
    tokenizer = learn_tokenizer(config.tokenizer, lines, home / "tokenizer.model", config.seed, say)
    eye = None
    if isinstance(config.model.encoder, EyeConfig):
        eye = pretrained_eye(config.model.encoder, home, say)
    changed = Views(config.data.views, config.data.flip, config.data.shift)
    train, _ = _stored_split(
        splits["train"], "train", config, tokenizer, _reader(config, eye, changed), cache, say
    )
    validation, checked = _stored_split(
        splits["validation"],
        "validation",
        config,
        tokenizer,
        _reader(config, eye, Views()),
        cache,
        say,
    )
    sources = tuple(corpus.captions.name for corpus in train_on)
    return PreparedCaptions(tokenizer, train, validation, checked, boxes, sources, eye)


def _reader(config: CaptionConfig, eye: PretrainedEye | None, views: Views) -> InputReader:
    return picture_reader_of(config.model) if eye is None else eye.reader(views)


def _caption_tables(
    config: CaptionConfig, home: Path, say: Reporter
) -> tuple[tuple[CaptionCorpusConfig, ...], tuple[CaptionCorpusConfig, ...], Path | None]:
    """The training tables, the validation tables, and their boxes; scenes are drawn first."""
    data = config.data
    if data.scenes is None:
        return data.train, data.validation, None
    folder = home / SCENES
    if not folder.exists():
        sizes = {
            "train": data.scenes.pictures,
            "validation": data.scenes.validation_pictures,
            "test": data.scenes.test_pictures,
        }
        with atomic_folder(folder) as partial:
            scenes.write(partial, sizes, config.seed)
        say(f"scenes: {data.scenes.pictures:,} images written to {folder}")
    train, validation = (
        CaptionCorpusConfig(
            captions=folder / split / f"captions.{data.language}.tsv",
            images=folder / split / "images.zip",
        )
        for split in ("train", "validation")
    )
    return (train,), (validation,), folder / "validation" / "boxes.jsonl"


def _splits(
    config: CaptionConfig,
    train: tuple[CaptionCorpusConfig, ...],
    validation: tuple[CaptionCorpusConfig, ...],
    say: Reporter,
) -> dict[str, CaptionedSplit]:
    """The images of train, validation and test; none is held out if a validation table is given."""
    data = config.data
    precomputed = config.model.encoder.kind == "given"
    folders = [table.images for table in (*train, *validation)]
    shares = (0.0, 0.0) if validation else (data.validation_share, data.test_share)
    splits = {name: CaptionedSplit([], []) for name in ("train", "validation", "test")}
    for number, table in enumerate((*train, *validation)):
        files: PictureFiles = (
            FeatureSource(table.images) if precomputed else ImageSource(table.images)
        )
        report = CorpusReport(table.captions.name)
        columns = CaptionCorpus(
            table.captions, table.images, table.file_column, table.caption_column
        )
        shared = folders.count(table.images) > 1
        pictures = read_captions(
            columns, files, skip=data.skip_damaged, others=shared, report=report
        )
        say(str(report))
        parts = {"validation": pictures}
        if number < len(train):
            parts = split_pictures(pictures, *shares)
        for name, part in parts.items():
            splits[name].items.extend(
                Item(files, picture.file, Location(table.captions, picture.line))
                for picture in part
            )
            splits[name].captions.extend(picture.captions for picture in part)
    return splits


def _stored_split(
    split: CaptionedSplit,
    name: str,
    config: CaptionConfig,
    tokenizer: Tokenizer,
    reader: InputReader,
    cache: Path,
    say: Reporter,
) -> tuple[CaptionedPictures, CaptionedSplit]:
    """The arrays of the images with the tokens of their captions, and the images that were kept."""
    inputs = store_inputs(split.items, reader, cache, skip=config.data.skip_damaged)
    if inputs.faults:
        say(f"{name}: {len(inputs.faults):,} images left out, the first: {inputs.faults[0]}")
    kept = CaptionedSplit(
        [split.items[index] for index in inputs.kept],
        [split.captions[index] for index in inputs.kept],
    )
    longest = config.data.max_tokens  # longer ones are truncated, so that their images are kept
    captions = [[ids[:longest] for ids in tokenizer.encode_batch(texts)] for texts in kept.captions]
    # The store of the images does not depend on their captions.
    written = hashlib.sha256(json.dumps(captions).encode()).hexdigest()
    key = f"{inputs.key} {written[:16]}"
    views = reader.shape[0] if isinstance(config.model.encoder, EyeConfig) else None
    return CaptionedPictures(inputs.values, captions, key, views), kept


def _write_table(file: Path, split: CaptionedSplit) -> None:
    rows = [
        f"{item.name}\t{number}\t{normalize(caption)}\n"
        for item, captions in zip(split.items, split.captions, strict=True)
        for number, caption in enumerate(captions)
    ]
    write_durably(file, "".join(rows).encode())
