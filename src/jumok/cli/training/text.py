"""`jumok train --text`: a language model of plain text, without a recipe."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

import typer

from jumok.config import Config, parse_config
from jumok.data.files.formats import bare_name
from jumok.data.texts.corpus import Rule
from jumok.training import folder
from jumok.training.defaults.texts import recipe_for_text


def make_text_recipe(
    files: Sequence[Path],
    rule: Rule,
    name: str | None,
    runs: Path,
    overrides: list[str],
    resume: bool,
) -> Config:
    """The config of a recipe that fits the length of the text; a new run prints the recipe.

    Args:
        rule: what a document is.
        name: of the run; None: the first file's name without its suffixes.

    Raises:
        DataError: a file cannot be read, or the text is too short.
        ConfigError: an override is wrong, or a run of this name exists already.
    """
    name = name or bare_name(files[0]).split(".")[0]
    text = recipe_for_text(files, name, rule)
    config = parse_config(tomllib.loads(text), overrides)
    if not resume:
        folder.refuse_taken(runs / name)
        typer.echo(text, err=True)
    return config
