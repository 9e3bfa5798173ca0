"""`jumok train`: a recipe, or two text files, to a model."""

import os
import shlex
import sys
import tomllib
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.config import Config
    from jumok.training.run import Result

Recipe = Annotated[
    Path | None, typer.Argument(help="A recipe (TOML); or give --source and --target.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a key of the recipe: training.steps=2000. Repeatable."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint.")]
Source = Annotated[
    Path | None, typer.Option(help="Sentences, one a line (also .gz, .zst), without a recipe.")
]
Target = Annotated[Path | None, typer.Option(help="Their translations, line by line.")]
Name = Annotated[str | None, typer.Option(help="The run's name; else the recipe's.")]
Runs = Annotated[Path, typer.Option(help="The folder of all runs.")]


def train(
    recipe: Recipe = None,
    source: Source = None,
    target: Target = None,
    name: Name = None,
    runs: Runs = Path("runs"),
    changes: Set = None,
    resume: Resume = False,
) -> None:
    """Train a model. The best one becomes the bundle runs/NAME/model.

      jumok train recipes/smallworld-en-ko.toml

      jumok train --source a.en --target a.ko

    Without a recipe one is made to the size of the corpus and kept in
    runs/NAME/recipe.toml, to be read, changed and trained from.
    """
    from jumok.config import load_config
    from jumok.training.lock import refuse_several_processes
    from jumok.training.run import train as train_run
    from jumok.training.screen import screen

    refuse_several_processes(os.environ)
    overrides = [*(changes or []), *([f'name="{name}"'] if name else [])]
    if recipe is not None and source is None and target is None:
        config = load_config(recipe, overrides, os.environ)
    elif recipe is None and source is not None and target is not None:
        config = make_recipe(source, target, name, runs, overrides, resume)
    else:
        raise ConfigError(
            "give a recipe, or the two text files to train on.",
            do="jumok train recipes/smallworld-en-ko.toml, "
            "or jumok train --source a.en --target a.ko",
        )
    with closing(screen()) as live:
        result = train_run(config, runs, live, resume=resume)
    say_result(result)


def make_recipe(
    source: Path, target: Path, name: str | None, runs: Path, overrides: list[str], resume: bool
) -> "Config":
    """The recipe sized to the corpus; a new run prints it."""
    from jumok.config import parse_config
    from jumok.training import folder
    from jumok.training.defaults import recipe_for

    name = name or source.name.split(".")[0]
    text = recipe_for(source, target, name)
    config = parse_config(tomllib.loads(text), overrides)
    if not resume:
        folder.refuse_taken(runs / name)
        typer.echo(text, err=True)
    return config


def say_result(result: "Result") -> None:
    """What came out, and what to do next; an interrupted run leaves with 128 + its signal."""
    progress = result.progress
    if result.outcome.signal is not None:
        typer.echo(
            f"\nstopped at step {progress.step:,}; everything is saved. Go on with:", err=True
        )
        typer.echo(f"  {resumed()}", err=True)
        raise typer.Exit(128 + result.outcome.signal)
    minutes = progress.seconds / 60.0
    typer.echo(
        f"{result.outcome.reason} after {progress.step:,} steps and {minutes:.1f} minutes; "
        f"best at step {progress.best_step:,}"
    )
    if progress.untrained is not None:
        say_untrained(progress.untrained, result.config)
    if result.model is not None:
        model = shlex.quote(str(result.model))
        typer.echo(f"\n  {use_of(result.model).format(model)}\n  jumok info {model}")


def say_untrained(reason: str, config: "Config") -> None:
    """Calls a model that has learnt nothing so, and says what to do."""
    training = config.training
    longer = (
        f"training.minutes={training.minutes * 5:g}"
        if training.minutes is not None
        else f"training.steps={training.steps * 5}"
    )
    typer.echo(
        f"\nThis model has learnt next to nothing: {reason}.\n"
        f"  do: train longer: {resumed('--set', longer)}\n"
        "      If that does not help, check that the data fits together (each line and its "
        "translation,\n      each thing and its label), or start anew with another "
        "training.learning_rate.",
        err=True,
    )


def resumed(*further: str) -> str:
    """The command that goes on with this run."""
    again = [word for word in sys.argv[1:] if word != "--resume"]
    return shlex.join(["jumok", *again, *further, "--resume"])


def use_of(model: Path) -> str:
    """How to try a bundle out, with {} for its folder."""
    from jumok.systems.catalog import system_of

    verb = system_of(model).verb
    if verb == "translate":
        return 'echo "..." | jumok translate {}'
    if verb == "fill":
        return 'echo "... ___ ..." | jumok fill {}'
    return 'jumok generate {} "..."' if verb == "generate" else f"jumok {verb} {{}} ..."
