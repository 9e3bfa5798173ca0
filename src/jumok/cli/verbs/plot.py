"""`jumok plot`: the learning curves of runs, as a figure, a table or numbers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from jumok.cli.output.cells import as_csv
from jumok.cli.output.streams import open_output
from jumok.cli.screen import console, plain_table
from jumok.data.files.formats import FIGURE_SUFFIXES
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from jumok.data.files.run_log import RunLog


def plot(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, such as runs/first.")],
    to: Annotated[
        Path, typer.Option(help="File to write: a figure (.svg, .pdf, .png) or numbers (.csv).")
    ] = Path("curves.svg"),
    over: Annotated[Literal["steps", "minutes"], typer.Option(help="Horizontal axis.")] = "steps",
) -> None:
    """Plot the learning curves of runs and print their best scores.

    One panel shows the training loss (thin) and the validation loss, and each
    validation score has its own panel; several runs share the panels. Figures
    need the extra plot.

      jumok plot runs/first

      jumok plot runs/* --over minutes --to curves.pdf

      jumok plot runs/a runs/b --to curves.csv
    """
    suffixes = (*FIGURE_SUFFIXES, ".csv")
    if to.suffix not in suffixes:
        raise ConfigError(
            "the file must be a figure or a table.", expected=" ".join(suffixes), got=str(to)
        )
    from jumok.data.files import run_log

    logs = [run_log.run_log(run) for run in runs]
    if to.suffix == ".csv":
        _write_numbers(logs, to)
    else:
        from jumok.plot import save
        from jumok.plot.learning_curves import draw_curves

        save(draw_curves(logs, over), to)
    console().print(_best_scores(logs))
    typer.echo(to, err=True)


def _best_scores(logs: "list[RunLog]") -> "Table":
    """One row a run: where it is, and the validation whose model became the bundle."""
    headings = ("run", "steps", "minutes", "best at", "loss", "scores")
    table = plain_table(*headings, left=("run", "scores"), fold=headings)
    from jumok.plot.learning_curves import NAMES

    for log in logs:
        records = log.steps + log.validations
        best = next((each for each in reversed(log.validations) if each.get("best")), None)
        scores = [] if best is None else [(name, best.get(name)) for name in log.scores]
        loss = None if best is None else best.get("loss")
        table.add_row(
            log.name,
            f"{max(record['step'] for record in records):,}",
            f"{max(record['seconds'] for record in records) / 60:.1f}",
            "-" if best is None else f"{best['step']:,}",
            "-" if loss is None else f"{loss:.3f}",
            ", ".join(
                f"{NAMES.get(name, name)} {value:.2f}"
                for name, value in scores
                if value is not None
            ),
        )
    return table


def _write_numbers(logs: "list[RunLog]", file: Path) -> None:
    rows = []
    for log in logs:
        for kind, records in (("training", log.steps), ("validation", log.validations)):
            names = ["loss"] if kind == "training" else ["loss", *log.scores]
            rows += [
                (log.name, kind, record["step"], record["seconds"] / 60, name, record.get(name))
                for record in records
                for name in names
                if record.get(name) is not None
            ]
    header = ("run", "kind", "step", "minutes", "name", "value")
    with open_output(file) as stream:
        stream.write(as_csv(header, *rows))
