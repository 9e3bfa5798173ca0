"""Output formats by file suffix: CSV with a header, JSON, or plain lines and tabs."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from jumok.data.files.formats import COMPRESSED, kind_of_name
from jumok.errors import ConfigError

OutputForm = Literal["csv", "json", "plain"]

SEPARATORS = {".csv": ",", ".tsv": "\t"}
"""The separator of cells, by the suffix of the file."""

JSON = (".json", ".jsonl", ".ndjson")
COLUMNS = (".csv", ".tsv", ".txt", *JSON)
"""What a command writes whose output has columns; other names, such as test.ko, are plain lines."""

OTHERS = (".npy", ".npz", ".xls", ".ods", ".pkl", ".svg", ".png", ".toml", ".bz2", ".xz")
"""Formats that are not plain lines, besides those of documents and tables."""


def form_of(output: Path | None, as_json: bool, writes: Sequence[str] = COLUMNS) -> OutputForm:
    """CSV for a file named .csv, JSON with --json, or plain lines.

    Args:
        output: None: standard output.
        writes: the suffixes of formats that the command writes.

    Raises:
        ConfigError: the suffix is that of another format, or contradicts --json.
    """
    suffix = "" if output is None else output.suffix.lower()
    if output is not None and suffix not in writes and _is_format(output, suffix):
        raise ConfigError(
            f"this command does not write files that end in {suffix}.",
            expected=", ".join(writes),
            got=f"--output {output}",
            do="name a .csv file, which spreadsheets open"
            if ".csv" in writes
            else "change the suffix of --output",
        )
    if as_json and suffix in SEPARATORS:
        raise ConfigError(
            f"--json does not write files that end in {suffix}.",
            expected="--output FILE.json",
            got=f"--output {output} with --json",
            do="leave out --json, or change the suffix of --output",
        )
    if suffix in JSON and not as_json:
        raise ConfigError(
            f"a file that ends in {suffix} is written with --json.",
            got=f"--output {output}",
            do="add --json, or change the suffix of --output",
        )
    return "json" if as_json else "csv" if suffix == ".csv" else "plain"


def _is_format(output: Path, suffix: str) -> bool:
    return suffix in (*COMPRESSED, *OTHERS, *JSON) or kind_of_name(output) is not None


def as_csv(*rows: Sequence[object]) -> str:
    """Rows of CSV with line breaks, quoted where needed; None is an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def as_table(rows: Sequence[Mapping[str, object]], between: str) -> str:
    """A header, and a row of cells for each mapping; all have the keys of the first."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=between, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
