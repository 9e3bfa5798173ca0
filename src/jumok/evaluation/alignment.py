"""Word alignments scored against gold links: precision, recall and alignment error rate.

Gold links are sure (S) or merely possible (P, which S belongs to). For found links A:

    precision = |A in P| / |A|      recall = |A in S| / |S|
    AER = 1 - (|A in S| + |A in P|) / (|A| + |S|)        the lower the better

Source: Och and Ney 2003, A systematic comparison of various statistical alignment models, 6.2.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jumok.alignment.words import GoldLinks, Link
from jumok.data.files.reading import read_lines
from jumok.errors import DataError, Location
from jumok.inspection.trace import Trace

MAX_INDEX_DIGITS = 9


@dataclass(frozen=True)
class AlignmentScores:
    """Scores, 0 to 1, over all sentences together, and the number of links."""

    error_rate: float
    precision: float
    recall: float
    links: int


@dataclass
class LinkCounts:
    """The counts of the error rate, over all sentences so far.

    Attributes:
        links: of the model.
        sure: sure gold links.
        right, right_sure: the model's links that are possible, and sure.
    """

    links: int = 0
    sure: int = 0
    right: int = 0
    right_sure: int = 0

    def add(self, output: Iterable[Link], gold: GoldLinks) -> None:
        links = set(output)
        self.links += len(links)
        self.sure += len(gold.sure)
        self.right += len(links & gold.possible)
        self.right_sure += len(links & gold.sure)

    def scores(self) -> AlignmentScores:
        """The score of all counted sentences; it needs at least one sure link."""
        return AlignmentScores(
            error_rate=1 - (self.right_sure + self.right) / (self.links + self.sure),
            precision=self.right / self.links if self.links else 0.0,
            recall=self.right_sure / self.sure,
            links=self.links,
        )


def score_links(outputs: Sequence[Iterable[Link]], gold: Sequence[GoldLinks]) -> AlignmentScores:
    """The score of a model's links.

    Raises:
        DataError: more sentences of one than of the other, or gold without a sure link.
    """
    counts = LinkCounts()
    for links, expected in zip(outputs, gold, strict=False):
        counts.add(links, expected)
    if len(outputs) != len(gold) or not counts.sure:
        raise DataError(
            "there is nothing to compare the links with.",
            expected="gold links for every sentence, some of them sure",
            got=f"{len(outputs):,} sentences, gold for {len(gold):,}"
            f" with {counts.sure:,} sure links",
        )
    return counts.scores()


def read_gold(file: Path) -> Iterator[GoldLinks]:
    """The gold links in a file: a line a sentence, "0-0 1p2": source word, target word, from 0.

    "-" is sure, "p" or "?" possible. Where a line has columns, the last one holds the links.

    Raises:
        DataError: something that is not a link, with its line.
    """
    for number, line in enumerate(read_lines(file), start=1):
        yield parse_gold(line.split("\t")[-1], Location(file, number))


def parse_gold(text: str, place: Location | None = None) -> GoldLinks:
    """The gold links of one sentence: "0-0 1p2"; a DataError names what is not a link."""
    links = [_link(word, place) for word in text.split()]
    sure = frozenset(link for link, certain in links if certain)
    return GoldLinks(sure, frozenset(link for link, _ in links))


def with_gold(trace: Trace, gold: GoldLinks) -> Trace:
    """The trace of a translation with the gold links for its board.

    Raises:
        DataError: a word that the sentence or its translation does not have.
    """
    cross = next((site for site in trace.sites if site.part == "cross"), None)
    if cross is None:
        raise DataError("links are between the words of a sentence and of its translation.")
    source, target = (trace.axes[axis].texts for axis in (cross.keys, cross.queries))
    for first, second in sorted(gold.possible):
        if first >= len(source) or second >= len(target):
            raise DataError(
                "there is no such word to link.",
                expected=f"{len(source)} words of the source and {len(target)} of "
                f"“{trace.output}”, counted from 0",
                got=f"{first}-{second}",
                do="give the translation that the links belong to with --target",
            )
    return replace(trace, findings=replace(trace.findings, gold=gold))


def _link(word: str, place: Location | None) -> tuple[Link, bool]:
    for sign in "-p?":
        source, between, target = word.partition(sign)
        digits = source.isdecimal() and target.isdecimal()
        if between and digits and max(len(source), len(target)) <= MAX_INDEX_DIGITS:
            return (int(source), int(target)), sign == "-"
    raise DataError(
        "this is not a link between words.",
        expected="SOURCE-TARGET, or SOURCEpTARGET where it is only possible; both from 0",
        got=word[:80],
        place=place,
    )
