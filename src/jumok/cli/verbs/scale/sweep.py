"""`jumok sweep`: a recipe with many values, several runs at once."""

import os
import shlex
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from jumok import environment
from jumok.cli.output.cells import as_csv
from jumok.cli.scale.study import Runs, SearchSpace, enqueue, open_study, read_keys, run_name
from jumok.cli.screen import console
from jumok.data.files.atomic import write_durably
from jumok.options import option
from jumok.systems.device import cores

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

NVIDIA = Path("/proc/driver/nvidia/gpus")
Recipe = Annotated[
    Path, typer.Argument(help="A recipe: its file (TOML), or its name in `jumok recipes`.")
]
More = Annotated[
    list[str] | None, typer.Argument(metavar="KEY=VALUES", help="More keys, as --grid has them.")
]


@dataclass(frozen=True)
class SweepArgs:
    """What is tried, and how."""

    grid: list[str] | None = option(
        None,
        "A key of the recipe and its values: model.dropout=0.1,0.2; or, with --trials, a range: "
        "model.dropout=0.1..0.3, training.learning_rate=log:1e-4..1e-2. Repeatable.",
        metavar="KEY=VALUES",
    )
    trials: int = option(0, "Runs with values drawn at random (0 = every combination).", minimum=0)
    sampler: Literal["random", "tpe"] = option(
        "random", "With --trials, how values are drawn; tpe: rather near good ones."
    )
    changes: list[str] | None = option(
        None, "Change a key in all runs: training.steps=2000. Repeatable.", "--set"
    )
    output: Path | None = option(
        None, "Folder of the sweep (default: runs/RECIPE-sweep).", "--output", "-o"
    )
    jobs: int = option(0, "Runs at once; 0 = one for each card, or each core.", minimum=0)
    threads: int = option(0, "Cores of each run; 0 = all, divided by --jobs.", minimum=0)
    resume: bool = option(False, "Continue a sweep; finished runs are not repeated.")


def sweep(recipe: Recipe, more: More = None, *, asked: Annotated[SweepArgs, SweepArgs()]) -> None:
    """Train a recipe with many values of its keys, several runs at once.

    Each combination, or each of --trials, is a run of jumok train in a folder
    of its own. At the end there is a table: the mean and the spread over
    seeds, the best first; and results.csv.

    A run that fails does not end the others: the exit code is 1 at the end.
    Ctrl-C stops all of them with their checkpoints; --resume continues.

      jumok sweep smallworld-en-ko --grid seed=1,2,3

      jumok sweep recipe.toml --grid model.dropout=0.1,0.2 seed=1,2,3 --jobs 4

      jumok sweep recipe.toml --grid model.dropout=0.0..0.4 --trials 20
    """
    space = SearchSpace(
        recipe, asked.changes or (), read_keys([*(asked.grid or ()), *(more or ())])
    )
    wanted = [] if asked.trials else space.combinations()
    configs = [space.config(each) for each in wanted or space.ends()]
    metric, folder = configs[0].validation.metric, asked.output or usual_folder(recipe)
    study = open_study(folder, space, metric, asked.sampler, asked.resume)
    left = enqueue(study, wanted, asked.trials)
    cards = cards_here(configs[0].training.device)
    jobs = min(asked.jobs or len(cards) or cores(), max(left, 1))
    threads = asked.threads or max(1, cores() // jobs)
    typer.echo(f"{left} runs in {folder}, {jobs} at once", err=True)
    runs = Runs(folder, space, metric, jobs, threads, cards)
    if left:
        runs.run(study, left)
    if ended := [each for each in study.trials if each.value is not None]:
        say_results(folder, metric, ended)
    stopped = runs.interrupt.signal
    if runs.failed or stopped is not None:
        again = shlex.join(["jumok", *(word for word in sys.argv[1:] if word != "--resume")])
        failed = f"failed: {', '.join(runs.failed)}\n" if runs.failed else ""
        typer.echo(f"{failed}{folder} has everything. Continue with:\n  {again} --resume", err=True)
        raise typer.Exit(1 if stopped is None else 128 + stopped)


def usual_folder(recipe: Path) -> Path:
    """The folder of a sweep that was given none, beside the runs."""
    return Path(environment.recipe_variables()["JUMOK_RUNS"]) / f"{recipe.stem}-sweep"


def cards_here(device: str, driver: Path = NVIDIA) -> list[str]:
    """The graphics cards of which each run gets one; none if the recipe names its device.

    Args:
        driver: where the driver lists its cards.
    """
    named = environment.visible_cards()
    if named is None and driver.is_dir():
        named = [str(number) for number, _ in enumerate(os.listdir(driver))]
    return (named or []) if device == "auto" else []


def say_results(folder: Path, metric: str, ended: "Sequence[FrozenTrial]") -> None:
    """Writes results.csv, and prints a row for the runs that differ in their seed alone."""
    rows, groups = [], dict[tuple[str, ...], list[tuple[float, str]]]()
    for each in ended:
        values, score = each.user_attrs["values"], each.value or 0.0
        name = run_name(values)
        rows.append((name, *values.values(), score, *each.user_attrs["measured"].values()))
        others = tuple(value for key, value in values.items() if key != "seed")
        groups.setdefault(others, []).append((score, name))
    keys = list(ended[0].user_attrs["values"])
    text = as_csv(("run", *keys, metric, *ended[0].user_attrs["measured"]), *rows)
    write_durably(folder / "results.csv", text.encode())
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in (*(key for key in keys if key != "seed"), metric, "spread", "runs"):
        table.add_column(heading, no_wrap=True)
    table.add_column("best run", overflow="fold")
    sign = 1 if metric == "loss" else -1
    means = {key: sign * statistics.fmean(score for score, _ in its) for key, its in groups.items()}
    for key in sorted(means, key=means.__getitem__):
        scores = [score for score, _ in groups[key]]
        spread = f"{statistics.stdev(scores):.3f}" if len(scores) > 1 else "-"
        best = min(groups[key], key=lambda one: sign * one[0])[1]
        table.add_row(*key, f"{sign * means[key]:.3f}", spread, str(len(scores)), best)
    console().print(table)
    typer.echo(str(folder / "results.csv"), err=True)
