"""Recipes that come with jumok, by their names; and what a wrong name gets to hear."""

from pathlib import Path

import pytest

import jumok
from jumok.errors import ConfigError
from jumok.shipped import (
    RecipeNeeds,
    find_recipe,
    needs_of,
    recipe_names,
    recipes_folder,
    shipped_recipe,
    summary_of,
)


@pytest.mark.parametrize("given", ["smallworld-en-ko", "smallworld-en-ko.toml"])
def test_a_recipe_is_found_by_its_name_alone(tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    assert find_recipe(Path(given)) == recipes_folder() / "smallworld-en-ko.toml"
    assert jumok.load_config(given).name == "smallworld-en-ko"


def test_a_file_goes_before_a_recipe_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mnist.toml").write_text('name = "mine"', "utf-8")
    assert find_recipe(Path("mnist.toml")) == Path("mnist.toml")
    assert find_recipe(Path("mnist")) == recipes_folder() / "mnist.toml"


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ("smalworld-en-ko", "did you mean smallworld-en-ko?"),
        ("recipes/mnist.toml", "are called by name: jumok train mnist"),
        ("recipes/mnits.toml", "did you mean mnist?"),
        ("qqqqqq", "jumok recipes lists those that come with jumok"),
    ],
)
def test_a_wrong_name_is_told_the_nearest(tmp_path, monkeypatch, given, advice):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        find_recipe(Path(given))
    assert "there is no such recipe" in str(caught.value)
    assert advice in str(caught.value)


def test_a_name_is_never_its_own_suggestion(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("photos").mkdir()
    with pytest.raises(ConfigError) as caught:
        find_recipe(Path("photos"))
    assert "did you mean photos" not in str(caught.value)


def test_only_what_is_shipped_can_be_shown():
    assert shipped_recipe("mnist.toml") == shipped_recipe("mnist")
    with pytest.raises(ConfigError, match=r"(?s)no recipe of this name.*did you mean mnist\?"):
        shipped_recipe("mnits")


def test_what_a_recipe_needs_is_read_from_its_paths():
    values = {
        "data": {"train": [{"file": "$JUMOK_DATA/enko/a.tsv"}, {"file": "$JUMOK_DATA/enko/b"}]},
        "model": {"pretrained": "$JUMOK_RUNS/first/model"},
        "note": "JUMOK_DATA/no",
    }
    assert needs_of(values) == RecipeNeeds(data=("enko",), runs=("first",))


def test_the_summary_is_the_first_sentence_of_the_first_comment():
    assert summary_of("# One model\n# of 3.5 parts. More.\n#\n# Not this\n") == (
        "One model of 3.5 parts"
    )
    assert summary_of('name = "x"\n') == ""


def test_every_shipped_recipe_has_a_summary():
    for name in recipe_names():
        assert 10 < len(summary_of(shipped_recipe(name).read_text("utf-8"))) < 130, name
