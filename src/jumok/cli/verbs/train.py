"""`jumok train`: trains a model from a recipe, or on files without a recipe."""

import json
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli.options import use_threads
from jumok.cli.screen import console, plain_table, warn_without_compiler
from jumok.cli.training.configs import RunArgs, config_of
from jumok.cli.training.files import TrainingFiles
from jumok.cli.training.processes import in_processes, ranks_of, to_start
from jumok.plugins import digests_of

if TYPE_CHECKING:
    from jumok.config import Config
    from jumok.training.preparing.forgetting import Gain
    from jumok.training.run import Result

PROCESSES = (
    "Number of training processes on this machine (1, 2, 4, ...). The result is bit-identical to "
    "that of one process if a step has at least this number of micro-batches. On several "
    "machines, start jumok train with torchrun."
)


def train(
    recipe: Annotated[
        Path | None,
        typer.Argument(
            help="Recipe: a TOML file, or a name listed by `jumok recipes`. A folder of images "
            "with one subfolder per label also works; with --from MODEL, a text file, too. "
            "Without a recipe, give --source and --target, --data, or --text."
        ),
    ] = None,
    runs: Annotated[
        Path, typer.Option(help="Folder in which each run gets a subfolder.", envvar="JUMOK_RUNS")
    ] = Path("runs"),
    processes: Annotated[int, typer.Option(min=1, max=256, help=PROCESSES)] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as one JSON object on the last line.")
    ] = False,
    *,
    files: Annotated[TrainingFiles, TrainingFiles()],
    asked: Annotated[RunArgs, RunArgs()],
) -> None:
    """Train a model and write it to the bundle runs/NAME/model.

    The bundle has the weights with the best validation score. Without a
    recipe, jumok makes one that fits the size of the corpus and saves it as
    runs/NAME/recipe.toml; you can edit it and train again.

      jumok train smallworld-en-ko

      jumok train --source a.en --target a.ko

      jumok train --data memory.tmx --from en --to ko

      jumok train --text book.txt

      jumok train photos

      jumok train --from runs/a/model --source b.en --target b.ko
    """
    use_threads(asked.threads)
    if to_start(processes, os.environ):
        raise typer.Exit(in_processes(processes, sys.argv[1:], os.environ))
    with ranks_of(os.environ) as ranks:
        config = config_of(recipe, files, asked, runs)
        warn_without_compiler()
        from jumok.training.screen import screen

        with closing(screen()) as live:
            from jumok.training import run

            result = run.train(config, runs, live, resume=asked.resume, ranks=ranks)
        _say_result(result, as_json)


def _say_result(result: "Result", as_json: bool = False) -> None:
    """Prints the result and the next commands; an interrupted run exits with 128 + its signal."""
    progress = result.progress
    if result.outcome.signal is not None:
        typer.echo(
            f"\nstopped at step {progress.step:,}; everything is saved. Continue with:", err=True
        )
        typer.echo(f"  {_resuming_command()}", err=True)
        raise typer.Exit(128 + result.outcome.signal)
    minutes = progress.seconds / 60.0
    if as_json:
        typer.echo(json.dumps(_facts_of(result), ensure_ascii=False))
        if progress.untrained is not None:
            _say_untrained(progress.untrained, result.config, result.outcome.limit)
        return
    limit = f" ({result.outcome.limit})" if result.outcome.limit else ""
    typer.echo(
        f"{result.outcome.reason} after {progress.step:,} steps and {minutes:.1f} minutes{limit}; "
        f"best at step {progress.best_step:,}"
    )
    if result.gains:
        _print_gains(result.gains)
    if progress.untrained is not None:
        _say_untrained(progress.untrained, result.config, result.outcome.limit)
    if result.model is not None:
        model = shlex.quote(str(result.model))
        program = shlex.join(["jumok", *_plugins_of(result.config)])
        from jumok.cli.way_in import look_of, use_of

        use, look = (form(result.model, model, program=program) for form in (use_of, look_of))
        lines = dict.fromkeys((use, look, f"{program} info {model}"))
        typer.echo("".join(f"\n  {line}" for line in lines))


def _plugins_of(config: "Config") -> list[str]:
    needed = digests_of(config.plugins)
    return [
        word for file in config.plugins if file.name in needed for word in ("--plugin", str(file))
    ]


def _say_untrained(reason: str, config: "Config", limit: str) -> None:
    training = config.training
    longer = (
        f"training.minutes={training.minutes * 5:g}"
        if limit == "training.minutes" and training.minutes is not None
        else f"training.steps={training.steps * 5}"
    )
    typer.echo(
        f"\nThis model has learnt next to nothing: {reason}.\n"
        f"  do: train longer: {_resuming_command('--set', longer)}\n"
        "      If that does not help, check that the data is aligned (each line with its "
        "translation,\n      each example with its label), or start again with another "
        "training.learning_rate.",
        err=True,
    )


def _resuming_command(*further: str) -> str:
    again = [word for word in sys.argv[1:] if word != "--resume"]
    return shlex.join(["jumok", *again, *further, "--resume"])


def _facts_of(result: "Result") -> dict[str, object]:
    from jumok.bundle.reading import read_bundle

    scores = read_bundle(result.model).card.scores if result.model else ()
    return {
        "run": str(result.folder),
        "model": str(result.model) if result.model else None,
        "outcome": result.outcome.reason,
        "limit": result.outcome.limit,
        "steps": result.progress.step,
        "best_step": result.progress.best_step,
        "minutes": result.progress.seconds / 60.0,
        "untrained": result.progress.untrained,
        "scores": [asdict(score) for score in scores],
        "started_from": str(result.start) if result.start else None,
        "gains": [asdict(gain) for gain in result.gains],
    }


def _print_gains(gains: "Sequence[Gain]") -> None:
    shown = plain_table("", "metric", "before", "after", "difference", left=("", "metric"))
    for one in gains:
        numbers = f"{one.before:.2f}", f"{one.after:.2f}", f"{one.difference:+.2f}"
        shown.add_row(one.data, one.score, *numbers)
    console().print(shown)
