"""Files with columns: TSV, JSON lines, Parquet."""

from collections.abc import Iterator
from pathlib import Path

from jumok.data.reading import read_lines
from jumok.data.report import Report
from jumok.errors import DataError, Place

Rows = Iterator[tuple[str, str, int]]


def read_tsv(file: Path, source: str | int, target: str | int, report: Report | None) -> Rows:
    """Pairs from tab-separated columns; there is no quoting, a quotation mark is text.

    Columns are numbers from 0 in a file without a header, or names in the file's first line.
    """
    lines = enumerate(read_lines(file, report), start=1)
    named = isinstance(source, str) or isinstance(target, str)
    header = next(lines, (1, ""))[1].split("\t") if named else []
    first, second = _column(file, header, source), _column(file, header, target)
    needed = max(first, second) + 1
    for number, line in lines:
        columns = line.split("\t")
        if len(columns) < needed:
            raise DataError(
                "The row has too few columns.",
                expected=f"at least {needed}, separated by tabs",
                got=str(len(columns)),
                place=Place(file, number),
            )
        yield columns[first], columns[second], number


def _column(file: Path, header: list[str], column: str | int) -> int:
    if isinstance(column, int):
        return column
    if column not in header:
        raise DataError(
            f"There is no column {column!r}.",
            expected=f"one of the header's names: {', '.join(header)}",
            do="name a column of the header, or number the columns from 0 if there is no header",
            place=Place(file, 1),
        )
    return header.index(column)
