"""`jumok recipes`, and training from a recipe's bare name."""

from pathlib import Path

import pytest

from jumok.errors import ConfigError
from jumok.shipped import recipe_names, shipped_recipe
from tests.cli.calls import call

SHORT = [
    *("--set", "training.steps=2", "--set", "validation.every=2"),
    *("--set", "data.smallworld.pairs=400", "--set", "validation.decode_pairs=2"),
    *("--set", "tokenizer.size=1000", "--set", "tokenizer.character_coverage=0.98"),
]  # fmt: skip


def test_every_recipe_is_listed_with_what_it_needs(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    result = call("recipes")
    assert result.exit_code == 0
    rows = [row.rstrip() for row in result.output.splitlines()[1:]]
    assert [row.split()[0] for row in rows] == recipe_names()
    listed = dict(zip(recipe_names(), rows, strict=True))
    assert " nothing " in listed["smallworld-en-ko"]
    assert " $JUMOK_DATA/enko " in listed["enko"]
    assert " $JUMOK_DATA/nsmc, the run nsmc-mlm " in listed["nsmc-pretrained"]
    assert listed["mnist"].endswith(
        "MNIST, digit classification: a small convolutional network without attention"
    )


def test_a_recipe_is_shown_whole():
    assert call("recipes", "show", "mnist").output == shipped_recipe("mnist").read_text("utf-8")


def test_a_recipe_is_copied_and_never_over_another_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("recipes", "copy", "mnist", "mine")
    assert result.output == "mine/mnist.toml\n\n  jumok train mine/mnist.toml\n"
    copied = Path("mine/mnist.toml")
    assert copied.read_text("utf-8") == shipped_recipe("mnist").read_text("utf-8")
    copied.write_text("mine", "utf-8")
    again = call("recipes", "copy", "mnist", "mine")
    assert isinstance(again.exception, ConfigError)
    assert "a file of this name exists already" in str(again.exception)
    assert copied.read_text("utf-8") == "mine"


@pytest.mark.parametrize("verb", ["show", "copy"])
def test_a_misspelt_recipe_is_told_the_nearest(tmp_path, monkeypatch, verb):
    monkeypatch.chdir(tmp_path)
    result = call("recipes", verb, "mnits")
    assert isinstance(result.exception, ConfigError)
    assert "did you mean mnist?" in str(result.exception)


def test_a_model_is_trained_from_a_recipes_name_in_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUMOK_RUNS", "elsewhere")
    result = call("train", "smallworld-en-ko", *SHORT)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "elsewhere/smallworld-en-ko/model/config.json").is_file()
    assert "jumok translate elsewhere/smallworld-en-ko/model" in result.output


def test_the_runs_folder_counts_in_recipes_that_begin_with_another_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUMOK_DATA", str(tmp_path))
    result = call("train", "nsmc-pretrained", "--runs", "mine")
    assert str(tmp_path / "mine/nsmc-mlm/model") in str(result.exception)
