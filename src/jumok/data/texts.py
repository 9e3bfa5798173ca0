"""Plain text: files and columns to documents.

A document is what a language model reads from its start to its end: a whole file, a line, or the
lines between two blank ones. A row of a table counts as a line.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Literal

from jumok.data.reading import read_lines
from jumok.data.report import Report
from jumok.data.tables import read_csv, read_jsonl, read_parquet, read_tsv
from jumok.errors import DataError, Place

Rule = Literal["file", "line", "blank-line"]

TABLES = {"csv": read_csv, "tsv": read_tsv, "jsonl": read_jsonl, "parquet": read_parquet}


@dataclass(frozen=True)
class TextCorpus:
    """Where text is.

    Attributes:
        file: text, or a table.
        column: of a table: a name (CSV and TSV with a header line, JSONL, Parquet) or a number
            from 0.
        format: text, csv, tsv, jsonl or parquet; None finds it from the file's suffix.
        take: only the first so many lines or rows; None takes all.
    """

    file: Path
    column: str | int = 0
    format: str | None = None
    take: int | None = None

    def lines(self, report: Report | None = None) -> Iterator[str]:
        """The lines of a text, or the cells of a column; NFC, and no line break inside one.

        Raises:
            DataError: the file cannot be read as what it was said to be; the text says where.
        """
        suffix = Path(self.file.name.removesuffix(".gz").removesuffix(".zst")).suffix
        reader = TABLES.get(self.format or suffix.removeprefix("."))
        if reader is None:
            return islice(read_lines(self.file, report), self.take)
        rows = reader(self.file, self.column, self.column, report)
        return (row[0] for row in islice(rows, self.take))


def documents(corpus: TextCorpus, rule: Rule, report: Report | None = None) -> Iterator[str]:
    """The documents of a corpus that hold more than white space, in order.

    Args:
        rule: "file": the whole text, its last line ended too; "line": every line;
            "blank-line": the lines between blank ones.

    Raises:
        DataError: the file cannot be read, or there is no text in it.
    """
    lines = corpus.lines(report)
    found = (text for text in _cut(lines, rule) if text.strip())
    first = next(found, None)
    if first is None:
        raise DataError("There is no text in it.", place=Place(corpus.file))
    yield first
    yield from found


def _cut(lines: Iterator[str], rule: Rule) -> Iterator[str]:
    if rule == "line":
        return lines
    if rule == "file":
        return iter(["".join(f"{line}\n" for line in lines)])
    groups = groupby(lines, key=lambda line: bool(line.strip()))
    return ("\n".join(group) for filled, group in groups if filled)


@dataclass(frozen=True)
class HeldOutTail:
    """The end of the text, which is kept out of training: the last documents, or the last part of
    the only one.

    Attributes:
        share: how much of it, 0 to 1.
        count: how many documents there are.
    """

    share: float
    count: int

    @classmethod
    def of(cls, corpora: Sequence[TextCorpus], rule: Rule, share: float) -> "HeldOutTail":
        """Reads everything once, to count the documents."""
        return cls(share, sum(1 for _ in all_documents(corpora, rule)))

    def training(self, texts: Iterable[str]) -> Iterator[str]:
        """What comes before."""
        if self.count == 1:
            return (text[: self._cut(text)] for text in texts)
        return islice(texts, self._kept)

    def kept_out(self, texts: Iterable[str]) -> Iterator[str]:
        """What is kept out."""
        if self.count == 1:
            return (text[self._cut(text) :] for text in texts)
        return islice(texts, self._kept, None)

    def _cut(self, text: str) -> int:
        return min(max(1, int(len(text) * (1.0 - self.share))), len(text) - 1)

    @property
    def _kept(self) -> int:
        return min(int(self.count * (1.0 - self.share)), self.count - 1)


def all_documents(corpora: Iterable[TextCorpus], rule: Rule) -> Iterator[str]:
    """The documents of all corpora, one after another."""
    return chain.from_iterable(documents(corpus, rule) for corpus in corpora)
