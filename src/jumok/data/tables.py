"""Files with columns: TSV, JSON lines, Parquet."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jumok.data.reading import one_line, open_bytes, read_lines
from jumok.data.report import Report
from jumok.errors import DataError, MissingExtraError, Place

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
    if isinstance(column, int) and (not header or column < len(header)):
        return column
    if column not in header:
        raise DataError(
            f"There is no column {column!r}.",
            expected=f"one of {', '.join(map(repr, header))}, or a number from 0",
            do="set source_column and target_column; names need a header line in the file",
            place=Place(file, 1),
        )
    return header.index(str(column))


def read_jsonl(file: Path, source: str | int, target: str | int, report: Report | None) -> Rows:
    """Pairs from JSON lines: one object a line, the sides under two of its keys."""
    for number, line in enumerate(read_lines(file, report), start=1):
        place = Place(file, number)
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DataError(
                "The line is not JSON.", expected="one object a line", got=str(error), place=place
            ) from None
        if not isinstance(record, dict):
            raise DataError(
                "The line is not a JSON object.", got=type(record).__name__, place=place
            )
        sides = [one_line(_text(record, key, place), report, number) for key in (source, target)]
        yield sides[0], sides[1], number


def _text(record: dict[str, Any], key: str | int, place: Place) -> str:
    value = record.get(str(key))
    if not isinstance(value, str):
        raise DataError(
            f"The record has no text under {str(key)!r}.",
            expected=f"source_column and target_column among {', '.join(map(repr, record))}",
            got="no such key" if str(key) not in record else type(value).__name__,
            place=place,
        )
    return value


def read_parquet(file: Path, source: str | int, target: str | int, report: Report | None) -> Rows:
    """Pairs from two text columns, by name or number; a null is an empty side."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Reading Parquet files", "formats") from None
    with open_bytes(file) as stream:
        # Parquet is read from its end, so a compressed one has to be decompressed whole.
        seekable = stream if file.suffix == ".parquet" else io.BytesIO(stream.read())
        try:
            table = pyarrow.parquet.ParquetFile(seekable)
            header = table.schema_arrow.names
            columns = [header[_column(file, header, column)] for column in (source, target)]
            number = 0
            for batch in table.iter_batches(columns=sorted(set(columns))):
                for row in zip(*(batch.column(name).to_pylist() for name in columns), strict=True):
                    number += 1
                    sides = [one_line(_cell(cell, file, number), report, number) for cell in row]
                    yield sides[0], sides[1], number
        except pyarrow.ArrowException as error:
            raise DataError(
                "The file is not readable as Parquet.", got=str(error), place=Place(file)
            ) from None


def _cell(value: object, file: Path, number: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(
            "The columns do not hold text.", got=type(value).__name__, place=Place(file, number)
        )
    return value
