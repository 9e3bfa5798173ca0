"""One pass over the corpora of a recipe: which pairs are left out, or what is worth a warning."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from jumok.config.data import CleanConfig
from jumok.data.pairs.cleaning import filters
from jumok.data.pairs.cleaning.characters import BothSides, Rows
from jumok.data.pairs.cleaning.duplicates import SeenKeys, keys_of
from jumok.data.pairs.cleaning.filters import Situation
from jumok.data.pairs.cleaning.findings import CleaningReport, Finding, ManyPairs
from jumok.data.pairs.cleaning.languages import sure_words
from jumok.data.pairs.cleaning.near import SeenSignatures, signatures
from jumok.data.pairs.cleaning.rules import usual_ratio
from jumok.data.pairs.columns import PairColumns
from jumok.data.pairs.drift import shifted_part
from jumok.data.pairs.pair import Pair

BATCH = 20_000  # pairs: enough for sums over arrays, small in memory
IDENTIFIED = 1000
"""The pairs of each batch whose languages are checked when nothing is to be left out."""


@dataclass
class Earlier:
    """What was seen before, in this corpus and in earlier ones."""

    keys: SeenKeys
    signatures: SeenSignatures

    @classmethod
    def nothing(cls) -> "Earlier":
        return cls(SeenKeys(), SeenSignatures())


def batches(pairs: Iterable[Pair], size: int = BATCH) -> Iterator[list[Pair]]:
    """The pairs in lists of `size`."""
    rest = iter(pairs)
    while batch := list(islice(rest, size)):
        yield batch


def batch_of(pairs: Sequence[Pair]) -> BothSides:
    """What the rules read of these pairs."""
    return BothSides.of([pair.source for pair in pairs], [pair.target for pair in pairs])


def situation_of(
    first: PairColumns, languages: tuple[str, str], clean: CleanConfig | None
) -> Situation:
    """What the first pairs of a corpus show about all of them."""
    source, target = first.sources, first.targets
    lengths = [np.array([len(text) for text in side]) for side in (source, target)]
    words = frozenset[str](), frozenset[str]()
    if clean is not None and clean.language is not None:
        words = sure_words(source, languages[0]), sure_words(target, languages[1])
    return Situation(languages, usual_ratio((lengths[0], lengths[1])), words)


class Tally:
    """Counts what the filters find in one batch.

    Args:
        report: gets the findings.
        clean: the filters.
    """

    def __init__(self, report: CleaningReport, clean: CleanConfig, pairs: ManyPairs) -> None:
        self._report, self._clean, self._pairs = report, clean, pairs
        self.left = np.ones(len(pairs), dtype=np.bool_)

    def take(self, name: str, found: Rows, checked: int | None = None) -> None:
        """The pairs that a filter found; where pairs are left out, those that are still there."""
        if self._report.leaves_out:
            found = found & self.left
            self.left &= ~found
        known = self._report.findings
        if name not in known:
            known[name] = Finding(filters.says(name, getattr(self._clean, name, None)))
        known[name].add(found, self._pairs, len(self._pairs) if checked is None else checked)


def by_themselves(
    pairs: ManyPairs,
    batch: BothSides,
    clean: CleanConfig,
    situation: Situation,
    report: CleaningReport,
) -> Tally:
    """Applies the filters that judge each pair by itself; `batch` is of these pairs."""
    count = Tally(report, clean, pairs)
    for name, threshold in filters.thresholds(clean).items():
        count.take(name, filters.FILTERS[name].test(batch, threshold, situation))
    if clean.language is not None:
        rows = count.left.copy()
        if not report.leaves_out:
            rows[IDENTIFIED:] = False
        wrong, swapped = filters.in_wrong_language(batch, situation, rows, clean.language)
        checked = None if report.leaves_out else int(rows.sum())
        if not report.leaves_out:
            count.take(filters.SWAPPED, swapped, checked)
            wrong &= ~swapped
        count.take(filters.LANGUAGE, wrong, checked)
    return count


def against_earlier(
    pairs: Sequence[Pair], batch: BothSides, clean: CleanConfig, count: Tally, seen: Earlier
) -> None:
    """Applies the filters of repeated pairs; those that were left out before are no earlier ones.

    A pair that nearly repeats another is compared with the first of each band, even if that one
    was left out as a repetition itself.
    """
    rows = np.flatnonzero(count.left)
    if not len(rows):
        return
    if clean.duplicates is not None:
        source, target = ([side.texts[row] for row in rows.tolist()] for side in batch.sides)
        keys = keys_of(source, target, clean.duplicates)
        count.take(filters.DUPLICATES, _at(rows, seen.keys.repeated(keys), len(pairs)))
    if clean.near_duplicates is not None:
        near = seen.signatures.repeated(signatures(batch)[rows], clean.near_duplicates)
        count.take(filters.NEAR, _at(rows, near, len(pairs)))


def _at(rows: npt.NDArray[np.int64], found: Rows, size: int) -> Rows:
    """What was found of these rows, as one value for each of all rows."""
    every = np.zeros(size, dtype=np.bool_)
    every[rows[found]] = True
    return every


def survey(
    pairs: Iterable[Pair],
    clean: CleanConfig,
    languages: tuple[str, str],
    report: CleaningReport,
    seen: Earlier,
    progress: Callable[[int], None] | None = None,
) -> Rows:
    """Which pairs of a corpus are left: one value for each pair, in their order.

    Args:
        clean: the filters to apply.
        languages: the codes of source and target; "" if unknown.
        report: gets what was found, and whether pairs are left out or only counted.
        seen: the earlier corpora's, and afterwards also this one's.
        progress: called from time to time with the number of pairs read so far.
    """
    rest = batches(pairs)
    first = next(rest, [])
    situation = Situation(languages)
    if first:
        situation = situation_of(PairColumns.of(first), languages, clean)
    left = []
    lengths: list[npt.NDArray[np.uint32]] = []
    lines: list[npt.NDArray[np.int64]] = []
    for part in chain([first] if first else [], rest):
        batch = batch_of(part)
        count = by_themselves(part, batch, clean, situation, report)
        against_earlier(part, batch, clean, count, seen)
        left.append(count.left)
        kept = count.left
        lengths.append(np.stack([side.lengths[kept] for side in batch.sides]).astype(np.uint32))
        lines.append(np.array([pair.line for pair in part])[kept])
        report.read += len(part)
        report.kept += int(kept.sum())
        if progress:
            progress(report.read)
    if lengths:
        _note_shift(np.concatenate(lengths, axis=1), np.concatenate(lines), report)
    return np.concatenate(left) if left else np.zeros(0, dtype=np.bool_)


def _note_shift(
    lengths: npt.NDArray[np.uint32], lines: npt.NDArray[np.int64], report: CleaningReport
) -> None:
    """Notes a section of the corpus in which sources have other targets than their own."""
    part = shifted_part(lengths[0].astype(np.float64), lengths[1].astype(np.float64))
    if part is not None:
        first, last, by = part
        report.notes.append(
            f"by their lengths, lines {lines[first]:,} to {lines[last]:,} are shifted: each source "
            f"fits the target {abs(by)} {'below' if by > 0 else 'above'}"
        )
