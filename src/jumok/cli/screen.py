"""Tables, scores, progress and warnings in the terminal; and a browser."""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn
    from rich.table import Table

    from jumok.bundle.card import Score
    from jumok.shapes import Float, Tensor

CountedItem = TypeVar("CountedItem")

WIDEST_WORD = 24
SHADES = (" ", "░", "▒", "▓", "█")


def console() -> "Console":
    """Standard output; [brackets] in text are not markup."""
    from rich import console as rich_console

    return rich_console.Console(markup=False, highlight=False)


def plain_table(
    *headings: str, left: Collection[str] = ("",), fold: Collection[str] = ()
) -> "Table":
    """A table without lines.

    Args:
        left: headings of words; the other columns are numbers, at the right.
        fold: headings of columns that a narrow terminal may break.
    """
    from rich import table

    plain = table.Table(box=None, padding=(0, 2, 0, 0))
    for heading in headings:
        plain.add_column(
            heading,
            justify="left" if heading in left else "right",
            no_wrap=heading not in fold,
            overflow="fold" if heading in fold else "ellipsis",
        )
    return plain


def print_scores(scores: "Sequence[Score]") -> None:
    """Prints each score with its confidence interval and its signature."""
    # "on" may be long, but must not crowd out a number.
    shown = plain_table("", "score", "95 %", "on", left=("", "95 %", "on"), fold=("on",))
    for score in scores:
        interval = "" if score.low is None else f"{score.low:.2f} to {score.high:.2f}"
        shown.add_row(score.name, f"{score.value:.2f}", interval, score.on)
    screen = console()
    screen.print(shown)
    for line in dict.fromkeys(f"{score.name}|{score.signature}" for score in scores):
        # One line each even in a narrow terminal, since signatures are copied.
        screen.print(line, soft_wrap=True)


def counted(
    items: Iterable[CountedItem], total: int | None = None, what: str = "", beside: bool = False
) -> Iterator[CountedItem]:
    """Yields the items and shows their number on stderr, if that is a terminal and stdout is not.

    Args:
        total: the number of all items, for a bar.
        what: what happens to them, in words.
        beside: stdout may be a terminal, since nothing is written to it meanwhile.
    """
    if not sys.stderr.isatty() or (sys.stdout.isatty() and not beside):
        yield from items
        return
    from rich import progress

    count = progress.TextColumn("{task.completed:,.0f} lines")
    begin: list[ProgressColumn] = [progress.SpinnerColumn()]
    if total is not None:
        begin = [progress.TextColumn(what), progress.BarColumn()]
    with _progress(*begin, count) as bar:
        task = bar.add_task("", total=total)
        for item in items:
            yield item
            bar.advance(task)


@contextmanager
def waiting(what: str) -> "Iterator[Callable[[], None]]":
    """Shows on stderr how long `what` takes, and its passes; yields what counts a pass."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich import progress

    passes = progress.TextColumn("{task.completed:,.0f} passes")
    with _progress(progress.SpinnerColumn(), progress.TextColumn(what), passes) as bar:
        task = bar.add_task("", total=None)
        yield lambda: bar.advance(task)


@contextmanager
def _progress(*columns: "ProgressColumn") -> "Iterator[Progress]":
    from rich import console as rich_console
    from rich import progress

    stderr = rich_console.Console(stderr=True)
    elapsed = progress.TimeElapsedColumn()
    with progress.Progress(*columns, elapsed, console=stderr, transient=True) as bar:
        yield bar


def heatmap(
    weights: "Float[Tensor, 'target_words source_words']",
    source: Sequence[str],
    target: Sequence[str],
    width: int = 80,
) -> str:
    """The weights drawn for a terminal: source words across, target words down.

    The shade is blank below 1/8, then a step every 1/4. A source wider than `width` columns has
    several panels.
    """
    margin = max((_columns(word) for word in target), default=0)
    panels: list[list[int]] = [[]]
    used = margin
    for column, word in enumerate(source):
        if panels[-1] and used + 1 + _columns(word) > width:
            panels.append([])
            used = margin
        panels[-1].append(column)
        used += 1 + _columns(word)
    return "\n\n".join(_panel(weights, source, target, panel, margin) for panel in panels)


def _panel(
    weights: "Tensor", source: Sequence[str], target: Sequence[str], columns: list[int], margin: int
) -> str:
    from rich.cells import set_cell_size

    widths = {column: _columns(source[column]) for column in columns}
    head = [set_cell_size(source[column], widths[column]) for column in columns]
    lines = [" ".join([" " * margin, *head])]
    for row, word in enumerate(target):
        shades = (SHADES[round(float(weights[row, each]) * (len(SHADES) - 1))] for each in columns)
        cells = [shade * width for shade, width in zip(shades, widths.values(), strict=True)]
        lines.append(" ".join([set_cell_size(word, margin), *cells]))
    return "\n".join(line.rstrip() for line in lines)


def _columns(word: str) -> int:
    from rich.cells import cell_len

    return min(max(cell_len(word), 1), WIDEST_WORD)


def warn_without_compiler() -> None:
    """Warns on stderr if a missing C compiler makes training slower."""
    from jumok.kernels.native import library

    if library() is None:
        failed = "the C compiler of this machine cannot compile the kernels: training is slower"
        from jumok.kernels.libraries.compiler import NONE, find_compiler

        typer.echo(NONE if find_compiler() is None else failed, err=True)


def has_browser() -> bool:
    """Whether a browser would open in front of the user: not over ssh, and not in CI."""
    if os.environ.get("CI") or os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"):
        return False
    import webbrowser

    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def open_page(file: Path) -> None:
    """Opens the file in a browser; reports on stderr if there is none."""
    import webbrowser

    if not (has_browser() and webbrowser.open(file.absolute().as_uri())):
        typer.echo(f"note: no browser can be opened from here; open {file} yourself", err=True)
