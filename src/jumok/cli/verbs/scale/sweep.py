"""`jumok sweep`: a recipe with many values, several runs at once."""

import shlex
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column, Table

from jumok import environment
from jumok.cli.options import Recipe
from jumok.cli.output.cells import as_csv
from jumok.cli.screen import console
from jumok.cli.study import SearchSpace, StudyRuns, enqueue, open_study, parse_grid, run_name
from jumok.data.files.atomic import write_durably
from jumok.options import option
from jumok.systems.device import cores

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

More = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUES", help="Further keys, written as for --grid."),
]


@dataclass(frozen=True)
class SweepArgs:
    """What is tried, and how."""

    grid: list[str] | None = option(
        None,
        "Key of the recipe with its values: model.dropout=0.1,0.2. With --trials also with a "
        "range: model.dropout=0.1..0.3, training.learning_rate=log:1e-4..1e-2. Repeatable.",
        metavar="KEY=VALUES",
    )
    trials: int = option(
        0,
        "Number of runs, with values sampled at random first and near good values later (0 = "
        "every combination).",
        minimum=0,
    )
    changes: list[str] | None = option(
        None, "Change a key in all runs, such as training.steps=99. Repeatable.", "--set"
    )
    output: Path | None = option(
        None, "Folder of the sweep (default: runs/RECIPE-sweep).", "--output", "-o"
    )
    jobs: int = option(
        0,
        "Number of runs at the same time; 0 = one per GPU, or one per core without GPUs.",
        minimum=0,
    )
    threads: int = option(
        0, "CPU threads per run; 0 = the number of cores divided by --jobs.", minimum=0
    )
    resume: bool = option(False, "Continue a sweep without repeating finished runs.")


def sweep(recipe: Recipe, more: More = None, *, asked: Annotated[SweepArgs, SweepArgs()]) -> None:
    """Train a recipe with several values of its keys, in parallel runs.

    Each combination of values, or each of --trials, is a run of jumok train
    in its own folder. At the end, prints a table with the mean and the
    standard deviation over seeds, best first, and writes results.csv.

    If a run fails, the others continue, and the exit code is 1. Ctrl-C stops
    all runs with a checkpoint each; --resume continues them.

      jumok sweep smallworld-en-ko --grid seed=1,2,3

      jumok sweep recipe.toml --grid model.dropout=0.1,0.2 seed=1,2,3 --jobs 4

      jumok sweep recipe.toml --grid model.dropout=0.0..0.4 --trials 20
    """
    keys = parse_grid([*(asked.grid or ()), *(more or ())])
    space = SearchSpace(recipe, asked.changes or (), keys)
    wanted = [] if asked.trials else space.combinations()
    configs = [space.config(each) for each in wanted or space.ends()]
    metric, folder = configs[0].validation.metric, asked.output
    if folder is None:
        folder = Path(environment.recipe_variables()["JUMOK_RUNS"]) / f"{recipe.stem}-sweep"
    study = open_study(folder, space, metric, asked.resume)
    left = enqueue(study, wanted, asked.trials)
    device = configs[0].training.device
    cards = cards_here(device)
    jobs = min(asked.jobs or jobs_here(device, cards), max(left, 1))
    threads = asked.threads or max(1, cores() // jobs)
    typer.echo(f"{left} runs in {folder}, {jobs} at once", err=True)
    runs = StudyRuns(folder, space, metric, threads, cards)
    runs.run(study, left, jobs)
    if ended := [each for each in study.trials if each.value is not None]:
        _print_results(folder, metric, ended)
    if (stopped := runs.interrupt.signal) is not None or runs.failed:
        again = shlex.join(["jumok", *(word for word in sys.argv[1:] if word != "--resume")])
        failed = f"failed: {', '.join(runs.failed)}\n" if runs.failed else ""
        typer.echo(f"{failed}{folder} has everything. Continue with:\n  {again} --resume", err=True)
        raise typer.Exit(1 if stopped is None else 128 + stopped)


def cards_here(device: str) -> list[str]:
    """The GPUs of which each run gets one; none on a CPU, or if the recipe names one ("cuda:1")."""
    import torch

    cards = environment.visible_cards() or map(str, range(torch.cuda.device_count()))
    return list(cards) if device in ("auto", "cuda") else []


def jobs_here(device: str, cards: "Sequence[str]") -> int:
    """The runs at once: one per GPU, one on the GPU that the recipe names, or one per core."""
    return 1 if device.startswith("cuda:") else len(cards) or cores()


def _print_results(folder: Path, metric: str, trials: "Sequence[FrozenTrial]") -> None:
    """Writes results.csv, and prints one row for runs that differ only in their seed."""
    rows, groups = [], defaultdict[tuple[str, ...], list[tuple[float, str]]](list)
    for trial in trials:
        values, measured = trial.user_attrs["values"], trial.user_attrs["measured"]
        name, score = run_name(values), trial.value or 0.0
        rows.append((name, *values.values(), score, *measured.values()))
        others = tuple(value for key, value in values.items() if key != "seed")
        groups[others].append((score, name))
    heads = ("run", *values, metric, *measured)
    write_durably(folder / "results.csv", as_csv(heads, *rows).encode())
    heads = (*(key for key in values if key != "seed"), metric, "spread", "runs")
    columns = [Column(head, no_wrap=True) for head in heads]
    table = Table(*columns, Column("best run", overflow="fold"), box=None, padding=(0, 2, 0, 0))
    best = min if metric == "loss" else max
    scores = {others: [score for score, _ in runs] for others, runs in groups.items()}
    mean = {others: statistics.fmean(of) for others, of in scores.items()}
    for others in sorted(mean, key=mean.__getitem__, reverse=best is max):
        of = scores[others]
        spread = f"{statistics.stdev(of):.3f}" if len(of) > 1 else "-"
        table.add_row(*others, f"{mean[others]:.3f}", spread, str(len(of)), best(groups[others])[1])
    console().print(table)
    typer.echo(str(folder / "results.csv"), err=True)
