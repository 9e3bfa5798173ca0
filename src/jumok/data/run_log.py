"""Reading the log of a run: what training wrote to runs/NAME/log.jsonl."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LOG = "log.jsonl"


def read_log(path: Path, damaged: list[int] | None = None) -> Iterator[dict[str, Any]]:
    """The records of a log.

    A last line that a kill truncated is left out, and so is any other line that is not a record,
    for example after a power cut or a manual edit.

    Args:
        damaged: receives the numbers (from 1) of the lines that are not records.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                record = json.loads(line)
                if type(record["step"]) is not int or type(record["kind"]) is not str:
                    raise ValueError("no record")
            except (ValueError, LookupError, TypeError, RecursionError):
                if damaged is not None:
                    damaged.append(number)
                continue
            yield record
