"""The log of a run: records of its steps and validations, and their outputs."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Protocol, runtime_checkable

from jumok.data.files.atomic import write_durably
from jumok.data.files.run_log import read_log
from jumok.errors import Location, TrainingError, optional_import

try:
    import resource
except ImportError:  # Windows has none
    resource = None  # type: ignore[assignment]


@dataclass(frozen=True)
class StepRecord:
    """The optimizer steps since the previous record, and totals since the start of the run.

    Attributes:
        share: the finished share of the run, 0 to 1.
        loss: mean label-smoothed loss, nats per target, since the previous record.
        learning_rate, gradient_norm: of the last step, the norm before clipping.
        tokens, source_tokens: targets and sources, without padding.
        seconds: wall time, validation and saving included.
        step_seconds, cpu_seconds: wall and processor time of the optimizer steps alone.
        skipped: steps whose loss or gradient was not finite.
        unit: the name of a target: "tokens", "images".
        memory: peak resident bytes; None: the system does not report it.
        balance: see `Update.balance`.
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
    balance: float | None = None


@dataclass(frozen=True)
class ValidationRecord:
    """The scores of the averaged weights after `step` steps.

    Attributes:
        loss: nats per target, without label smoothing.
        figures: by name, higher is better; for example BLEU and chrF.
        best: by the recipe's metric, so far.
        seconds, took: wall time since the run began, and of this validation.
        earlier: of a model that is trained further, loss and figures on its earlier data.
    """

    step: int
    loss: float
    figures: dict[str, float]
    best: bool
    seconds: float
    took: float
    earlier: dict[str, float] = field(default_factory=dict)

    @property
    def named(self) -> dict[str, float]:
        """All figures by their names in logs: "bleu", and "earlier_bleu" and "earlier_loss"."""
        earlier = {f"earlier_{name.lower()}": value for name, value in self.earlier.items()}
        return {name.lower(): value for name, value in self.figures.items()} | earlier


@runtime_checkable
class Log(Protocol):
    """An output for records."""

    def step(self, record: StepRecord) -> None: ...

    def validation(self, record: ValidationRecord) -> None: ...

    def say(self, text: str) -> None:
        """A message for the user."""
        ...

    def flush(self) -> None:
        """Forces the records to the disk, to survive a power cut, if they are to be kept."""
        ...

    def close(self) -> None: ...


class Silent:
    """No output."""

    def step(self, record: StepRecord) -> None: ...

    def validation(self, record: ValidationRecord) -> None: ...

    def say(self, text: str) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class JsonLog:
    """runs/NAME/log.jsonl: one JSON object per line, `kind` "step" or "validation".

    Attributes:
        damage: a message about lines that could not be read.
    """

    def __init__(self, path: Path, resumed_at: int) -> None:
        """Keeps the lines up to step `resumed_at`; later ones will be written again."""
        damaged: list[int] = []
        lines = [line for line in read_log(path, damaged) if line["step"] <= resumed_at]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        write_durably(path, text.encode())
        self.damage = _damage(path, damaged) if damaged else None
        # Unbuffered: on a full disk, closing must not try to write again.
        self._file = path.open("ab", buffering=0)

    def step(self, record: StepRecord) -> None:
        line = {"kind": "step", **asdict(record)}
        if record.balance is None:
            del line["balance"]
        self._write(line)

    def validation(self, record: ValidationRecord) -> None:
        line = {"kind": "validation", **asdict(record)}
        del line["figures"], line["earlier"]
        self._write(line | record.named)

    def say(self, text: str) -> None:
        pass

    def flush(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._refused(error) from error

    def close(self) -> None:
        self._file.close()

    def _write(self, line: Mapping[str, object]) -> None:
        # JSON has no NaN and no infinity.
        known = {
            key: None if isinstance(value, float) and not isfinite(value) else value
            for key, value in line.items()
        }
        content = json.dumps(known).encode() + b"\n"
        try:
            while content:  # an unbuffered write may be partial
                content = content[self._file.write(content) :]
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> TrainingError:
        return TrainingError(
            "the log could not be written.",
            got=str(error),
            do="free some space or correct the permissions, then run again with --resume",
            place=Location(self._file.name),
        )


def _damage(path: Path, lines: list[int]) -> str:
    named = ", ".join(map(str, lines[:5])) + (", ..." if len(lines) > 5 else "")
    count = "1 line is" if len(lines) == 1 else f"{len(lines):,} lines are"
    return f"{path}: {count} not records of this run and left out (line {named}); the rest is kept."


class TensorBoardLog:
    """The same figures for TensorBoard; needs the extra `track`."""

    def __init__(self, folder: Path, resumed_at: int) -> None:
        """Makes TensorBoard discard its records of steps after `resumed_at`."""
        with optional_import("training.tensorboard", extra="track"):
            from torch.utils import tensorboard

        self._writer = tensorboard.SummaryWriter(folder, purge_step=resumed_at + 1)

    def step(self, record: StepRecord) -> None:
        for name in ("loss", "learning_rate", "gradient_norm", "tokens"):
            self._writer.add_scalar(f"training/{name}", getattr(record, name), record.step)
        if record.balance is not None:
            self._writer.add_scalar("training/balance", record.balance, record.step)

    def validation(self, record: ValidationRecord) -> None:
        for name, value in {"loss": record.loss, **record.named}.items():
            self._writer.add_scalar(f"validation/{name}", value, record.step)

    def say(self, text: str) -> None:
        pass

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


def peak_memory() -> int | None:
    """Peak resident bytes of the process; None if the system does not report it."""
    if resource is None:
        return None
    # macOS counts in bytes, Linux in KiB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
