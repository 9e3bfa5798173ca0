"""`jumok train`: a recipe, or files of translations, to a model."""

import os
import shlex
import sys
import tomllib
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli import options as option
from jumok.cli.columns import named_columns, pairs_of
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.config import Config
    from jumok.data.corpora import Corpus
    from jumok.training.run import Result

Recipe = Annotated[
    Path | None,
    typer.Argument(help="A recipe (TOML); or give --source and --target, or --data."),
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
Columns = Annotated[
    str | None,
    typer.Option(
        help="In --data: the text's column and its translation's; else those that --from and --to "
        "name, else 0,1."
    ),
]
Name = Annotated[str | None, typer.Option(help="The run's name; else the recipe's.")]
Runs = Annotated[Path, typer.Option(help="The folder of all runs.")]


def train(
    recipe: Recipe = None,
    source: Source = None,
    target: Target = None,
    data: option.Pairs = None,
    from_: option.From = None,
    to: option.To = None,
    columns: Columns = None,
    skip_damaged: option.SkipDamaged = False,
    name: Name = None,
    runs: Runs = Path("runs"),
    changes: Set = None,
    resume: Resume = False,
) -> None:
    """Train a model. The best one becomes the bundle runs/NAME/model.

      jumok train recipes/smallworld-en-ko.toml

      jumok train --source a.en --target a.ko

      jumok train --data memory.tmx --from en --to ko

    Without a recipe one is made to the size of the corpus and kept in
    runs/NAME/recipe.toml, to be read, changed and trained from.
    """
    from jumok.config import load_config
    from jumok.training.run import train as train_run
    from jumok.training.screen import screen

    overrides = [*(changes or []), *([f'name="{name}"'] if name else [])]
    overrides += ["data.skip_damaged=true"] if skip_damaged else []
    files = (source, target, data)
    if recipe is not None and files == (None, None, None):
        config = load_config(recipe, overrides, os.environ)
    elif recipe is None and (source is None) == (target is None) != (data is None):
        named = _columns(data, columns, from_, to)
        corpus = replace(pairs_of(*files, named), skip_damaged=skip_damaged)
        config = make_recipe(corpus, (from_, to), name, runs, overrides, resume)
    else:
        raise ConfigError(
            "give a recipe, or the files to train on.",
            do="jumok train recipes/smallworld-en-ko.toml, "
            "or jumok train --source a.en --target a.ko, "
            "or jumok train --data a.tmx --from en --to ko",
        )
    with closing(screen()) as live:
        result = train_run(config, runs, live, resume=resume)
    say_result(result)


def _columns(data: Path | None, columns: str | None, source: str | None, target: str | None) -> str:
    """Where in --data the texts are; beside --columns, --from and --to name languages alone."""
    named = named_columns(data, None if source and target else columns, source, target)
    return columns or named or "0,1"


def make_recipe(
    corpus: "Corpus",
    languages: tuple[str | None, str | None],
    name: str | None,
    runs: Path,
    overrides: list[str],
    resume: bool,
) -> "Config":
    """The recipe sized to the corpus; a new run prints it and keeps it in its folder."""
    from jumok.config import parse_config
    from jumok.training import folder
    from jumok.training.defaults import recipe_for

    name = name or corpus.files[0].name.split(".")[0]
    text = recipe_for(corpus, name, languages)
    config = parse_config(tomllib.loads(text), overrides)
    if not resume:
        folder.start(runs / name)
        (runs / name / "recipe.toml").write_text(text, encoding="utf-8")
        typer.echo(text, err=True)
    return config


def say_result(result: "Result") -> None:
    """What came out, and what to do next; an interrupted run leaves with 128 + its signal."""
    progress = result.progress
    if result.outcome.signal is not None:
        typer.echo(
            f"\nstopped at step {progress.step:,}; everything is saved. Go on with:", err=True
        )
        again = [word for word in sys.argv[1:] if word != "--resume"]
        typer.echo(f"  {shlex.join(['jumok', *again, '--resume'])}", err=True)
        raise typer.Exit(128 + result.outcome.signal)
    minutes = progress.seconds / 60.0
    typer.echo(
        f"{result.outcome.reason} after {progress.step:,} steps and {minutes:.1f} minutes; "
        f"best at step {progress.best_step:,}"
    )
    if result.model is not None:
        model = shlex.quote(str(result.model))
        typer.echo(f"\n  {use_of(result.model).format(model)}\n  jumok info {model}")


def use_of(model: Path) -> str:
    """How to try a bundle out, with {} for its folder."""
    from jumok.systems.catalog import system_of

    verb = system_of(model).verb
    if verb == "translate":
        return 'echo "..." | jumok translate {}'
    if verb == "fill":
        return 'echo "... ___ ..." | jumok fill {}'
    return 'jumok generate {} "..."' if verb == "generate" else f"jumok {verb} {{}} ..."
