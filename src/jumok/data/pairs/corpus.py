"""A corpus is a stream of pairs, from one file or two, in any format."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import compress, zip_longest
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jumok.data.files.formats import bare_name, kind_of_name
from jumok.data.files.reading import nonempty, read_lines
from jumok.data.files.tables import MOST_COLUMNS, Column, read_tsv, read_tsv_columns
from jumok.data.pairs.drift import explain_drift
from jumok.data.pairs.pair import Pair, PairColumns, columns_of
from jumok.data.report import UTF8, CorpusReport
from jumok.errors import ConfigError, DataError, Location
from jumok.parts import builder_of, names


@dataclass(frozen=True)
class Corpus:
    """The files of a corpus: two line-aligned text files, or one file with two columns.

    Attributes:
        source_column, target_column: in `file`, a column's name (CSV and TSV with a header line,
            JSONL, Parquet), its number from 0 (CSV and TSV without a header, Parquet) or a language
            code (TMX; PO and XLIFF may do without).
        further: columns of `file` to read besides, such as a domain or gold links.
        format: for `file`: csv, tsv, jsonl, parquet, tmx, xliff, po or a registered one; None takes
            it from the suffix. For source and target: "text" reads lines even if they look like
            markup; None refuses markup.
        weight: the sampling weight relative to other corpora; None: its size.
        name: in reports; empty: the file's name.
        skip_damaged: leave out table rows and lines that cannot be read, and count them.
        encoding, delimiter: as in `CorpusReport`.
        left: which of its pairs are read, one value for each pair in their order; None: all.
    """

    source: Path | None = None
    target: Path | None = None
    file: Path | None = None
    source_column: Column = 0
    target_column: Column = 1
    further: tuple[Column, ...] = ()
    format: str | None = None
    weight: float | None = None
    name: str = ""
    skip_damaged: bool = False
    encoding: str = UTF8
    delimiter: str = ""
    left: npt.NDArray[np.bool_] | None = field(default=None, compare=False, repr=False)

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(path for path in (self.source, self.target, self.file) if path is not None)

    @property
    def title(self) -> str:
        return self.name or " + ".join(path.name for path in self.files)

    def report(self) -> CorpusReport:
        return CorpusReport(self.title, skip_damaged=self.skip_damaged)


def read_pairs(corpus: Corpus, report: CorpusReport | None = None) -> Iterator[Pair]:
    """The corpus's pairs in order, one at a time; NFC, and no line break inside a sentence.

    Args:
        report: counts them; created by `Corpus.report`.

    Raises:
        ConfigError: the corpus names neither two aligned files nor one file, or both.
        DataError: a file cannot be read in its format.
        MissingExtraError: the format's library is not installed.
    """
    report = report or corpus.report()
    report.encoding, report.delimiter = corpus.encoding, corpus.delimiter
    if corpus.file is None:
        if corpus.source is None or corpus.target is None:
            raise ConfigError(
                "a corpus needs both sides.",
                expected="source and target (two aligned files), or file (one file of pairs)",
            )
        pairs = _read_aligned(corpus, corpus.source, corpus.target, report)
    elif corpus.source or corpus.target:
        raise ConfigError(
            "a corpus is either source and target, or file; not both.",
            got=", ".join(map(str, corpus.files)),
        )
    else:
        reader = builder_of("format", format_of(corpus))
        columns = (corpus.source_column, corpus.target_column, *corpus.further)
        pairs = (
            Pair(source, target, line, tuple(further))
            for (source, target, *further), line in reader(corpus.file, columns, report)
        )
    if corpus.left is not None:
        pairs = compress(pairs, corpus.left)
    yield from nonempty(pairs, _no_pairs(corpus))


def read_columns(corpus: Corpus, report: CorpusReport, size: int) -> Iterator[PairColumns]:
    """The same pairs by columns: of at most `size` rows, or of a megabyte of a TSV file."""
    columns = corpus.source_column, corpus.target_column
    numbers = [column for column in columns if isinstance(column, int) and column >= 0]
    file, table = corpus.file, None
    if file is not None and not corpus.source and not corpus.target:
        table = builder_of("format", format_of(corpus))
    if table is not read_tsv or len(numbers) < len(columns) or max(numbers) >= MOST_COLUMNS:
        yield from columns_of(read_pairs(corpus, report), size)
        return
    assert file is not None
    report.encoding, report.delimiter = corpus.encoding, corpus.delimiter
    read, any_pair = 0, False
    for (sources, targets), lines in read_tsv_columns(file, numbers, report):
        part = PairColumns(sources, targets, lines)
        if corpus.left is not None:
            left = corpus.left[read : read + len(part)]
            read += len(part)
            kept = list(compress(sources, left)), list(compress(targets, left))
            part = PairColumns(kept[0], kept[1], lines[left])
        if len(part):
            any_pair = True
            yield part
    if not any_pair:
        raise _no_pairs(corpus)


def _no_pairs(corpus: Corpus) -> DataError:
    place = Location(" + ".join(map(str, corpus.files)))
    return DataError("there are no pairs in it.", place=place)


def format_of(corpus: Corpus) -> str:
    """The format of `corpus.file`: the stated one, or that of its suffix."""
    assert corpus.file is not None
    kind = corpus.format or kind_of_name(corpus.file) or Path(bare_name(corpus.file)).suffix[1:]
    if kind not in names("format"):
        raise ConfigError(
            "unknown corpus format.",
            expected=f"one of {', '.join(names('format'))}",
            got=repr(kind),
            do="set format, or give source and target for two aligned text files",
            place=Location(corpus.file),
        )
    return kind


def _read_aligned(
    corpus: Corpus, source: Path, target: Path, report: CorpusReport
) -> Iterator[Pair]:
    plain = corpus.format is None
    sides = zip_longest(
        read_lines(source, report, plain=plain), read_lines(target, report, plain=plain)
    )
    for number, (source_line, target_line) in enumerate(sides, start=1):
        if source_line is None or target_line is None:
            raise explain_drift(source, target, corpus.encoding)
        yield Pair(source_line, target_line, number)
