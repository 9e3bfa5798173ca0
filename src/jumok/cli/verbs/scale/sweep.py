"""`jumok sweep`: a recipe with every combination of some values."""

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal

import typer

from jumok import environment
from jumok.cli.scale.grid import Combination, combinations, read_grid
from jumok.cli.scale.progress import ended_by, sweep_screen
from jumok.cli.scale.ray_workers import RayWorkers
from jumok.cli.scale.resources import cards_here, usual_jobs
from jumok.cli.scale.results import (
    RunResult,
    as_object,
    groups_of,
    result_of,
    table_of,
    write_figures,
    write_results,
)
from jumok.cli.scale.running import Ended, run_all
from jumok.cli.scale.sweep_folder import SweepFolder, open_folder
from jumok.cli.scale.workers import LocalWorkers, Workers
from jumok.cli.screen import console
from jumok.config.writing import recipe_text
from jumok.data.files.atomic import write_durably
from jumok.errors import ConfigError
from jumok.systems.device import cores

Recipe = Annotated[
    Path, typer.Argument(help="A recipe: its file (TOML), or its name in `jumok recipes`.")
]
More = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUES", help="More keys of the grid, as --grid has them."),
]
Grid = Annotated[
    list[str] | None,
    typer.Option(
        "--grid",
        metavar="KEY=VALUES",
        help="A key of the recipe and its values: model.dropout=0.1,0.2. Repeatable.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a key in all runs: training.steps=2000. Repeatable."),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Folder of the sweep (default: runs/RECIPE-sweep)."),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1024,
        help="Runs at once (default: one for each card, or each core as far as there is memory).",
    ),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Continue a sweep; finished runs are not repeated.")
]
Where = Annotated[
    Literal["local", "ray"],
    typer.Option(
        "--workers",
        help="local: processes of this machine; ray: tasks on the cluster in RAY_ADDRESS, or on "
        "one that is started here (needs the extra ray).",
    ),
]
Figure = Annotated[
    Literal["svg", "pdf", "png", "none"],
    typer.Option(help="Format of the figures; they need the extra plot."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as one JSON object.")]
Threads = Annotated[
    int,
    typer.Option(
        min=0, max=1024, help="Cores of each run; 0 = those of the machine, divided by --jobs."
    ),
]


def sweep(
    recipe: Recipe,
    more: More = None,
    grid: Grid = None,
    changes: Set = None,
    output: Output = None,
    jobs: Jobs = None,
    threads: Threads = 0,
    resume: Resume = False,
    where: Where = "local",
    figure: Figure = "svg",
    as_json: AsJson = False,
) -> None:
    """Train a recipe with every combination of some values, several at once.

    Each combination is a run of jumok train in a folder of its own. At the end
    there is a table: the mean and the spread over seeds, the best first; and the
    same as CSV and JSON, with the learning curves and the scores as figures.

    A run that fails does not end the others: the exit code is 1 at the end.
    Ctrl-C stops all of them with their checkpoints; --resume continues.

      jumok sweep smallworld-en-ko --grid seed=1,2,3

      jumok sweep recipe.toml --grid model.dropout=0.1,0.2 seed=1,2,3

      jumok sweep recipe.toml --grid model.dim=128,256 --jobs 4 --resume
    """
    changes, keys = changes or [], read_grid([*(grid or ()), *(more or ())])
    wanted = combinations(recipe, changes, keys)
    metrics = {each.config.validation.metric for each in wanted}
    if len(metrics) > 1:
        raise ConfigError(
            "the runs are validated by several metrics, which cannot be compared.",
            got=", ".join(sorted(metrics)),
            do="leave validation.metric out of the grid",
        )
    folder = open_folder(output or usual_folder(recipe), recipe, changes, keys, resume)
    waiting = [each for each in wanted if not folder.is_finished(each.name)]
    for each in waiting:
        write_durably(folder.recipe(each.name), recipe_text(each.config).encode())
    ended = _run(waiting, folder, metrics.pop(), jobs, threads, where) if waiting else Ended()
    _say_results(wanted, folder, figure, as_json)
    _say_end(ended, folder)


def usual_folder(recipe: Path) -> Path:
    """The folder of a sweep that was given none, beside the runs."""
    runs = Path(environment.recipe_variables()["JUMOK_RUNS"])
    return runs / f"{recipe.stem}-sweep"


def _run(
    waiting: Sequence[Combination],
    folder: SweepFolder,
    metric: str,
    jobs: int | None,
    threads: int,
    where: str,
) -> Ended:
    """Runs what is not finished."""
    device = waiting[0].config.training.device
    cards = [] if where == "ray" else cards_here(device)
    if jobs is None:
        jobs = len(waiting) if where == "ray" else usual_jobs(waiting, cards)
    jobs = min(jobs, len(waiting))
    each = threads or (1 if where == "ray" else max(1, cores() // jobs))
    workers: Workers = LocalWorkers()
    if where == "ray":
        workers = RayWorkers(each, 0 if device in ("auto", "cpu") else 1)
    noun = "run" if len(waiting) == 1 else "runs"
    typer.echo(f"{len(waiting)} {noun} in {folder.path}, {jobs} at once", err=True)
    with (
        closing(workers),
        closing(sweep_screen(folder, len(waiting), metric)) as screen,
    ):
        return run_all(waiting, folder, workers, _commands(folder, each, cards), jobs, screen)


def _commands(
    folder: SweepFolder, threads: int, cards: Sequence[str]
) -> Callable[[Combination, int], tuple[Sequence[str], Mapping[str, str]]]:
    """What starts a run, by its slot."""

    def command(one: Combination, slot: int) -> tuple[Sequence[str], Mapping[str, str]]:
        words = [sys.executable, "-m", "jumok", "train", str(folder.recipe(one.name).resolve())]
        words += ["--runs", str(folder.runs.resolve()), "--json"]
        words += ["--resume"] if folder.has_begun(one.name) else []
        variables = {"JUMOK_THREADS": str(threads)}
        if cards:
            variables["CUDA_VISIBLE_DEVICES"] = cards[slot % len(cards)]
        return words, variables

    return command


def _say_results(
    wanted: Sequence[Combination], folder: SweepFolder, figure: str, as_json: bool
) -> None:
    """Prints and writes what the finished runs have reached."""
    results: list[RunResult] = [
        result_of(each, folder) for each in wanted if folder.is_finished(each.name)
    ]
    metric = wanted[0].config.validation.metric
    groups = groups_of(results, metric)
    if as_json:
        typer.echo(json.dumps(as_object(results, groups, metric), ensure_ascii=False))
    if not groups:
        return
    if not as_json:
        console().print(table_of(groups, metric))
    files = write_results(folder, results, groups, metric)
    missing = ""
    if figure != "none":
        figures, missing = write_figures(folder, results, groups, metric, figure)
        files += figures
    typer.echo("\n".join(map(str, files)), err=True)
    if missing:
        typer.echo(f"note: {missing}", err=True)


def _say_end(ended: Ended, folder: SweepFolder) -> None:
    """Names what failed or is left; the exit code is 1, or 128 + the signal."""
    for failure in ended.failures:
        typer.echo(f"failed: {failure.name} ({ended_by(failure.code)}): {failure.log}", err=True)
    if ended.failures or ended.signal is not None:
        words = [word for word in sys.argv[1:] if word != "--resume"]
        left = f"{ended.left} runs are left. " if ended.left else ""
        again = shlex.join(["jumok", *words, "--resume"])
        typer.echo(f"{left}{folder.path} has everything. Continue with:\n  {again}", err=True)
    if ended.signal is not None:
        raise typer.Exit(128 + ended.signal)
    if ended.failures:
        raise typer.Exit(1)
