"""Scores and progress in the terminal."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

    from jumok.bundle.card import Score

Item = TypeVar("Item")


def console() -> "Console":
    """Standard output; [brackets] in text are not markup."""
    from rich import console as rich_console

    return rich_console.Console(markup=False, highlight=False)


def print_scores(scores: "Sequence[Score]") -> None:
    """Prints each score with its confidence interval and its signature."""
    from rich import table

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
    """Yields the items and shows their number on stderr, if that is a terminal and stdout is not.

    Args:
        total: the number of all items, for a bar; None: it is not known.
        what: what happens to them, in words.
        beside: nothing is written to stdout meanwhile, which then may be a terminal.
    """
    if not sys.stderr.isatty() or (sys.stdout.isatty() and not beside):
        yield from items
        return
    from rich import progress

    count = progress.TextColumn("{task.completed:,.0f} lines")
    columns = [progress.SpinnerColumn(), count, progress.TimeElapsedColumn()]
    if total is not None:
        columns[:1] = [progress.TextColumn(what), progress.BarColumn()]
    from rich import console as rich_console

    terminal = rich_console.Console(stderr=True)
    with progress.Progress(*columns, console=terminal, transient=True) as bar:
        task = bar.add_task("", total=total)
        for item in items:
            yield item
            bar.advance(task)


@contextmanager
def waiting(what: str) -> "Iterator[Callable[[], None]]":
    """Shows on stderr how long `what` takes, and how many passes it has made.

    Yields what counts a pass.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich import progress

    passes = progress.TextColumn("{task.completed:,.0f} passes")
    columns = [progress.SpinnerColumn(), progress.TextColumn(what), passes]
    from rich import console as rich_console

    terminal = rich_console.Console(stderr=True)
    with progress.Progress(
        *columns, progress.TimeElapsedColumn(), console=terminal, transient=True
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda: bar.advance(task)
