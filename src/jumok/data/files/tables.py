"""Files with columns: TSV, CSV, JSON lines, Parquet.

The reader of a format is a function (file, columns, report) -> rows. It reads the columns row by
row, counts changed and skipped rows in the report, and raises errors that name the file and the
line. `jumok.parts` lists the readers by format.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jumok.data.files.damage import reading_as
from jumok.data.files.reading import one_line, open_bytes, read_line_blocks, read_lines
from jumok.data.report import CorpusReport
from jumok.errors import ConfigError, DataError, Location, optional_import

MOST_COLUMNS = 100_000

Column = str | int
"""A name, or a number from 0."""

LONE = re.compile("[\ud800-\udfff]")
"""JSON can express strings that UTF-8 cannot."""


class Row(NamedTuple):
    """The texts of the requested columns, in that order, and their line (from 1)."""

    cells: tuple[str, ...]
    line: int


Rows = Iterator[Row]
Columns = Sequence[Column]


def read_tsv(file: Path, columns: Columns, report: CorpusReport | None = None) -> Rows:
    """Tab-separated columns, without quoting: a quotation mark is text.

    Columns are indices from 0 in a file without a header, or names in the first line of the file.
    """
    lines = enumerate(read_lines(file, report), start=1)
    mark = _delimiter(report, "\t")
    header = next(lines, (1, ""))[1].split(mark) if _any_named(columns) else []
    numbers = [_column(file, header, column) for column in columns]
    needed = max(numbers) + 1
    for number, line in lines:
        row = line.split(mark)
        if len(row) < needed:
            _count_damaged(_too_few(row, needed, "tabs", Location(file, number)), report)
            continue
        yield Row(tuple(row[column] for column in numbers), number)


def read_tsv_columns(
    file: Path, columns: Sequence[int], report: CorpusReport | None = None
) -> Iterator[tuple[list[list[str]], npt.NDArray[np.int64]]]:
    """Like `read_tsv`, for a file without a header: many rows at a time, by columns, with their
    lines.

    If a row is unreadable, the error is raised before any row of the same megabyte is returned.
    """
    needed, number, mark = max(columns) + 1, 1, _delimiter(report, "\t")
    for lines in read_line_blocks(file, report):
        rows = [line.split(mark, needed) for line in lines]
        numbers = np.arange(number, number + len(rows))
        number += len(rows)
        if min(map(len, rows)) < needed:
            whole = np.array([len(row) >= needed for row in rows])
            for place in np.flatnonzero(~whole).tolist():
                line = int(numbers[place])
                _count_damaged(_too_few(rows[place], needed, "tabs", Location(file, line)), report)
            rows, numbers = list(compress(rows, whole)), numbers[whole]
        yield [[row[column] for row in rows] for column in columns], numbers


def _delimiter(report: CorpusReport | None, usual: str) -> str:
    """The character between columns."""
    mark = (report.delimiter if report else "") or usual
    mark = {"\\t": "\t", "tab": "\t"}.get(mark, mark)
    if len(mark) != 1 or mark in '\r\n"':
        raise ConfigError(
            "columns are separated by one character.", expected="for example ; or tab", got=mark
        )
    return mark


def _any_named(columns: Columns) -> bool:
    """Whether a column is given by its name, which a header line must have."""
    return any(isinstance(column, str) for column in columns)


def _too_few(row: list[str], needed: int, marks: str, place: Location) -> DataError:
    return DataError(
        "the row has too few columns.",
        expected=f"at least {needed}, separated by {marks}",
        got=str(len(row)),
        place=place,
    )


def _count_damaged(error: DataError, report: CorpusReport | None) -> None:
    """Counts the row in the report; without one, or if it does not skip rows, raises the error."""
    if report is None or error.place is None or error.place.line is None:
        raise error
    report.damaged(error, error.place.line)


def _column(file: Path, header: list[str], column: Column) -> int:
    if isinstance(column, int) and 0 <= column < (len(header) or MOST_COLUMNS):
        return column
    if column not in header:
        other = next((sign for sign in ";\t|" if len(header) == 1 and sign in header[0]), "")
        delimited = (
            f"if {other!r} separates the columns: --delimiter {other!r}; otherwise "
            if other
            else ""
        )
        raise DataError(
            f"there is no column {str(column)[:60]!r}.",
            expected=f"one of {', '.join(map(repr, header))[:200]}, or a number from 0",
            do=f"{delimited}choose one of these; a file without a header line takes numbers: "
            "--columns 0,1, or source_column = 0 in a recipe",
            place=Location(file, 1),
        )
    return header.index(str(column))


def read_csv(file: Path, columns: Columns, report: CorpusReport | None = None) -> Rows:
    """Comma-separated columns, quoted as in RFC 4180; a quoted line break becomes a space.

    Columns are indices from 0 in a file without a header, or names in the first line of the file.
    """
    # The reader joins the lines of a quoted field with their line ends.
    lines = (f"{line}\n" for line in read_lines(file, report))
    rows = csv.reader(lines, delimiter=_delimiter(report, ","), strict=True)
    try:
        header = [cell.strip() for cell in next(rows, [])] if _any_named(columns) else []
        numbers = [_column(file, header, column) for column in columns]
        needed = max(numbers) + 1
        for row in rows:
            if len(row) < needed:
                place = Location(file, rows.line_num)
                _count_damaged(_too_few(row, needed, "commas", place), report)
                continue
            cells = (row[column].replace("\n", " ").strip() for column in numbers)
            yield Row(tuple(cells), rows.line_num)
    except csv.Error as error:
        raise DataError(
            "the row is not CSV.", got=str(error), place=Location(file, rows.line_num)
        ) from None


def read_jsonl(file: Path, columns: Columns, report: CorpusReport | None = None) -> Rows:
    """JSON lines: one object per line, with the columns as keys. An integer is read as the text of
    its digits, because labels are often integers.
    """
    for number, line in enumerate(read_lines(file, report), start=1):
        place = Location(file, number)
        try:
            record = _json_object(line, place)
            texts = [_text_under(record, key, place) for key in columns]
        except DataError as error:
            _count_damaged(error, report)
            continue
        yield Row(tuple(one_line(text, report, number) for text in texts), number)


def _json_object(line: str, place: Location) -> dict[str, object]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(
            "the line is not JSON.", expected="one object per line", got=str(error), place=place
        ) from None
    if not isinstance(record, dict):
        raise DataError("the line is not a JSON object.", got=type(record).__name__, place=place)
    return record


def _text_under(record: Mapping[str, object], key: Column, place: Location) -> str:
    value = _digits(record.get(str(key)))
    if isinstance(value, str) and LONE.search(value):
        raise DataError(
            "the text contains an unpaired surrogate (half a character).",
            got=ascii(value)[:80],
            do="write characters beyond U+FFFF as themselves, or as surrogate pairs",
            place=place,
        )
    if not isinstance(value, str):
        raise DataError(
            f"the record has no text under {str(key)!r}.",
            expected=f"text under one of {', '.join(map(repr, record))[:200]}",
            got="no such key" if str(key) not in record else type(value).__name__,
            place=place,
        )
    return value


def _digits(value: object) -> object:
    """An integer as text; anything else unchanged."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def read_parquet(file: Path, columns: Columns, report: CorpusReport | None = None) -> Rows:
    """Columns of text or integers, by name or index; a null is an empty text."""
    with open_bytes(file) as stream:
        # Parquet is read from its end, so a compressed one has to be decompressed whole.
        seekable = stream if file.suffix == ".parquet" else io.BytesIO(stream.read())
        number = 0
        for cells_of in _parquet_columns(seekable, file, columns):
            for row in zip(*cells_of, strict=True):
                number += 1
                try:
                    cells = [_parquet_text(_digits(cell), file, number) for cell in row]
                except DataError as error:
                    _count_damaged(error, report)
                    continue
                yield Row(tuple(one_line(cell, report, number) for cell in cells), number)


def _parquet_columns(
    stream: io.BufferedReader | io.BytesIO, file: Path, requested: Columns
) -> Iterator[list[list[object]]]:
    with reading_as("Parquet", file):
        with optional_import("reading Parquet files", extra="formats"):
            from pyarrow import parquet
        table = parquet.ParquetFile(stream)
        header = table.schema_arrow.names
    if not header:
        raise DataError("there is no column in it.", place=Location(file))
    columns = [header[_column(file, header, column)] for column in requested]
    for name in columns:
        if header.count(name) > 1:
            raise DataError(
                f"several columns are called {name!r}.",
                expected="a unique name for each column that is read",
                place=Location(file),
            )
    batches = table.iter_batches(columns=sorted(set(columns)))
    while True:
        with reading_as("Parquet", file):
            batch = next(batches, None)
            cells = [] if batch is None else [batch.column(name).to_pylist() for name in columns]
        if batch is None:
            return
        yield cells


def _parquet_text(value: object, file: Path, number: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(
            "the columns do not hold text.", got=type(value).__name__, place=Location(file, number)
        )
    return value
