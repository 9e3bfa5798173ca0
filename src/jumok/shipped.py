"""The recipes that come with jumok, by name.

They are in the installed package, or in the checkout that it was installed from.
"""

import difflib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from jumok.errors import ConfigError, Location

RECIPE_SUFFIX = ".toml"


@dataclass(frozen=True)
class RecipeNeeds:
    """The data and runs that a recipe needs.

    Attributes:
        data: folders in $JUMOK_DATA; none if the corpus is built in.
        runs: runs that have to be trained before.
    """

    data: tuple[str, ...]
    runs: tuple[str, ...]


def recipes_folder() -> Path:
    """The folder of the recipes."""
    package = Path(__file__).parent
    places = [package / "recipes", package.parents[1] / "recipes"]
    return next((place for place in places if place.is_dir()), places[0])


def recipe_names() -> list[str]:
    """The names of all recipes that come with jumok, in alphabetical order."""
    return sorted(each.stem for each in recipes_folder().glob(f"*{RECIPE_SUFFIX}"))


def find_recipe(given: Path) -> Path:
    """The file of this path, or the shipped recipe of this name.

    Raises:
        ConfigError: there is neither; the text names the nearest.
    """
    if os.path.isfile(given):  # as Path.is_file, but False for an invalid name
        return given
    name = given.name.removesuffix(RECIPE_SUFFIX)
    bare = given.parent == Path()
    if bare and name in recipe_names():
        return recipes_folder() / f"{name}{RECIPE_SUFFIX}"
    raise ConfigError("there is no such recipe.", place=Location(given), do=_advice(given, bare))


def shipped_recipe(name: str) -> Path:
    """The file of the recipe of this name.

    Raises:
        ConfigError: there is none; the text names the nearest.
    """
    plain = name.removesuffix(RECIPE_SUFFIX)
    if plain in recipe_names():
        return recipes_folder() / f"{plain}{RECIPE_SUFFIX}"
    raise ConfigError(
        "no recipe of this name comes with jumok.", got=name, do=_nearest(plain) or LIST
    )


LIST = "jumok recipes lists those that come with jumok; a file of yours needs its path"


def _advice(given: Path, bare: bool) -> str:
    """The advice if there is neither a file nor a recipe: the nearest of both kinds."""
    beside = os.listdir(given.parent) if os.path.isdir(given.parent) else []
    files = [each for each in beside if each.endswith(RECIPE_SUFFIX) and each != given.name]
    if near := difflib.get_close_matches(given.name, files, n=1):
        return f"did you mean {given.parent / near[0]}?"
    name = given.name.removesuffix(RECIPE_SUFFIX)
    if not bare and name in recipe_names():
        return f"recipes that come with jumok are called by name: jumok train {name}"
    return _nearest(name) or LIST


def _nearest(name: str) -> str | None:
    near = difflib.get_close_matches(name, recipe_names(), n=1)
    return f"did you mean {near[0]}? {LIST}" if near else None


def needs_of(values: object) -> RecipeNeeds:
    """The folders in $JUMOK_DATA and $JUMOK_RUNS that a recipe's values name."""
    data: dict[str, None] = {}
    runs: dict[str, None] = {}

    def search(value: object) -> None:
        if isinstance(value, dict):
            for each in value.values():
                search(each)
        elif isinstance(value, list):
            for each in value:
                search(each)
        elif isinstance(value, str):
            for start, names in (("$JUMOK_DATA/", data), ("$JUMOK_RUNS/", runs)):
                if value.startswith(start):
                    names[value.removeprefix(start).partition("/")[0]] = None

    search(values)
    return RecipeNeeds(tuple(data), tuple(runs))


def summary_of(text: str) -> str:
    """The summary of a recipe: the first sentence of its first comment."""
    head: list[str] = []
    for line in text.splitlines():
        if not line.startswith("# "):
            break
        head.append(line.removeprefix("# "))
    text = re.sub(r"recipes/([\w-]+)\.toml", r"\1", " ".join(head))
    return re.split(r"\.(?= [A-Z]|$)", text)[0]  # "et al. 2015" does not end a sentence
