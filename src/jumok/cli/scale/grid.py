"""The grid of a sweep: which values each key has, and the run of every combination."""

import hashlib
import itertools
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.errors import ConfigError
from jumok.late import late_imports
from jumok.shipped import find_recipe

with late_imports():
    from jumok import config as jumok_config
    from jumok.config import recipe as config_recipe
    from jumok.training import start

if TYPE_CHECKING:
    from jumok.config import Config

LONGEST_NAME = 80
MOST_RUNS = 10_000
OPENING, CLOSING, QUOTES = "[{(", "]})", "\"'"


@dataclass(frozen=True)
class Combination:
    """One run of a sweep.

    Attributes:
        name: of the run and of its folder.
        values: what the grid's keys have in this run, as they were written.
        config: its recipe.
    """

    name: str
    values: Mapping[str, str]
    config: "Config"


def read_grid(given: Sequence[str]) -> dict[str, list[str]]:
    """The values of each key: "seed=1,2,3" has three.

    A comma inside of brackets or quotes belongs to its value.

    Raises:
        ConfigError: no key, no value, or a key twice.
    """
    grid: dict[str, list[str]] = {}
    for text in given:
        key, equals, values = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise _refused("a key of the grid has no values.", text)
        if key in grid:
            raise _refused(f"the grid has the key {key} twice.", text)
        if key == "name":
            raise _refused("a sweep names its runs itself.", text)
        found = split_values(values)
        if not all(found):
            raise _refused(f"a value of {key} is empty.", text)
        grid[key] = found
    if not grid:
        raise _refused("the grid is empty.", None)
    return grid


def _refused(what: str, got: str | None) -> ConfigError:
    example = "jumok sweep RECIPE --grid model.dropout=0.1,0.2 seed=1,2,3"
    return ConfigError(what, expected="KEY=VALUE,VALUE,...", got=got, do=f"for example {example}")


def split_values(text: str) -> list[str]:
    """The values between commas that are outside of brackets and quotes."""
    values, depth, quote, current = [], 0, "", ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in QUOTES:
            quote = letter
        else:
            depth += (letter in OPENING) - (letter in CLOSING)
        if letter == "," and not depth and not quote:
            values.append(current.strip())
            current = ""
        else:
            current += letter
    return [*values, current.strip()]


def combinations(
    recipe: Path, changes: Sequence[str], grid: Mapping[str, Sequence[str]]
) -> list[Combination]:
    """Every combination, the last key changing fastest; each is a recipe that can be followed.

    Args:
        changes: of the recipe, for all runs.

    Raises:
        ConfigError: a recipe that cannot be followed, two equal combinations, or too many.
    """
    count = 1
    for values in grid.values():
        count *= len(values)
    if count > MOST_RUNS:
        raise ConfigError(
            "the grid has too many combinations.",
            expected=f"at most {MOST_RUNS:,}",
            got=f"{count:,}",
            do="sweep over fewer values at a time",
        )
    found: dict[str, Combination] = {}
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        name = run_name(chosen)
        overrides = [*changes, *(f"{key}={value}" for key, value in chosen.items())]
        config = _config(recipe, [*overrides, f'name="{name}"'])
        facts = json.dumps(config.model_dump(mode="json", exclude={"name"}), sort_keys=True)
        if facts in found:
            raise ConfigError(
                "two combinations of the grid are the same run.",
                got=f"{_said(found[facts].values)}, and {_said(chosen)}",
                do="leave one of the values out",
            )
        found[facts] = Combination(name, chosen, config)
    return list(found.values())


def _said(values: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in values.items())


def _config(recipe: Path, overrides: Sequence[str]) -> "Config":
    """A recipe; one that trains a trained model further is completed from its bundle."""
    further = "start" in config_recipe.read_recipe(find_recipe(recipe))
    if further or any(override.startswith("start.") for override in overrides):
        return start.load(recipe, overrides, dict(os.environ))
    return jumok_config.load_config(recipe, overrides)


def run_name(values: Mapping[str, str]) -> str:
    """A name for a folder: dropout-0.1-seed-3 of model.dropout=0.1 and seed=3.

    A key is named by its last word unless another one ends alike. A long name, and one that lost
    letters which folders do not take, ends with a digest of the values.
    """
    parts = []
    for key, value in values.items():
        last = key.rpartition(".")[2]
        alone = sum(other.rpartition(".")[2] == last for other in values) == 1
        parts.append(f"{last if alone else key}-{value}")
    plain = "-".join(parts)
    name = re.sub(r"[^\w.]+", "-", plain, flags=re.ASCII).strip("-.")
    if name == plain and len(name) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(json.dumps(dict(values)).encode()).hexdigest()[:8]
    return f"{name[:LONGEST_NAME]}-{digest}"
