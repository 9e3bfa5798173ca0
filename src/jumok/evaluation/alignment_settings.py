"""Every alignment setting of one model, scored against gold alignments."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from jumok.alignment.extract import every_setting
from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import GoldLinks
from jumok.data.files.tables import Column
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.tokenizer import normalize, plain_words
from jumok.errors import DataError, Location
from jumok.evaluation.alignment import (
    AlignmentScores,
    LinkCounts,
    parse_gold,
    read_gold,
)
from jumok.systems.translation.pairs import EncodedPairs, links_of
from jumok.systems.translation.translator import Translator


class AlignedPair(NamedTuple):
    """A sentence, its translation, their line, and the gold links, if any."""

    source: str
    target: str
    line: int
    gold: GoldLinks | None


def read_aligned(
    corpus: Corpus, gold: Path | None = None, links: Column | None = None
) -> Iterator[AlignedPair]:
    """The pairs of a corpus in order, with their gold links where they have some.

    Args:
        gold: a file with the links of each pair, line for line; or
        links: the column of the corpus that holds them.

    Raises:
        DataError: see `read_pairs` and `read_gold`; links for more or fewer lines, or to a word
            that does not exist.
    """
    if gold is None:
        yield from _with_column(corpus, links)
        return
    for number, (pair, links_of_pair) in enumerate(
        zip_longest(read_pairs(corpus), read_gold(gold)), start=1
    ):
        if pair is None or links_of_pair is None:
            raise DataError(
                "there are not as many lines of links as pairs.",
                expected="a line of links for each pair; an empty one where there is none",
                got=f"{'no pair' if pair is None else 'no links'} at line {number}",
                place=Location(gold, number),
            )
        _check_links(links_of_pair, pair.source, pair.target, Location(gold, number))
        yield AlignedPair(pair.source, pair.target, pair.line, links_of_pair)


def _with_column(corpus: Corpus, links: Column | None) -> Iterator[AlignedPair]:
    further = () if links is None else (links,)
    for pair in read_pairs(replace(corpus, further=further)):
        gold = None
        for cell in pair.further:
            place = Location(corpus.files[0], pair.line)
            gold = parse_gold(cell, place)
            _check_links(gold, pair.source, pair.target, place)
        yield AlignedPair(pair.source, pair.target, pair.line, gold)


def _check_links(gold: GoldLinks, source: str, target: str, place: Location) -> None:
    words = [len(plain_words(normalize(text))) for text in (source, target)]
    for link in gold.possible:
        if link[0] >= words[0] or link[1] >= words[1]:
            raise DataError(
                "a link goes to a word that is not there.",
                expected=f"words 0 to {words[0] - 1} of the source, 0 to {words[1] - 1} of the "
                "target, as plain spaces separate them",
                got=f"{link[0]} and {link[1]}",
                do="cut the text into words as the links do, or swap the two sides",
                place=place,
            )


class SettingTable:
    """Counts the links of every layer, head, step and measure over a corpus of any length.

    Args:
        translator: one model, with attention over the source.
    """

    def __init__(self, translator: Translator) -> None:
        self._translator = translator
        self._counts: dict[AlignmentSetting, LinkCounts] = defaultdict(LinkCounts)
        self._unread = LinkCounts()

    def add(self, pairs: EncodedPairs, gold: Sequence[GoldLinks], batch_size: int = 32) -> None:
        """Adds these pairs; pairs that are empty or too long count as having no links."""
        words = self._translator.tokenizer.words
        (model,) = self._translator._models
        done: set[int] = set()
        for batch in pairs.batches(self._translator, batch_size):
            done.update(batch.rows)
            sources, targets = (list(map(words, side)) for side in (batch.sources, batch.targets))
            settings = every_setting(model, batch.memories[0], batch.tokens, sources, targets)
            for setting, linked in settings:
                for row, places in zip(batch.rows, linked.tolist(), strict=True):
                    self._counts[setting].add(links_of(places), gold[row])
        for row in set(range(len(gold))) - done:
            self._unread.add((), gold[row])

    def scores(self) -> dict[AlignmentSetting, AlignmentScores]:
        """The score of each setting.

        Raises:
            DataError: no pair was read, or the gold has no sure link.
        """
        totals = {
            setting: replace(counts, sure=counts.sure + self._unread.sure)
            for setting, counts in self._counts.items()
        }
        if not totals or not all(counts.sure for counts in totals.values()):
            raise DataError(
                "there is nothing to compare the links with.",
                expected="pairs with words on both sides, some of their gold links sure",
            )
        return {setting: counts.scores() for setting, counts in totals.items()}
