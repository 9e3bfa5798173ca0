"""`jumok recipes`: lists, shows and copies built-in recipes."""

import shlex
import tomllib
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from jumok.cli.output.streams import open_output
from jumok.cli.screen import console
from jumok.errors import ConfigError, DataError, Location
from jumok.shipped import (
    RecipeNeeds,
    needs_of,
    recipe_names,
    recipes_folder,
    shipped_recipe,
    summary_of,
)

HELP = """List the recipes that come with jumok, show one, or copy it.

A recipe is a text file that describes a run: model, data and training. Its
comments explain every key. `jumok train` accepts its name; a file of the
same name takes precedence.

  jumok recipes

  jumok recipes show smallworld-en-ko

  jumok recipes copy smallworld-en-ko

  jumok train smallworld-en-ko
"""

recipes = typer.Typer(help=HELP, invoke_without_command=True, rich_markup_mode="rich")


def _names_begun(incomplete: str) -> list[str]:
    return [name for name in recipe_names() if name.startswith(incomplete)]


RecipeName = Annotated[
    str,
    typer.Argument(
        help="Name of a recipe, from the list of `jumok recipes`.", autocompletion=_names_begun
    ),
]


@recipes.callback()
def list_recipes(context: typer.Context) -> None:
    """Prints the list if no command follows."""
    if context.invoked_subcommand is None:
        console().print(_recipe_table())


def _recipe_table() -> Table:
    grid = Table(box=None, padding=(0, 2, 0, 0))
    grid.add_column("recipe", style="bold", no_wrap=True)
    grid.add_column("needs", no_wrap=True)
    grid.add_column("what it trains")
    for name in recipe_names():
        text = shipped_recipe(name).read_text("utf-8")
        grid.add_row(name, _needs_words(needs_of(tomllib.loads(text))), summary_of(text))
    return grid


def _needs_words(needs: RecipeNeeds) -> str:
    data = [f"$JUMOK_DATA/{folder}" for folder in needs.data]
    return ", ".join([*data, *(f"the run {run}" for run in needs.runs)]) or "nothing"


@recipes.command("show")
def show_recipe(name: RecipeName) -> None:
    """Print a recipe; its comments explain every key.

    jumok recipes show multi30k-en-de
    """
    with open_output(None) as stream:
        stream.write(shipped_recipe(name).read_text("utf-8"))


@recipes.command("copy")
def copy_recipe(
    name: RecipeName,
    folder: Annotated[Path, typer.Argument(help="Folder for the copy.")] = Path(),
) -> None:
    """Copy a recipe into a folder to edit it and train from it.

    jumok recipes copy multi30k-en-de
    """
    file = shipped_recipe(name)
    target = folder / file.name
    if target.resolve() == (recipes_folder() / file.name).resolve():
        raise ConfigError(
            "this folder holds jumok's own recipes.",
            place=Location(folder),
            do="name another folder",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8") as stream:
            stream.write(file.read_text("utf-8"))
    except FileExistsError:
        raise ConfigError(
            "a file of this name exists already.",
            place=Location(target),
            do="name another folder, or move that file away",
        ) from None
    except OSError as error:
        raise DataError(
            "the recipe cannot be written.", got=str(error.strerror), place=Location(target)
        ) from error
    typer.echo(f"{target}\n\n  jumok train {shlex.quote(str(target))}")
