"""What several commands print: scores and a count of lines."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:
    from jumok.bundle.card import Score

Item = TypeVar("Item")


def console() -> Console:
    """Standard output; [brackets] in text are not markup."""
    return Console(markup=False, highlight=False)


def print_scores(scores: "Sequence[Score]") -> None:
    """Prints each score with its confidence interval and its signature."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("", "score", "95 %"):
        table.add_column(heading, no_wrap=True, justify="right" if heading == "score" else "left")
    table.add_column("on", overflow="fold")  # may be long, but must not crowd out a number
    for score in scores:
        interval = "" if score.low is None else f"{score.low:.2f} to {score.high:.2f}"
        table.add_row(score.name, f"{score.value:.2f}", interval, score.on)
    screen = console()
    screen.print(table)
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
    silent = not sys.stderr.isatty() or (sys.stdout.isatty() and not beside)
    columns = [SpinnerColumn(), TextColumn("{task.completed:,.0f} lines"), TimeElapsedColumn()]
    if total is not None:
        columns[:1] = [TextColumn(what), BarColumn()]
    with Progress(*columns, console=Console(stderr=True), disable=silent, transient=True) as bar:
        task = bar.add_task("", total=total)
        for item in items:
            yield item
            bar.advance(task)
