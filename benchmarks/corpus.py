"""Multi30k English-German with one joint BPE vocabulary of 8,000 subwords, the same for all.

Everything is written once into benchmarks/.work/corpus (git-ignored); the data itself stays where
JUMOK_DATA (default ../shared/data) points.
"""

import gzip
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import sentencepiece

from benchmarks.errors import BenchmarkError

WORK = Path(__file__).parent / ".work"
SOURCE, TARGET = "en", "de"
VOCABULARY = 8000
PAD, UNKNOWN, START, END = range(4)


@dataclass(frozen=True)
class Corpus:
    """The files a trainer may ask for; LANGUAGE is `en` (source) or `de` (target).

    SPLIT.LANGUAGE raw text; SPLIT.pieces.LANGUAGE the same as tokens, separated by spaces;
    SPLIT.ids.LANGUAGE as numbers. SPLIT is train or val. `model` is the SentencePiece model and
    `vocabulary` its subwords without the four special tokens, one per line.
    """

    folder: Path

    @property
    def model(self) -> Path:
        return self.folder / "joint.model"

    @property
    def vocabulary(self) -> Path:
        return self.folder / "vocabulary.txt"

    def text(self, split: str, language: str) -> Path:
        return self.folder / f"{split}.{language}"

    def pieces(self, split: str, language: str) -> Path:
        return self.folder / f"{split}.pieces.{language}"

    def ids(self, split: str, language: str) -> Path:
        return self.folder / f"{split}.ids.{language}"


def data_folder() -> Path:
    """The folder of real data: JUMOK_DATA, or ../shared/data beside the repository."""
    default = Path(__file__).parents[1] / ".." / "shared" / "data"
    folder = Path(os.environ.get("JUMOK_DATA", default)).resolve()
    if not (folder / "multi30k").is_dir():
        raise BenchmarkError(f"no folder multi30k in {folder}: set JUMOK_DATA to the data")
    return folder


def joint_corpus() -> Corpus:
    """The corpus, written on the first call."""
    corpus = Corpus(WORK / "corpus")
    if not (corpus.folder / "complete").exists():
        corpus.folder.mkdir(parents=True, exist_ok=True)
        _write(corpus, data_folder() / "multi30k")
        (corpus.folder / "complete").touch()
    return corpus


def test_sources(corpus: Corpus) -> list[list[int]]:
    """The English test_2016_flickr sentences as ids, each with END."""
    lines = _read_lines(data_folder() / "multi30k" / f"test_2016_flickr.{SOURCE}")
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(corpus.model))
    return [[*tokenizer.encode(line), END] for line in lines]


def _write(corpus: Corpus, data: Path) -> None:
    for language in (SOURCE, TARGET):
        _write_lines(corpus.text("train", language), _read_lines(data / f"train.{language}.gz"))
        _write_lines(corpus.text("val", language), _read_lines(data / f"val.{language}"))
    sentencepiece.SentencePieceTrainer.train(
        input=[str(corpus.text("train", SOURCE)), str(corpus.text("train", TARGET))],
        model_prefix=str(corpus.model.with_suffix("")),
        model_type="bpe",
        vocab_size=VOCABULARY,
        character_coverage=1.0,
        pad_id=PAD,
        unk_id=UNKNOWN,
        bos_id=START,
        eos_id=END,
        minloglevel=2,
    )
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(corpus.model))
    _write_lines(corpus.vocabulary, [tokenizer.id_to_piece(i) for i in range(END + 1, VOCABULARY)])
    for split in ("train", "val"):
        for language in (SOURCE, TARGET):
            lines = _read_lines(corpus.text(split, language))
            pieces = tokenizer.encode(lines, out_type=str)
            _write_lines(corpus.pieces(split, language), map(" ".join, pieces))
            ids = tokenizer.encode(lines, out_type=int)
            _write_lines(corpus.ids(split, language), (" ".join(map(str, row)) for row in ids))


def _read_lines(path: Path) -> list[str]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return text.removesuffix("\n").split("\n")


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))
