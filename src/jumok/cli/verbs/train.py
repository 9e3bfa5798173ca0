"""`jumok train`: trains a model from a recipe, or on files without a recipe."""

import json
import os
import shlex
import sys
import tomllib
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from jumok.cli import options as option
from jumok.cli.columns import named_columns, pairs_of
from jumok.cli.machine import say_what_is_missing
from jumok.cli.training.processes import Processes, in_processes, ranks_of, to_start
from jumok.cli.training.start import From, Mix, is_text, model_and_language, start_overrides
from jumok.errors import ConfigError
from jumok.late import late_imports
from jumok.plugins import digests_of
from jumok.shipped import recipe_names

with late_imports():
    from jumok import config as jumok_config
    from jumok.bundle import reading as bundle_reading
    from jumok.cli import way_in
    from jumok.cli.training import further as train_further
    from jumok.cli.training import text as train_text
    from jumok.data.files import formats, reading
    from jumok.training import folder, run, start
    from jumok.training import screen as training_screen
    from jumok.training.defaults import pairs, pictures

if TYPE_CHECKING:
    from jumok.config import Config
    from jumok.data.pairs.corpus import Corpus
    from jumok.training.run import Result

Recipe = Annotated[
    Path | None,
    typer.Argument(
        help="A recipe: its file (TOML), or its name in `jumok recipes`; or a folder of images "
        "with one subfolder per label; with --from MODEL also a text. Without a recipe, give "
        "--source and --target, --data, or --text."
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a key of the recipe: training.steps=2000. Repeatable."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Resume from the last checkpoint.")]
Source = Annotated[
    Path | None,
    typer.Option(help="Train without a recipe: sentences, one per line (.gz, .zst too)."),
]
Target = Annotated[Path | None, typer.Option(help="Their translations, line-aligned.")]
Text = Annotated[
    list[Path] | None,
    typer.Option(
        help="Train a language model without a recipe: plain text (.gz, .zst too). Repeatable."
    ),
]
Documents = Annotated[
    Literal["file", "line", "blank-line"] | None,
    typer.Option(
        help="A document of --text: a whole file, a line, or the lines between two blank ones "
        "(default: file)."
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="In --data: columns of the text and of its translation (default: those of --from and "
        "--to, or 0,1)."
    ),
]
Name = Annotated[str | None, typer.Option(help="Name of the run (default: the recipe's).")]
Runs = Annotated[Path, typer.Option(help="Folder of all runs.", envvar="JUMOK_RUNS")]

AsJson = Annotated[
    bool, typer.Option("--json", help="Print the result as one JSON object on the last line.")
]


def train(
    recipe: Recipe = None,
    source: Source = None,
    target: Target = None,
    data: option.Pairs = None,
    from_: From = None,
    to: option.To = None,
    columns: Columns = None,
    text: Text = None,
    documents: Documents = None,
    mix: Mix = None,
    skip_damaged: option.SkipDamaged = False,
    name: Name = None,
    runs: Runs = Path("runs"),
    changes: Set = None,
    resume: Resume = False,
    processes: Processes = 1,
    as_json: AsJson = False,
) -> None:
    """Train a model; the best one becomes the bundle runs/NAME/model.

    The best one is that with the best validation score.

    Without a recipe, one that fits the size of the corpus is made and saved
    as runs/NAME/recipe.toml, which you can edit and train from.

      jumok train smallworld-en-ko

      jumok train --source a.en --target a.ko

      jumok train --data memory.tmx --from en --to ko

      jumok train --text book.txt

      jumok train photos

      jumok train --from runs/a/model --source b.en --target b.ko
    """
    if to_start(processes, os.environ):
        raise typer.Exit(in_processes(processes, sys.argv[1:], os.environ))
    overrides = [*(changes or []), *([f'name="{name}"'] if name else [])]
    overrides += ["data.skip_damaged=true"] if skip_damaged else []
    files = (source, target, data)
    model, language = model_and_language(from_ or (), data is not None)
    overrides += start_overrides(model, mix)
    if documents is not None and not text:
        raise ConfigError("--documents needs --text.", do="a recipe has the key data.documents")
    files = (source, target, data)
    ways = [recipe is not None, source is not None, data is not None, bool(text)]
    if sum(ways) != 1 or (source is None) != (target is None):
        raise ConfigError(
            "give a recipe, or the files to train on.",
            do="jumok train smallworld-en-ko, or jumok train --source a.en --target a.ko, "
            "or jumok train --data a.tmx --from en --to ko, or jumok train --text book.txt",
        )
    bare = recipe is None or is_folder(recipe) or is_text(recipe)
    with ranks_of(os.environ) as ranks:
        if model is not None and bare:
            given = train_further.Files(
                recipe, *files, tuple(text or ()), documents, columns, language, to
            )
            config = train_further.further_config(given, model, name, runs, overrides, resume)
        elif text:
            _check_text_alone(columns, language, to, skip_damaged)
            config = train_text.make_text_recipe(
                text, documents or "file", name, runs, overrides, resume
            )
        elif recipe is not None:
            named_columns(None, columns, language, to)  # a recipe names its columns itself
            config = read_config(recipe, name, runs, overrides, resume)
        else:
            named = _columns(data, columns, language, to)
            corpus = replace(pairs_of(*files, named), skip_damaged=skip_damaged)
            config = make_recipe(corpus, (language, to), name, runs, overrides, resume)
        say_what_is_missing()
        with closing(training_screen.screen()) as live:
            result = run.train(config, runs, live, resume=resume, ranks=ranks)
        say_result(result, as_json)


