"""What a run tells: records of its steps and validations, and the places they go to."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from jumok.data.atomic import write_durably
from jumok.errors import MissingExtraError, Place, TrainingError

try:
    import resource
except ImportError:  # Windows has none
    resource = None  # type: ignore[assignment]


@dataclass(frozen=True)
class StepRecord:
    """The optimizer steps since the record before, and totals since the run began.

    Attributes:
        step: counts from 1.
        share: how much of the run is over, 0 to 1.
        loss: mean label-smoothed loss, nats a target, since the record before.
        learning_rate: of the last step.
        gradient_norm: of the last step, before clipping.
        tokens, source_tokens: targets and sources since the run began, padding not counted.
        seconds: wall time since the run began, validation and saving included.
        step_seconds, cpu_seconds: wall time and processor time of the optimizer steps alone.
        skipped: steps left out because of a loss or gradient that was not finite.
        unit: what a target is: "tokens", "pictures".
        memory: the process's peak resident memory in bytes; None where the system does not tell.
    """

    step: int
    share: float
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens: int
    source_tokens: int
    seconds: float
    step_seconds: float
    cpu_seconds: float
    skipped: int
    unit: str
    memory: int | None


@dataclass(frozen=True)
class ValidationRecord:
    """How good the averaged weights are after `step` steps.

    Attributes:
        loss: nats a target, without label smoothing.
        figures: by name, the higher the better; BLEU and chrF of real decoding, for instance.
        best: whether this is the best so far by the recipe's metric.
        seconds: wall time since the run began.
        took: wall seconds of this validation.
    """

    step: int
    loss: float
    figures: dict[str, float]
    best: bool
    seconds: float
    took: float


@runtime_checkable
class Log(Protocol):
    """A place that records go to."""

    def step(self, record: StepRecord) -> None: ...

    def validation(self, record: ValidationRecord) -> None: ...

    def say(self, text: str) -> None:
        """A sentence for the person who waits."""
        ...

    def flush(self) -> None:
        """Puts all that was told where it outlives a power cut, if it is to be kept."""
        ...

    def close(self) -> None: ...


class JsonLog:
    """runs/NAME/log.jsonl: one JSON object a line, `kind` "step" or "validation".

    Attributes:
        damage: what to tell the user of lines that could not be read, and were left out.
    """

    def __init__(self, path: Path, resumed_at: int) -> None:
        """Keeps the lines up to step `resumed_at`: what came after it will be made again."""
        damaged: list[int] = []
        lines = [line for line in read_log(path, damaged) if line["step"] <= resumed_at]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        write_durably(path, text.encode())
        self.damage = _damage(path, damaged) if damaged else None
        # Unbuffered: on a full disk, closing must not try to write again.
        self._file = path.open("ab", buffering=0)

    def step(self, record: StepRecord) -> None:
        self._write({"kind": "step", **asdict(record)})

    def validation(self, record: ValidationRecord) -> None:
        line = {"kind": "validation", **asdict(record)}
        figures = {name.lower(): value for name, value in line.pop("figures").items()}
        self._write(line | figures)

    def say(self, text: str) -> None:
        pass

    def flush(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._refused(error) from error

    def close(self) -> None:
        self._file.close()

    def _write(self, line: dict[str, Any]) -> None:
        # JSON has no word for not-a-number.
        known = {key: None if value != value else value for key, value in line.items()}
        content = json.dumps(known).encode() + b"\n"
        try:
            while content:  # a file without a buffer may take a part
                content = content[self._file.write(content) :]
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> TrainingError:
        return TrainingError(
            "the log could not be written.",
            got=str(error),
            do="free some space or mend the permissions, then run again with --resume",
            place=Place(self._file.name),
        )


def read_log(path: Path, damaged: list[int] | None = None) -> Iterator[dict[str, Any]]:
    """The records of a log.

    A last line that a kill cut short is left out, and so is what a power cut or somebody's hand
    made of a line: zeros, or anything else that is no record.

    Args:
        damaged: is given the numbers (from 1) of the lines that are no records.
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


def _damage(path: Path, lines: list[int]) -> str:
    named = ", ".join(map(str, lines[:5])) + (", ..." if len(lines) > 5 else "")
    count = "1 line is" if len(lines) == 1 else f"{len(lines):,} lines are"
    return f"{path}: {count} no record of this run and left out (line {named}); the rest is kept."


class TensorBoardLog:
    """The same figures for TensorBoard; needs the extra `track`."""

    def __init__(self, folder: Path, resumed_at: int) -> None:
        """Tells TensorBoard to forget what it has of steps after `resumed_at`."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise MissingExtraError("training.tensorboard", "track") from error
        self._writer = SummaryWriter(folder, purge_step=resumed_at + 1)

    def step(self, record: StepRecord) -> None:
        for name in ("loss", "learning_rate", "gradient_norm", "tokens"):
            self._writer.add_scalar(f"training/{name}", getattr(record, name), record.step)

    def validation(self, record: ValidationRecord) -> None:
        for name, value in {"loss": record.loss, **record.figures}.items():
            self._writer.add_scalar(f"validation/{name.lower()}", value, record.step)

    def say(self, text: str) -> None:
        pass

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


def peak_memory() -> int | None:
    """The process's peak resident memory in bytes; None where the system does not tell."""
    if resource is None:
        return None
    # macOS counts in bytes, Linux in KiB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
