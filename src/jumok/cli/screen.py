"""What several verbs draw."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from jumok.bundle.card import Score

Item = TypeVar("Item")


def console() -> Console:
    """Standard output, where [brackets] of the user's text are text."""
    return Console(markup=False, highlight=False)


def print_scores(scores: Sequence[Score]) -> None:
    """Each score with its interval and, since figures mislead without it, its signature."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("", "score", "95 %"):
        table.add_column(heading, no_wrap=True, justify="right" if heading == "score" else "left")
    table.add_column("on", overflow="fold")  # may be long, and no figure gives way to it
    for score in scores:
        interval = "" if score.low is None else f"{score.low:.2f} to {score.high:.2f}"
        table.add_row(score.name, f"{score.value:.2f}", interval, score.on)
    screen = console()
    screen.print(table)
    for line in dict.fromkeys(f"{score.name}|{score.signature}" for score in scores):
        # One line each, however narrow the terminal: signatures are copied.
        screen.print(line, soft_wrap=True)


def counted(items: Iterable[Item]) -> Iterator[Item]:
    """The items, with their number shown while they come.

    Shown on standard error, where that is a terminal and standard output is not the same one.
    """
    silent = not sys.stderr.isatty() or sys.stdout.isatty()
    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} lines"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=silent, transient=True) as bar:
        task = bar.add_task("")
        for item in items:
            yield item
            bar.advance(task)
