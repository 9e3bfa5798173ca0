"""From a recipe's data section to pictures on disk, captions as pieces, and splits by picture."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jumok.config import CaptionConfig, CaptionCorpusConfig
from jumok.data.captioned import CaptionedPictures
from jumok.data.captions import CaptionCorpus, Captioned, read_captions, split_pictures
from jumok.data.images import ImageSource, PictureFiles
from jumok.data.inputs import FeatureSource, Item, Reader, store_inputs
from jumok.data.report import Report
from jumok.data.tokenizer import Tokenizer, normalize
from jumok.errors import DataError, Place
from jumok.systems.captioner import reader_of
from jumok.training.task import Say
from jumok.training.vocabulary import learn_tokenizer


@dataclass(frozen=True)
class Pictures:
    """The captioned pictures of one split: where they are, and what is said of them."""

    items: list[Item]
    captions: list[tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True)
class Prepared:
    """What a run trains and validates on.

    Attributes:
        references: the captions by people of every validation picture, as text.
    """

    tokenizer: Tokenizer
    train: CaptionedPictures
    validation: CaptionedPictures
    references: list[tuple[str, ...]]


def prepare(config: CaptionConfig, home: Path, cache: Path, say: Say) -> Prepared:
    """Reads the captions, splits them by picture, and stores the pictures at the model's size.

    The captions of the test pictures are written to test.tsv in the run's folder.

    Raises:
        DataError: a table or a picture that cannot be read, or a split with nothing in it.
    """
    reader = reader_of(config.model)
    splits = _splits(config, say)
    _write_table(home / "test.tsv", splits["test"])
    say(", ".join(f"{name}: {len(split):,} pictures" for name, split in splits.items()))
    train, validation = splits["train"], splits["validation"]
    for name in ("train", "validation"):
        if not len(splits[name]):
            raise DataError(
                f"No picture is left for {name}.",
                do="give more pictures, or other shares in [data]",
            )
    lines = (caption for captions in train.captions for caption in captions)
    tokenizer = learn_tokenizer(config.tokenizer, lines, home / "tokenizer.model", config.seed, say)
    stored = [
        _stored(split, name, config, reader, tokenizer, cache, say)
        for name, split in (("train", train), ("validation", validation))
    ]
    (training, _), (checked, references) = stored
    return Prepared(tokenizer, training, checked, references)


def _splits(config: CaptionConfig, say: Say) -> dict[str, Pictures]:
    """The pictures of train, validation and test; those of a validation corpus are its own."""
    data = config.data
    given = bool(data.validation)
    found: dict[str, list[Pictures]] = {"train": [], "validation": [], "test": []}
    for corpus in data.train:
        files = _files(corpus, config)
        pictures = _read(corpus, files, data.skip_damaged, say)
        share = 0.0 if given else data.validation_share
        for name, split in split_pictures(pictures, share, data.test_share).items():
            found[name].append(_pictures(corpus, files, split))
    for corpus in data.validation:
        files = _files(corpus, config)
        pictures = _read(corpus, files, data.skip_damaged, say)
        found["validation"].append(_pictures(corpus, files, pictures))
    return {
        name: Pictures(
            [item for part in parts for item in part.items],
            [captions for part in parts for captions in part.captions],
        )
        for name, parts in found.items()
    }


def _files(corpus: CaptionCorpusConfig, config: CaptionConfig) -> PictureFiles:
    given = config.model.encoder.kind == "given"
    return FeatureSource(corpus.images) if given else ImageSource(corpus.images)


def _read(
    corpus: CaptionCorpusConfig, files: PictureFiles, skip: bool, say: Say
) -> list[Captioned]:
    report = Report(corpus.captions.name)
    columns = CaptionCorpus(
        corpus.captions, corpus.images, corpus.file_column, corpus.caption_column
    )
    pictures = read_captions(columns, files, skip=skip, report=report)
    say(str(report))
    return pictures


def _pictures(
    corpus: CaptionCorpusConfig, files: PictureFiles, pictures: Sequence[Captioned]
) -> Pictures:
    return Pictures(
        [Item(files, each.file, Place(corpus.captions, each.line)) for each in pictures],
        [each.captions for each in pictures],
    )


def _stored(
    split: Pictures,
    name: str,
    config: CaptionConfig,
    reader: Reader,
    tokenizer: Tokenizer,
    cache: Path,
    say: Say,
) -> tuple[CaptionedPictures, list[tuple[str, ...]]]:
    """The pictures and the pieces of their captions, and the captions as they are."""
    inputs = store_inputs(split.items, reader, cache, skip=config.data.skip_damaged)
    if inputs.faults:
        say(f"{name}: {len(inputs.faults):,} pictures left out, the first: {inputs.faults[0]}")
    texts = [split.captions[index] for index in inputs.kept]
    captions = list(_cut(texts, tokenizer, config.data.max_tokens))
    return CaptionedPictures(inputs.values, captions, inputs.key + tokenizer.hash[:8]), texts


def _cut(
    texts: Sequence[tuple[str, ...]], tokenizer: Tokenizer, longest: int
) -> Iterator[list[list[int]]]:
    """Captions as pieces. One that is too long loses its end: the picture is worth keeping."""
    for captions in texts:
        yield [ids[:longest] for ids in tokenizer.encode_batch(captions)]


def _write_table(file: Path, split: Pictures) -> None:
    rows = [
        f"{item.name}\t{number}\t{normalize(caption)}\n"
        for item, captions in zip(split.items, split.captions, strict=True)
        for number, caption in enumerate(captions)
    ]
    file.write_text("".join(rows), encoding="utf-8")
