"""Progress for the user: a live line in a terminal, plain lines elsewhere."""

import time
from collections import deque
from collections.abc import Callable, Mapping

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from jumok.training.log import Log, StepRecord, ValidationRecord

REFRESH_SECONDS = 0.5  # drawing costs about 2 ms: well under 1 % of the training
LINE_SECONDS = 10.0


class Pace:
    """Tokens per second over the last steps, and the remaining time."""

    def __init__(self) -> None:
        self._recent: deque[StepRecord] = deque(maxlen=50)
        self._first: StepRecord | None = None

    def update(self, record: StepRecord) -> None:
        self._first = self._first or record
        self._recent.append(record)

    @property
    def tokens_per_second(self) -> float | None:
        """Target tokens per second of the optimizer steps; None before the second record."""
        if len(self._recent) < 2:
            return None
        first, last = self._recent[0], self._recent[-1]
        return (last.tokens - first.tokens) / max(last.step_seconds - first.step_seconds, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """Estimated from the progress of this process; None before there is any."""
        if self._first is None or self._recent[-1].share <= self._first.share:
            return None
        last = self._recent[-1]
        pace = (last.seconds - self._first.seconds) / (last.share - self._first.share)
        return pace * max(1.0 - last.share, 0.0)


def speed(tokens_per_second: float | None) -> str:
    """`1,031` for 1031.2; a dash if it is not known yet."""
    return "-" if tokens_per_second is None else f"{tokens_per_second:,.0f}"


def clock(seconds: float | None) -> str:
    """1:05:09 for 3909 seconds; dashes if it is not known yet."""
    if seconds is None:
        return "-:--"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def validation_line(record: ValidationRecord) -> str:
    """One line with the current scores."""
    mark = "  best so far" if record.best else ""
    earlier = f"earlier data: {figures(record.earlier, 2)}" if record.earlier else ""
    return (
        f"step {record.step:>6,}  validation: loss {record.loss:.3f}  "
        f"{figures(record.figures, 2)}{earlier}({record.took:.1f} s){mark}"
    )


def figures(values: Mapping[str, float], digits: int) -> str:
    """ "BLEU 37.21  chrF 60.33  ", with two spaces after each."""
    return "".join(f"{name} {value:.{digits}f}  " for name, value in values.items())


class PlainScreen:
    """A line every ten seconds and one per validation, for files, pipes and CI."""

    def __init__(self, console: Console, now: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._now = now
        self._pace = Pace()
        self._printed = float("-inf")

    def step(self, record: StepRecord) -> None:
        self._pace.update(record)
        if self._now() - self._printed < LINE_SECONDS:
            return
        self._printed = self._now()
        self.say(
            f"step {record.step:>6,}  {record.share:4.0%}  loss {record.loss:.3f}  "
            f"{speed(self._pace.tokens_per_second)} {record.unit}/s  "
            f"{clock(self._pace.seconds_left)} left"
        )

    def validation(self, record: ValidationRecord) -> None:
        self.say(validation_line(record))

    def say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class LiveScreen:
    """One line that moves: bar, loss, tokens/s, time left, and the last validation's scores."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("step {task.fields[step]:,}"),
            BarColumn(bar_width=None),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("loss [bold]{task.fields[loss]}"),
            TextColumn("[cyan]{task.fields[speed]}"),
            TextColumn("[bold green]{task.fields[figures]}"),
            TextColumn("[yellow]{task.fields[left]} left"),
            console=console,
            auto_refresh=False,  # a thread of its own would take time from the training
            expand=True,
        )
        self._task = self._progress.add_task(
            "train", total=1.0, step=0, loss="-", speed="-", figures="", left="-:--"
        )
        self._pace = Pace()
        self._drawn = 0.0
        self._progress.start()

    def step(self, record: StepRecord) -> None:
        self._pace.update(record)
        self._progress.update(
            self._task,
            completed=record.share,
            step=record.step,
            loss=f"{record.loss:.3f}",
            speed=f"{speed(self._pace.tokens_per_second)} {record.unit}/s",
            left=clock(self._pace.seconds_left),
        )
        if time.monotonic() - self._drawn >= REFRESH_SECONDS:
            self._drawn = time.monotonic()
            self._progress.refresh()

    def validation(self, record: ValidationRecord) -> None:
        self._progress.update(self._task, figures=figures(record.figures, 1).rstrip())
        self.say(validation_line(record))

    def say(self, text: str) -> None:
        # Soft-wrapped: the terminal breaks the line, and a line that is copied is whole.
        self._progress.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self._progress.refresh()
        self._progress.stop()


def screen(console: Console | None = None) -> Log:
    """The live line in a terminal, plain lines elsewhere; both on the error stream."""
    console = console or Console(stderr=True)
    return LiveScreen(console) if console.is_terminal else PlainScreen(console)
