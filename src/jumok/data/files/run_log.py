"""The log of a run: what training wrote to runs/NAME/log.jsonl."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Required, TypedDict

from jumok.errors import DataError, Location

LOG = "log.jsonl"
NO_SCORE = {"kind", "step", "best", "seconds", "took", "loss"}

Over = Literal["steps", "minutes"]
Points = list[tuple[int | float, int | float]]


class LogRecord(TypedDict, total=False):
    """A line of the log, which also has what was measured: numbers by their names.

    Attributes:
        seconds: since the run began; missing from lines that were edited by hand.
        took: a validation's own seconds.
        loss: in nats a token; None where it was not finite.
        best: whether no earlier validation was better.
    """

    kind: Required[str]
    step: Required[int]
    seconds: float
    took: float
    loss: float | None
    best: bool


def number_in(record: LogRecord, name: str) -> int | float | None:
    """What the record has under this name, if it is a number."""
    value = record.get(name)
    return value if isinstance(value, int | float) else None


def read_log(path: Path, damaged: list[int] | None = None) -> Iterator[LogRecord]:
    """The records of a log, without a truncated last line.

    Other lines that are no records are left out too; `damaged` receives their numbers (from 1).
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


@dataclass(frozen=True)
class RunLog:
    """What training wrote of the run in a folder of this name, in order."""

    name: str
    steps: list[LogRecord]
    validations: list[LogRecord]

    @property
    def scores(self) -> list[str]:
        """The names of what validation measured besides the loss."""
        names = [name for record in self.validations for name in record if name not in NO_SCORE]
        return list(dict.fromkeys(names))

    def points(self, kind: Literal["training", "validation"], name: str, over: Over) -> Points:
        """(step or minute, value) of each record that has this number."""
        records = self.steps if kind == "training" else self.validations
        return [
            (record["step"] if over == "steps" else record["seconds"] / 60, value)
            for record in records
            if (value := number_in(record, name)) is not None
        ]


def run_log(folder: Path | str) -> RunLog:
    """The log of the run in this folder.

    Raises:
        DataError: the folder is not that of a run, or the run has not logged a step yet.
    """
    folder = Path(folder)
    file = folder / LOG
    if not file.is_file():
        raise DataError(
            "there is no log of a run.",
            expected=f"a run's folder with {LOG}, such as runs/first",
            place=Location(folder),
        )
    # A line that was edited by hand may lack its time.
    records = [record for record in read_log(file) if number_in(record, "seconds") is not None]
    steps, validations = (
        [record for record in records if record["kind"] == kind] for kind in ("step", "validation")
    )
    if not steps and not validations:
        raise DataError("the run has not logged a step yet.", place=Location(file))
    return RunLog(folder.resolve().name, steps, validations)
