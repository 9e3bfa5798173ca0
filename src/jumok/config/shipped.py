"""The recipes that come with jumok, by their names.

They lie in the installed package, or in the checkout that the package was installed from.
"""

import difflib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumok.errors import ConfigError, Place

SUFFIX = ".toml"


@dataclass(frozen=True)
class Needs:
    """What a recipe reads from outside of jumok.

    Attributes:
        data: folders in $JUMOK_DATA; none where the corpus is built in.
        runs: runs that have to be trained before.
    """

    data: tuple[str, ...]
    runs: tuple[str, ...]


def recipes_folder() -> Path:
    """Where the recipes are."""
    package = Path(__file__).parents[1]
    places = [package / "recipes", package.parents[1] / "recipes"]
    return next((place for place in places if place.is_dir()), places[0])


def recipe_names() -> list[str]:
    """The names of all recipes that come with jumok, in alphabetical order."""
    return sorted(each.stem for each in recipes_folder().glob(f"*{SUFFIX}"))


def find_recipe(given: Path) -> Path:
    """The file that is meant: the file of this path, else the recipe of this name.

    Raises:
        ConfigError: there is neither; the nearest is named.
    """
    if os.path.isfile(given):  # as Path.is_file, but False of a name that no file can have
        return given
    name = given.name.removesuffix(SUFFIX)
    bare = given.parent == Path()
    if bare and name in recipe_names():
        return recipes_folder() / f"{name}{SUFFIX}"
    raise ConfigError("there is no such recipe.", place=Place(given), do=_advice(given, bare))


def shipped_recipe(name: str) -> Path:
    """The file of the recipe of this name.

    Raises:
        ConfigError: there is none; the nearest is named.
    """
    plain = name.removesuffix(SUFFIX)
    if plain in recipe_names():
        return recipes_folder() / f"{plain}{SUFFIX}"
    raise ConfigError(
        "no recipe of this name comes with jumok.", got=name, do=_nearest(plain) or LIST
    )


LIST = "jumok recipes lists those that come with jumok; a file of yours needs its path"


def _advice(given: Path, bare: bool) -> str:
    """What to do, where there is neither a file nor a recipe: the nearest of both kinds."""
    beside = os.listdir(given.parent) if os.path.isdir(given.parent) else []
    files = [each for each in beside if each.endswith(SUFFIX) and each != given.name]
    if near := difflib.get_close_matches(given.name, files, n=1):
        return f"did you mean {given.parent / near[0]}?"
    name = given.name.removesuffix(SUFFIX)
    if not bare and name in recipe_names():
        return f"the recipe that comes with jumok is called by its name: jumok train {name}"
    return _nearest(name) or LIST


def _nearest(name: str) -> str | None:
    near = difflib.get_close_matches(name, recipe_names(), n=1)
    return f"did you mean {near[0]}? {LIST}" if near else None


def needs_of(values: Any) -> Needs:
    """What a recipe's values name in $JUMOK_DATA and $JUMOK_RUNS."""
    data: dict[str, None] = {}
    runs: dict[str, None] = {}

    def search(value: Any) -> None:
        if isinstance(value, dict):
            for each in value.values():
                search(each)
        elif isinstance(value, list):
            for each in value:
                search(each)
        elif isinstance(value, str):
            for start, found in (("$JUMOK_DATA/", data), ("$JUMOK_RUNS/", runs)):
                if value.startswith(start):
                    found[value.removeprefix(start).partition("/")[0]] = None

    search(values)
    return Needs(tuple(data), tuple(runs))


def summary_of(text: str) -> str:
    """What a recipe is, from the first comment of its file: up to the end of its first sentence."""
    head: list[str] = []
    for line in text.splitlines():
        if not line.startswith("# "):
            break
        head.append(line.removeprefix("# "))
    text = re.sub(r"recipes/([\w-]+)\.toml", r"\1", " ".join(head))
    return re.split(r"\.(?= [A-Z]|$)", text)[0]  # "et al. 2015" ends no sentence
