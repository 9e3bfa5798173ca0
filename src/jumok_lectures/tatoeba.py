"""Everyday sentences in English and French, where JUMOK_DATA has them, and gold links to read by.

Source: Tatoeba (tatoeba.org), CC BY 2.0 FR; the Hansards' links of Och and Ney 2000.
"""

from pathlib import Path

from jumok.alignment.words import GoldLinks
from jumok.data.files.reading import read_lines
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.evaluation.alignment import read_gold
from jumok_lectures.written import Splits, written

PAIRS = Path("tatoeba") / "eng-fra.tsv.gz"
LINKS = Path("align_gold") / "hansards_en-fr_447.tsv"  # English, French, links
UNSEEN = 500  # of this many pairs one sentence is kept out, with all its translations


def write(data: Path, folder: Path, unseen: int = UNSEEN) -> Path:
    """Writes train and validation, .en and .fr, into folder/tatoeba, unless they are there."""
    return written(folder / "tatoeba", lambda: _splits(data, unseen))


def _splits(data: Path, every: int) -> Splits:
    pairs = list(read_pairs(Corpus(file=data / PAIRS)))
    unseen = {pair.source for pair in pairs[::every]}
    chosen = {
        "train": [pair for pair in pairs if pair.source not in unseen],
        "validation": [pair for pair in pairs if pair.source in unseen],
    }
    return {
        split: {"en": [pair.source for pair in own], "fr": [pair.target for pair in own]}
        for split, own in chosen.items()
    }


def gold(data: Path) -> list[tuple[str, str, GoldLinks]]:
    """The Hansards' sentences: English, French, and their links."""
    rows = [line.split("\t") for line in read_lines(data / LINKS)]
    return [
        (row[0], row[1], links) for row, links in zip(rows, read_gold(data / LINKS), strict=True)
    ]
