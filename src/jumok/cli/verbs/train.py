"""`jumok train`: trains a model from a recipe, or on files without a recipe."""

import json
import os
import shlex
import sys
import tomllib
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from jumok.cli.columns import named_columns, pairs_of
from jumok.cli.machine import say_what_is_missing
from jumok.cli.options import DATA, SKIP_DAMAGED, TO
from jumok.cli.training.processes import Processes, in_processes, ranks_of, to_start
from jumok.cli.training.start import FROM, MIX, is_text, model_and_language, start_overrides
from jumok.errors import ConfigError
from jumok.options import option
from jumok.plugins import digests_of
from jumok.shipped import recipe_names

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
Runs = Annotated[Path, typer.Option(help="Folder of all runs.", envvar="JUMOK_RUNS")]

AsJson = Annotated[
    bool, typer.Option("--json", help="Print the result as one JSON object on the last line.")
]


@dataclass(frozen=True)
class TrainingFiles:
    """What is trained on, where no recipe says it."""

    source: Path | None = option(
        None, "Train without a recipe: sentences, one per line (.gz, .zst too)."
    )
    target: Path | None = option(None, "Their translations, line-aligned.")
    data: Path | None = option(None, DATA, "--data", "-d")
    from_: list[str] | None = option(None, FROM)
    to: str | None = option(None, TO)
    columns: str | None = option(
        None,
        "In --data: columns of the text and of its translation (default: those of --from and --to, "
        "or 0,1).",
    )
    text: list[Path] | None = option(
        None,
        "Train a language model without a recipe: plain text (.gz, .zst too). Repeatable.",
    )
    documents: Literal["file", "line", "blank-line"] | None = option(
        None,
        "A document of --text: a whole file, a line, or the lines between two blank ones (default: "
        "file).",
    )
    mix: float | None = option(None, MIX)
    skip_damaged: bool = option(False, SKIP_DAMAGED)

    @property
    def pair(self) -> tuple[Path | None, Path | None, Path | None]:
        """The files of pairs."""
        return self.source, self.target, self.data

    def check(self, recipe: Path | None) -> None:
        """Raises ConfigError unless there is either a recipe or one kind of files."""
        if self.documents is not None and not self.text:
            raise ConfigError("--documents needs --text.", do="a recipe has the key data.documents")
        ways = [
            *(recipe is not None, self.source is not None, self.data is not None, bool(self.text)),
        ]
        if sum(ways) != 1 or (self.source is None) != (self.target is None):
            raise ConfigError(
                "give a recipe, or the files to train on.",
                do="jumok train smallworld-en-ko, or jumok train --source a.en --target a.ko, "
                "or jumok train --data a.tmx --from en --to ko, or jumok train --text book.txt",
            )


@dataclass(frozen=True)
class RunArgs:
    """The run."""

    name: str | None = option(None, "Name of the run (default: the recipe's).")
    changes: list[str] | None = option(
        None, "Change a key of the recipe: training.steps=2000. Repeatable.", "--set"
    )
    resume: bool = option(False, "Resume from the last checkpoint.")


