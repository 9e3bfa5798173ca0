"""What an error of a recipe names as its manual explains the very keys."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumok.config import load_config
from jumok.config.families import RECIPES, Config
from jumok.config.recipe import _sections
from jumok.config.section import Section
from jumok.errors import ConfigError
from jumok.shipped import recipe_names

FOLDER = Path(__file__).parents[2] / "recipes"


def keys(section: type[Section], seen: set[type[Section]]) -> Iterator[str]:
    for name, field in section.model_fields.items():
        yield name
        for inner in _sections(field.annotation):
            if inner not in seen:
                seen.add(inner)
                yield from keys(inner, seen)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_manual_holds_every_key(recipe: type[Config]) -> None:
    named = [name for name in recipe_names() if re.search(rf"\b{name}(?![\w-])", recipe.manual)]
    text = "".join((FOLDER / f"{name}.toml").read_text(encoding="utf-8") for name in named)
    missing = [key for key in set(keys(recipe, set())) if not re.search(rf"\b{key}\b", text)]
    assert not missing


@pytest.mark.parametrize(
    ("kind", "manual"), [("causal-lm", "shakespeare"), ("captioner", "scenes")]
)
def test_an_error_names_the_recipe_that_holds_its_keys(
    tmp_path: Path, kind: str, manual: str
) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text(f'name = "r"\n[model]\nkind = "{kind}"\nlayer = 3\n')
    with pytest.raises(ConfigError) as caught:
        load_config(recipe)
    assert f"jumok recipes show {manual}" in str(caught.value)
