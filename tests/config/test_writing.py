"""A config written as a recipe is read back as the same config."""

from pathlib import Path

import pytest

from jumok.config import load_config, parse_config
from jumok.config.writing import recipe_text

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))
DATA = {"JUMOK_DATA": "/a folder with a $ in it", "JUMOK_RUNS": "/runs"}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_every_recipe_survives(recipe: Path, tmp_path: Path):
    config = load_config(recipe, ["training.minutes=2.5", 'name="other"', "seed=7"], DATA)
    written = tmp_path / "elsewhere" / "recipe.toml"
    written.parent.mkdir()
    written.write_text(recipe_text(config), encoding="utf-8")
    again = load_config(written)
    assert again == config
    assert (again.training.minutes, again.name, again.seed) == (2.5, "other", 7)


def test_defaults_are_not_written_out():
    text = recipe_text(parse_config({"name": "a", "data": {"smallworld": {"pairs": 7}}}))
    assert text == 'name = "a"\n\n[data.smallworld]\npairs = 7\n'