def train(
    recipe: Recipe = None,
    runs: Runs = Path("runs"),
    processes: Processes = 1,
    as_json: AsJson = False,
    *,
    files: Annotated[TrainingFiles, TrainingFiles()],
    asked: Annotated[RunArgs, RunArgs()],
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
    model, language = model_and_language(files.from_ or (), files.data is not None)
    overrides = [*(asked.changes or []), *([f'name="{asked.name}"'] if asked.name else [])]
    overrides += ["data.skip_damaged=true"] if files.skip_damaged else []
    overrides += start_overrides(model, files.mix)
    files.check(recipe)
    with ranks_of(os.environ) as ranks:
        config = _config(recipe, files, asked, runs, overrides, (model, language))
        say_what_is_missing()
        from jumok.training.screen import screen

        with closing(screen()) as live:
            from jumok.training import run

            result = run.train(config, runs, live, resume=asked.resume, ranks=ranks)
        say_result(result, as_json)


def _config(
    recipe: Path | None,
    files: TrainingFiles,
    asked: RunArgs,
    runs: Path,
    overrides: list[str],
    started: tuple[Path | None, str | None],
) -> "Config":
    """The config of the run.

    Args:
        started: the model that is trained further, and the language of the source.
    """
    model, language = started
    columns, to, name, resume = files.columns, files.to, asked.name, asked.resume
    if model is not None and (recipe is None or is_folder(recipe) or is_text(recipe)):
        from jumok.cli.training.further import Files, further_config

        given = Files(
            recipe, *files.pair, tuple(files.text or ()), files.documents, columns, language, to
        )
        return further_config(given, model, name, runs, overrides, resume)
    if files.text:
        _check_text_alone(columns, language, to, files.skip_damaged)
        from jumok.cli.training.text import make_text_recipe

        return make_text_recipe(
            files.text, files.documents or "file", name, runs, overrides, resume
        )
    if recipe is not None:
        named_columns(None, columns, language, to)  # a recipe names its columns itself
        return read_config(recipe, name, runs, overrides, resume)
    named = _columns(files.data, columns, language, to)
    corpus = replace(pairs_of(*files.pair, named), skip_damaged=files.skip_damaged)
    return make_recipe(corpus, (language, to), name, runs, overrides, resume)


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
    from jumok.training.start import load

    return load(recipe, overrides, variables, runs=runs if resume else None)


def refuse_data(recipe: Path) -> None:
    """Refuses a corpus or a document, which is no recipe."""
    if recipe.suffix not in (".toml", ".json") and recipe.is_file():
        from jumok.data.files.formats import kind_of, refusal
        from jumok.data.files.reading import first_bytes, open_bytes

        with open_bytes(recipe) as stream:
            kind = kind_of(recipe, first_bytes(stream))
        if kind is not None:
            raise refusal(recipe, kind, "a recipe")


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
    from jumok.training.defaults.pairs import recipe_for

    text = recipe_for(corpus, name, languages)
    from jumok.config import parse_config

    config = parse_config(tomllib.loads(text), overrides)
    if not resume:
        from jumok.training.folder import refuse_taken

        refuse_taken(runs / name)
        typer.echo(text, err=True)
    return config


def is_folder(recipe: Path) -> bool:
    """Whether a folder is meant; a recipe's name takes precedence."""
    return recipe.is_dir() and not (recipe.parent == Path() and recipe.name in recipe_names())


def make_picture_recipe(folder: Path, name: str | None, overrides: list[str]) -> "Config":
    """The config of a printed recipe for a folder of images."""
    from jumok.training.defaults.pictures import read_folder, recipe_for_pictures

    images = read_folder(folder)
    text = recipe_for_pictures(folder, images, name or folder.resolve().name)
    typer.echo(text, err=True)
    if images.empty:
        typer.echo(
            f"folders without images, whose labels are not learnt: {', '.join(images.empty)}",
            err=True,
        )
    from jumok.config import parse_config

    return parse_config(tomllib.loads(text), overrides)


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
            say_untrained(progress.untrained, result.config, result.outcome.limit)
        return
    limit = f" ({result.outcome.limit})" if result.outcome.limit else ""
    typer.echo(
        f"{result.outcome.reason} after {progress.step:,} steps and {minutes:.1f} minutes{limit}; "
        f"best at step {progress.best_step:,}"
    )
    from jumok.cli.training.further import gain_lines, gains_of

    typer.echo(
        "".join(f"{line}\n" for line in gain_lines(gains_of(result))),
        nl=False,
    )
    if progress.untrained is not None:
        say_untrained(progress.untrained, result.config, result.outcome.limit)
    if result.model is not None:
        model = shlex.quote(str(result.model))
        program = shlex.join(["jumok", *plugins_of(result.config)])
        from jumok.cli.way_in import look_of, use_of

        use, look = (form(result.model, model, program=program) for form in (use_of, look_of))
        lines = dict.fromkeys((use, look, f"{program} info {model}"))
        typer.echo("".join(f"\n  {line}" for line in lines))


def plugins_of(config: "Config") -> list[str]:
    """The options that load what a model of this recipe needs."""
    needed = digests_of(config.plugins)
    return [
        word for file in config.plugins if file.name in needed for word in ("--plugin", str(file))
    ]


def say_untrained(reason: str, config: "Config", limit: str) -> None:
    """Reports that a model has learnt next to nothing, and what to do."""
    training = config.training
    longer = (
        f"training.minutes={training.minutes * 5:g}"
        if limit == "training.minutes" and training.minutes is not None
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
    from jumok.bundle.reading import read_bundle

    scores = read_bundle(result.model).card.scores if result.model else ()
    from jumok.cli.training.further import gains_of

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
        "gains": [asdict(gain) for gain in gains_of(result)],
    }
