"""The progress of a sweep: a bar for each run in a terminal, plain lines elsewhere."""

import json
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from jumok.cli.scale.running import Failure, SweepScreen
from jumok.cli.scale.sweep_folder import SweepFolder
from jumok.data.files.run_log import LOG
from jumok.late import late_imports

with late_imports():
    from rich import progress

if TYPE_CHECKING:
    from rich.progress import TaskID

REFRESH_SECONDS, LINE_SECONDS = 0.5, 60.0
TAIL = 8192
"""Bytes of a log in which its last records are."""


def latest(log: Path) -> dict[str, float]:
    """What the last records of a run say: its share, its loss and its scores."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL))
            lines = file.read().splitlines()[-20:]
    except OSError:
        return {}
    found: dict[str, float] = {}
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:  # cut at its beginning, or being written
            continue
        if isinstance(record, dict):
            found |= {key: each for key, each in record.items() if isinstance(each, int | float)}
    return found


def ended_by(code: int) -> str:
    """ "exit code 2", or "SIGKILL"."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


class PlainSweepScreen:
    """A line for each run that starts or ends, and one a minute for those that run."""

    def __init__(
        self,
        console: Console,
        folder: SweepFolder,
        count: int,
        metric: str,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console, self._folder, self._metric = console, folder, metric
        self._count, self._now = count, now
        self._shown = now()

    def begin(self, name: str, number: int) -> None:
        self.say(f"started {number}/{self._count}: {name}")

    def look(self, names: Sequence[str]) -> None:
        if self._now() - self._shown < LINE_SECONDS:
            return
        self._shown = self._now()
        shares = (f"{name} {self.latest(name).get('share', 0):.0%}" for name in names)
        self.say(f"running: {', '.join(shares)}")

    def end(self, name: str, failure: Failure | None) -> None:
        if failure is None:
            self.say(f"finished: {name}{self.score(name)}")
        else:
            self.say(f"FAILED: {name} ({ended_by(failure.code)}): {failure.last}")
            self.say(f"  its output: {failure.log}")

    def say(self, text: str) -> None:
        """One line."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def latest(self, name: str) -> dict[str, float]:
        """The last records of a run."""
        return latest(self._folder.run(name) / LOG)

    def score(self, name: str) -> str:
        """The last score of a run, in words."""
        value = self.latest(name).get(self._metric)
        return "" if value is None else f"  {self._metric} {value:.3f}"

    def close(self) -> None:
        """The sweep has ended."""


class LiveSweepScreen(PlainSweepScreen):
    """The same lines, and below them a bar for each run that runs."""

    def __init__(self, console: Console, folder: SweepFolder, count: int, metric: str) -> None:
        self._bars = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TextColumn("{task.percentage:>3.0f}%"),
            progress.TextColumn("[bold]{task.fields[state]}"),
            console=console,
            auto_refresh=False,
        )
        super().__init__(self._bars.console, folder, count, metric)
        self._tasks: dict[str, TaskID] = {}
        self._bars.start()

    def begin(self, name: str, number: int) -> None:
        super().begin(name, number)
        self._tasks[name] = self._bars.add_task(name, total=1.0, state="")

    def look(self, names: Sequence[str]) -> None:
        if self._now() - self._shown < REFRESH_SECONDS:
            return
        self._shown = self._now()
        for name in names:
            found = self.latest(name)
            state = "".join(
                f"{key} {found[key]:.3f}  "
                for key in dict.fromkeys(("loss", self._metric))
                if key in found
            )
            self._bars.update(self._tasks[name], completed=found.get("share", 0), state=state)
        self._bars.refresh()

    def end(self, name: str, failure: Failure | None) -> None:
        self._bars.remove_task(self._tasks.pop(name))
        super().end(name, failure)

    def close(self) -> None:
        self._bars.stop()


def sweep_screen(
    folder: SweepFolder, count: int, metric: str
) -> "PlainSweepScreen | LiveSweepScreen":
    """Bars in a terminal, plain lines elsewhere; both on the error stream."""
    console = Console(stderr=True)
    kind = LiveSweepScreen if console.is_terminal else PlainSweepScreen
    made = kind(console, folder, count, metric)
    assert isinstance(made, SweepScreen)
    return made
