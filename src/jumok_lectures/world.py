"""The sentences that labs train on: smallworld's short, polite ones with its commonest words.

Few words are learned fast, and a lab has seconds. The files are written once into a folder that
all labs share; whatever the lab's seed, the sentences are the same.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import smallworld
from jumok_lectures.written import Splits, written
from smallworld import LinkedPair

SEED = 1
LENGTHS = (3, 8)  # words
SIZES = {"train": 12_000, "validation": 300, "test": 300}
HOME = "sentences"
WORDS, COUNTED = 300, 15_000  # the most frequent words of this many sentences


def write(folder: Path) -> Path:
    """Writes SPLIT.en, .ko and .align into folder/sentences, unless they are there."""
    return written(folder / HOME, _splits)


def _splits() -> Splits:
    return {split: _files(linked(split, size)) for split, size in SIZES.items()}


def _files(pairs: Sequence[LinkedPair]) -> dict[str, list[str]]:
    return {
        "en": [pair.source for pair in pairs],
        "ko": [pair.target for pair in pairs],
        "align": [pair.pharaoh for pair in pairs],
    }


def stream(split: str) -> Iterator[LinkedPair]:
    """Distinct polite sentences of one split."""
    pairs = smallworld.distinct(smallworld.pairs(split, SEED, *LENGTHS))
    return (pair for pair in pairs if "polite" in pair.constructions)


def linked(split: str, count: int) -> list[LinkedPair]:
    """The first so many sentences of a split that have common words alone."""
    known = common_words()
    return list(islice((pair for pair in stream(split) if words(pair) <= known), count))


def split(line: str) -> list[str]:
    """The words of an English sentence, without its marks."""
    return line.lower().rstrip(".?!").replace(",", "").split()


def words(pair: LinkedPair) -> set[str]:
    """The English words, without their marks."""
    return set(split(pair.source))


def common_words(sentences: int = COUNTED) -> set[str]:
    """The WORDS commonest words of the training stream's first sentences."""
    counts = Counter(word for pair in islice(stream("train"), sentences) for word in words(pair))
    return {word for word, _ in counts.most_common(WORDS)}


def read(folder: Path, split: str) -> tuple[list[str], list[str], list[list[tuple[int, int]]]]:
    """English lines, Korean lines, and their gold links (English word, Korean word), from 0."""
    home = write(folder)
    english, korean, align = (
        (home / f"{split}.{kind}").read_text("utf-8").splitlines() for kind in ("en", "ko", "align")
    )
    links = [
        [(int(link.split("-")[0]), int(link.split("-")[1])) for link in line.split()]
        for line in align
    ]
    return english, korean, links
