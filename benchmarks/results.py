"""The JSON file of results: one entry a part, each with the machine and the date it was run on.

Under "figures" are those of the documents' sentences and hand-written tables: each row with its
page and commands, machine and date; or with the file and the line of code that sets the figure.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.environments import FOLDER

RESULTS = FOLDER / "results.json"

Row = dict[str, Any]
"""One line of a table, by names that `report` knows."""

Result = dict[str, Any]
"""{"machine": what `machine.describe` says, "rows": a list of rows}."""


def load(path: Path = RESULTS) -> dict[str, Result]:
    """Every part's last result; empty when nothing was run yet."""
    return json.loads(path.read_text()) if path.exists() else {}


def save(part: str, machine: Row, rows: Sequence[Row]) -> None:
    """Replace one part's result, and leave the others as they are."""
    results = load() | {part: {"machine": machine, "rows": list(rows)}}
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
