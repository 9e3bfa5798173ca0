"""What several commands print: scores and a count of lines."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from jumok.late import late_imports

with late_imports():
    from rich import console as rich_console
    from rich import progress, table

if TYPE_CHECKING:
    from jumok.bundle.card import Score

Item = TypeVar("Item")


def console() -> "rich_console.Console":
    """Standard output; [brackets] in text are not markup."""
    return rich_console.Console(markup=False, highlight=False)


def print_scores(scores: "Sequence[Score]") -> None:
    """Prints each score with its confidence interval and its signature."""
    shown = table.Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("", "score", "95 %"):
        shown.add_column(heading, no_wrap=True, justify="right" if heading == "score" else "left")
    shown.add_column("on", overflow="fold")  # may be long, but must not crowd out a number
    for score in scores:
        interval = "" if score.low is None else f"{score.low:.2f} to {score.high:.2f}"
        shown.add_row(score.name, f"{score.value:.2f}", interval, score.on)
    screen = console()
    screen.print(shown)
    for line in dict.fromkeys(f"{score.name}|{score.signature}" for score in scores):
        # One line each even in a narrow terminal, since signatures are copied.
        screen.print(line, soft_wrap=True)


def counted(
    items: Iterable[Item], total: int | None = None, what: str = "", beside: bool = False
) -> Iterator[Item]:
    """Yields the items and shows their number.

    It is shown on stderr, if that is a terminal and stdout is not one.

    Args:
        total: the number of all items, for a bar; None: it is not known.
        what: what happens to them, in words.
        beside: whether nothing is written to stdout meanwhile, which then may be a terminal.
    """
    if not sys.stderr.isatty() or (sys.stdout.isatty() and not beside):
        yield from items
        return
    count = progress.TextColumn("{task.completed:,.0f} lines")
    columns = [progress.SpinnerColumn(), count, progress.TimeElapsedColumn()]
    if total is not None:
        columns[:1] = [progress.TextColumn(what), progress.BarColumn()]
    terminal = rich_console.Console(stderr=True)
    with progress.Progress(*columns, console=terminal, transient=True) as bar:
        task = bar.add_task("", total=total)
        for item in items:
            yield item
            bar.advance(task)


@contextmanager
def waiting(what: str) -> "Iterator[Callable[[], None]]":
    """Shows that something is computed, for how long, and in how many passes so far.

    It is shown on stderr, if that is a terminal. Yields what counts a pass.

    Args:
        what: what is computed, in words.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    passes = progress.TextColumn("{task.completed:,.0f} passes")
    columns = [progress.SpinnerColumn(), progress.TextColumn(what), passes]
    terminal = rich_console.Console(stderr=True)
    with progress.Progress(
        *columns, progress.TimeElapsedColumn(), console=terminal, transient=True
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda: bar.advance(task)