def _check_text_alone(
    columns: str | None, source: str | None, target: str | None, skip_damaged: bool
) -> None:
    """Raises ConfigError for an option that --text does not take."""
    named_columns(None, columns, source, target)
    if skip_damaged:
        raise ConfigError(
            "--skip-damaged cannot be combined with --text.",
            do="remove the damaged lines: iconv -c -t UTF-8 FILE > NEW",
        )


def read_config(
    recipe: Path, name: str | None, runs: Path, overrides: list[str], resume: bool
) -> "Config":
    """The config of a recipe, or of a folder of images."""
    if is_folder(recipe):
        return make_picture_recipe(recipe, name, overrides)
    refuse_data(recipe)
    variables = {**os.environ, "JUMOK_RUNS": str(runs)}
    return start.load(recipe, overrides, variables, runs=runs if resume else None)


def refuse_data(recipe: Path) -> None:
    """Raises an error if the file is a corpus or a document, which is no recipe."""
    if recipe.suffix not in (".toml", ".json") and recipe.is_file():
        with reading.open_bytes(recipe) as stream:
            kind = formats.kind_of(recipe, reading.first_bytes(stream))
        if kind is not None:
            raise formats.refusal(recipe, kind, "a recipe")


def _columns(data: Path | None, columns: str | None, source: str | None, target: str | None) -> str:
    """The columns of the texts in --data; with --columns, --from and --to only name languages."""
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
    """The config of a recipe that fits the size of the corpus; a new run prints the recipe."""
    name = name or corpus.files[0].name.split(".")[0]
    text = pairs.recipe_for(corpus, name, languages)
    config = jumok_config.parse_config(tomllib.loads(text), overrides)
    if not resume:
        folder.refuse_taken(runs / name)
        typer.echo(text, err=True)
    return config


def is_folder(recipe: Path) -> bool:
    """Whether a folder is meant; the name of a recipe takes precedence over a folder's."""
    return recipe.is_dir() and not (recipe.parent == Path() and recipe.name in recipe_names())


def make_picture_recipe(folder: Path, name: str | None, overrides: list[str]) -> "Config":
    """The config of a recipe for a folder of images; the recipe is printed."""
    found = pictures.read_folder(folder)
    text = pictures.recipe_for_pictures(folder, found, name or folder.resolve().name)
    typer.echo(text, err=True)
    if found.empty:
        typer.echo(
            f"folders without images, whose labels are not learnt: {', '.join(found.empty)}",
            err=True,
        )
    return jumok_config.parse_config(tomllib.loads(text), overrides)


def say_result(result: "Result", as_json: bool = False) -> None:
    """Prints the result and the next commands; an interrupted run exits with 128 + its signal."""
    progress = result.progress
    if result.outcome.signal is not None:
        typer.echo(
            f"\nstopped at step {progress.step:,}; everything is saved. Continue with:", err=True
        )
        typer.echo(f"  {resumed()}", err=True)
        raise typer.Exit(128 + result.outcome.signal)
    minutes = progress.seconds / 60.0
    if as_json:
        typer.echo(json.dumps(facts_of(result), ensure_ascii=False))
        if progress.untrained is not None:
            say_untrained(progress.untrained, result.config)
        return
    typer.echo(
        f"{result.outcome.reason} after {progress.step:,} steps and {minutes:.1f} minutes; "
        f"best at step {progress.best_step:,}"
    )
    typer.echo(
        "".join(f"{line}\n" for line in train_further.gain_lines(train_further.gains_of(result))),
        nl=False,
    )
    if progress.untrained is not None:
        say_untrained(progress.untrained, result.config)
    if result.model is not None:
        model = shlex.quote(str(result.model))
        program = shlex.join(["jumok", *plugins_of(result.config)])
        use, look = (
            form(result.model, model, program=program) for form in (way_in.use_of, way_in.look_of)
        )
        lines = dict.fromkeys((use, look, f"{program} info {model}"))
        typer.echo("".join(f"\n  {line}" for line in lines))


def plugins_of(config: "Config") -> list[str]:
    """The options that load what a model of this recipe needs."""
    needed = digests_of(config.plugins)
    return [
        word for file in config.plugins if file.name in needed for word in ("--plugin", str(file))
    ]


def say_untrained(reason: str, config: "Config") -> None:
    """Reports that a model has learnt next to nothing, and what to do."""
    training = config.training
    longer = (
        f"training.minutes={training.minutes * 5:g}"
        if training.minutes is not None
        else f"training.steps={training.steps * 5}"
    )
    typer.echo(
        f"\nThis model has learnt next to nothing: {reason}.\n"
        f"  do: train longer: {resumed('--set', longer)}\n"
        "      If that does not help, check that the data is aligned (each line with its "
        "translation,\n      each example with its label), or start again with another "
        "training.learning_rate.",
        err=True,
    )


def resumed(*further: str) -> str:
    """The command that resumes this run."""
    again = [word for word in sys.argv[1:] if word != "--resume"]
    return shlex.join(["jumok", *again, *further, "--resume"])


def facts_of(result: "Result") -> dict[str, object]:
    """The result as JSON; the scores are those of the best model."""
    scores = bundle_reading.read_bundle(result.model).card.scores if result.model else ()
    return {
        "run": str(result.folder),
        "model": str(result.model) if result.model else None,
        "outcome": result.outcome.reason,
        "steps": result.progress.step,
        "best_step": result.progress.best_step,
        "minutes": result.progress.seconds / 60.0,
        "untrained": result.progress.untrained,
        "scores": [asdict(score) for score in scores],
        "started_from": str(result.start) if result.start else None,
        "gains": [asdict(gain) for gain in train_further.gains_of(result)],
    }
