"""`jumok train --text` as a person types it."""

import json
import math
import random
from functools import partial
from pathlib import Path

import pytest

import jumok
from jumok.errors import ConfigError, DataError
from tests.cli.calls import call, fault

WORDS = ("cat", "dog", "bird", "sees", "likes", "finds", "a", "the", "one", "big", "red", "but")
SMALL = [
    *("--set", "training.steps=4", "--set", "validation.every=2", "--set", "training.threads=1"),
    *("--set", "training.precision=fp32", "--set", "training.schedule.warmup=1"),
    *("--set", "model.layers=1", "--set", "model.dim=16", "--set", "model.heads=2"),
]


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(7)
    lines = [" ".join(rng.choices(WORDS, k=rng.randint(3, 9))) for _ in range(600)]
    file = tmp_path / "my.book.txt"
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


train = partial(call, "train")
refused = partial(fault, "train")


def test_a_text_becomes_a_model_and_a_recipe(book: Path) -> None:
    result = train("--text", book, *SMALL)
    assert result.exit_code == 0, result.output
    assert "Made by jumok for" in result.output
    assert "the last 10% of the text is held out" in result.output
    assert 'jumok generate runs/my/model "..."' in result.output
    recipe = Path("runs/my/recipe.toml").read_text("utf-8")
    assert "steps = 4\n" in recipe  # with what --set changed
    assert "patience = 3\n" in recipe
    model = jumok.load("runs/my/model")
    assert "".join(model.generate("the cat", max_tokens=20))


def test_the_recipe_that_was_made_can_be_trained_from(book: Path) -> None:
    train("--text", book, "--name", "one", *SMALL)
    result = train("runs/one/recipe.toml", "--name", "again")
    assert result.exit_code == 0, result.output
    one, again = (Path(f"runs/{name}/model/model.safetensors") for name in ("one", "again"))
    assert one.read_bytes() == again.read_bytes()


def test_the_end_of_each_of_two_files_is_held_out(book: Path) -> None:
    other = book.with_name("other.txt")
    other.write_text(book.read_text() * 2)
    result = train("--text", book, "--text", other, "--name", "two", *SMALL)
    assert result.exit_code == 0, result.output
    assert "the last 10% of each file is held out" in result.output
    assert "data: 2 documents" in result.output


def test_lines_may_be_documents(book: Path) -> None:
    result = train("--text", book, "--documents", "line", *SMALL)
    assert result.exit_code == 0, result.output
    assert "data: 540 documents" in result.output  # nine tenths of 600


def test_training_that_overfits_stops_by_itself(book: Path) -> None:
    """The words are drawn at random: after the unigrams there is only noise to learn."""
    changes = (
        *("model.dropout=0.0", "training.learning_rate=0.02", "training.steps=600"),
        *("validation.every=10", "model.layers=2", "model.dim=64", "training.threads=1"),
        *("training.tokens_per_batch=512", "training.schedule.warmup=20"),
    )
    sets = [word for change in changes for word in ("--set", change)]
    result = train("--text", book, "--name", "over", *sets)
    assert result.exit_code == 0, result.output
    log = [json.loads(line) for line in Path("runs/over/log.jsonl").read_text().splitlines()]
    losses = {each["step"]: each["loss"] for each in log if each.get("kind") == "validation"}
    last, best = max(losses), min(losses, key=losses.__getitem__)
    assert last < 600
    assert last == best + 3 * 10  # the patience of three validations
    assert losses[last] > losses[best]
    assert f"best at step {best}" in result.output
    assert math.isfinite(losses[best])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--text", "t.txt", "--source", "a.en", "--target", "a.ko"], "or the files to train on"),
        (["smallworld-en-ko", "--text", "t.txt"], "or the files to train on"),
        (["smallworld-en-ko", "--documents", "line"], "--documents needs --text"),
        (["--text", "t.txt", "--columns", "0,1"], "--columns, --from and --to need --data"),
        (["--text", "t.txt", "--skip-damaged"], "--skip-damaged cannot be combined with --text"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: list[str], said: str) -> None:
    error = refused(*arguments)
    assert isinstance(error, ConfigError)
    assert said in str(error)


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><html><body>Hello</body></html>")
    error = refused("--text", page)
    assert isinstance(error, DataError)
    assert "a web page (HTML)" in str(error)


def test_a_missing_file_leaves_nothing_behind(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    error = refused("--text", "no.txt")
    assert "no.txt: there is no such file" in str(error)
    assert not Path("runs").exists()
