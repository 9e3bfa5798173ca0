"""`jumok prepare`: a cleaned corpus of pairs as shards of token ids."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from jumok.errors import ConfigError, Location, optional_import

if TYPE_CHECKING:
    from jumok.training.preparing.shards.plan import CorpusPlan


def prepare(
    recipe: Annotated[
        Path,
        typer.Argument(
            help="Recipe of a translator: a TOML file, or a name listed by `jumok recipes`."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Folder of the shards: a new one, or the folder of an interrupted command.",
        ),
    ],
    workers: Annotated[
        Literal["local", "slurm", "ray"], typer.Option(help="Where to run the tasks.")
    ] = "local",
    tasks: Annotated[
        int | None,
        typer.Option(min=1, max=100_000, help="Number of tasks per stage (default: --at-once)."),
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100_000,
            help="Number of tasks that run at the same time (default: the number of cores).",
        ),
    ] = None,
    shard_pairs: Annotated[
        int, typer.Option(min=1, help="Sentence pairs per shard, before cleaning.")
    ] = 500_000,
    slurm: Annotated[
        list[str] | None,
        typer.Option(
            "--slurm",
            help="Slurm setting as KEY=VALUE: partition, time, mem_per_cpu_gb, qos, ... "
            "Repeatable.",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Change a key of the recipe, such as data.clean=false. Repeatable."
        ),
    ] = None,
) -> None:
    """Clean a large corpus and write it as shards of token ids.

    Reads the corpora of the recipe, removes the pairs that the filters of
    data.clean find (without this key: all filters), and trains the tokenizer.
    Writes the shards with a manifest, and cleaning.json with the counts and
    examples of each filter. Run the same command again to continue after an
    interruption.

      jumok prepare recipe.toml --output prepared

      jumok prepare recipe.toml --output prepared --tasks 64 --at-once 8

      jumok prepare recipe.toml --output prepared --workers slurm --tasks 200
        --slurm partition=cpu --slurm time=04:00:00

      jumok prepare recipe.toml --output prepared --workers ray --tasks 200
    """
    given = _slurm(slurm or (), workers)
    from jumok.environment import threads
    from jumok.systems.device import cores

    count = at_once or threads() or cores()
    plan = plan_of(recipe, changes or (), output, tasks or count, shard_pairs)
    with optional_import("preparing a corpus in tasks", extra="prepare"):
        from jumok.training.preparing.shards.workers import run

    def report(line: str) -> None:
        typer.echo(line, err=True)

    if not run(plan, workers, min(count, plan.tasks), given, report):
        typer.echo(f"submitted; squeue shows the jobs, and {plan.work / 'logs'} has their logs")
        return
    _print_shards(plan)


def plan_of(
    recipe: Path, changes: Sequence[str], output: Path, tasks: int, shard_pairs: int
) -> "CorpusPlan":
    """What is prepared, and where to.

    Raises:
        ConfigError: it is no recipe for translation, or has no corpora.
    """
    from jumok.training.start import load

    config = load(recipe, changes, {**os.environ})
    from jumok.config import TranslationConfig, data

    if not isinstance(config, TranslationConfig) or not config.data.train:
        raise ConfigError(
            "only corpora of pairs are prepared.",
            expected="a recipe for translation with [[data.train]]",
            got=f"model.kind = {config.model.kind!r}",
            do="jumok train prepares all other data by itself",
        )
    clean, notes = config.data.clean, list[str]()
    if clean is None and "clean" not in config.data.model_fields_set:
        clean = data.CleanConfig()
    if clean is not None:
        languages = config.data.source_language, config.data.target_language
        from jumok.data.pairs.cleaning.filters import usable

        clean, notes = usable(clean, languages)
    from jumok.training.preparing.shards.plan import CorpusPlan

    return CorpusPlan(config, output.absolute(), tasks, shard_pairs, clean, tuple(notes))


def _print_shards(plan: "CorpusPlan") -> None:
    from jumok.training.folder import CLEANING

    stored = json.loads((plan.folder / CLEANING).read_text("utf-8"))
    from jumok.data.pairs.cleaning.findings import CleaningReport

    for report in map(CleaningReport.from_json, stored):
        typer.echo("\n".join(report.lines()) or f"{report.name}: {report.read:,} pairs")
    from jumok.data.files.manifest import MANIFEST, parse_manifest

    file = plan.folder / MANIFEST
    written = parse_manifest(file.read_bytes(), Location(file))
    typer.echo(f"{file}: {written.pairs:,} pairs in {len(written.shards)} shards")


def _slurm(given: Sequence[str], workers: str) -> dict[str, str]:
    if given and workers != "slurm":
        raise ConfigError("--slurm needs --workers slurm.", got=f"--workers {workers}")
    values = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not key or not equals:
            raise ConfigError("--slurm has the form key=value.", got=each)
        values[key] = value
    return values
