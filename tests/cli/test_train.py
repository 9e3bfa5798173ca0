"""`jumok train` and `jumok smallworld` as a person types them."""

import pytest

from jumok.errors import ConfigError, DataError
from tests.cli.calls import SMALL, call, fault


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two files of pairs, in the working folder."""
    monkeypatch.chdir(tmp_path)
    source, target = tmp_path / "talk.en", tmp_path / "talk.ko"
    source.write_text("".join(f"sentence number {n}\n" for n in range(60)), "utf-8")
    target.write_text("".join(f"{n} 번째 문장\n" for n in range(60)), "utf-8")
    return "--source", source, "--target", target


def test_two_files_become_a_model_and_a_recipe(tmp_path, files):
    result = call("train", *files, *SMALL)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "runs" / "talk" / "model" / "model.safetensors").exists()
    recipe = (tmp_path / "runs" / "talk" / "recipe.toml").read_text("utf-8")
    assert "steps = 2\n" in recipe  # with what --set changed
    assert "Made by jumok for 60 pairs" in result.output
    assert "jumok translate runs/talk/model" in result.output


def test_the_recipe_that_was_made_can_be_trained_from(tmp_path, files):
    call("train", *files, *SMALL)
    result = call("train", "runs/talk/recipe.toml", "--name", "again")
    assert result.exit_code == 0, result.output
    weights = [tmp_path / f"runs/{name}/model/model.safetensors" for name in ("talk", "again")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_the_config_of_a_run_is_refused_with_its_recipe_named(tmp_path, files):
    call("train", *files, *SMALL)
    error = fault("train", "runs/talk/config.json", "--name", "again")
    assert "got:      the config.json of a run" in str(error)
    assert "jumok train runs/talk/recipe.toml --name OTHER" in str(error)


def test_a_name_that_is_taken_keeps_its_recipe(tmp_path, files):
    call("train", *files, *SMALL)
    recipe = tmp_path / "runs" / "talk" / "recipe.toml"
    recipe.write_text(recipe.read_text("utf-8") + "# mine\n", "utf-8")
    error = fault("train", *files, *SMALL)
    assert "a run of this name exists already" in str(error)
    assert "# mine" in recipe.read_text("utf-8")
    other = call("train", *files, *SMALL, "--set", "name=other")
    assert other.exit_code == 0, other.output


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--source", "a.en"],
        ["r.toml", "--target", "a.ko"],
        ["--source", "a.en", "--target", "a.ko", "--data", "a.tsv"],
    ],
)
def test_half_a_request_is_refused_with_two_whole_ones(arguments):
    error = fault("train", *arguments)
    assert isinstance(error, ConfigError)
    assert "give a recipe, or the files to train on" in str(error)
    assert "jumok train --source a.en --target a.ko" in str(error)


@pytest.mark.parametrize("arguments", [["--columns", "0,2"], ["--to", "ko"]])
def test_a_recipe_names_its_columns_itself(arguments):
    error = fault("train", "smallworld-en-ko", *arguments)
    assert "--columns, --from and --to need --data" in str(error)


def test_a_missing_file_leaves_nothing_behind(tmp_path, files):
    error = fault("train", *files[:3], tmp_path / "no.ko")
    assert isinstance(error, DataError)
    assert "no.ko" in str(error)
    assert not (tmp_path / "runs").exists()


def test_an_unset_variable_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("JUMOK_DATA", raising=False)
    recipe = tmp_path / "r.toml"
    recipe.write_text('name = "r"\n[[data.train]]\nfile = "$JUMOK_DATA/a.tsv"\n', "utf-8")
    assert "the environment variable JUMOK_DATA is not set" in str(fault("train", recipe))


def test_smallworld_is_written_in_all_its_splits(tmp_path):
    result = call("smallworld", tmp_path / "corpus", "--pairs", 50, "--held-out", 7)
    assert result.exit_code == 0, result.output
    lines = {
        path.name: len(path.read_text("utf-8").splitlines())
        for path in (tmp_path / "corpus").iterdir()
    }
    assert lines["train.en"] == lines["train.ko"] == lines["train.align"] == 50
    assert lines["unseen-combination.en"] == lines["longer.ko"] == lines["test.align"] == 7


def test_smallworld_writes_scenes_in_all_their_splits(tmp_path):
    result = call("smallworld", tmp_path / "scenes", "--scenes", 3, "--held-out", 2)
    assert result.exit_code == 0, result.output
    rows = {
        path.name: len((path / "captions.ko.tsv").read_text("utf-8").splitlines())
        for path in (tmp_path / "scenes").iterdir()
    }
    assert rows == {"train": 15, "validation": 10, "test": 10, "unseen-combination": 10}


def test_leaks_are_counted_and_held_out_pairs_serve_quantize(tmp_path, files):
    """The run keeps what it held out, for quantize and evaluate."""
    source = files[1]
    with source.open("a", encoding="utf-8") as stream:
        stream.write("sentence number 7!\n")  # beside "sentence number 7"
    with files[3].open("a", encoding="utf-8") as stream:
        stream.write("7 번째 문장!\n")
    done = call("train", *files, *SMALL, "--threads", 1)
    assert done.exit_code == 0, done.output
    assert "1 worker thread," in done.output
    assert " texts stand" in done.output
    model, kept = "runs/talk/model", tmp_path / "runs" / "talk" / "validation.tsv"
    sources = [line.split("\t")[0] for line in kept.read_text("utf-8").splitlines()]
    assert len(sources) == 6
    told = call("evaluate", model, "--data", kept, "--beam", 1, "--json").stdout
    assert f"0 of {len(sources)} " in told or f"none of {len(sources)} texts" in told
    trained = next(n for n in range(60) if f"sentence number {n}" not in sources)
    test = tmp_path / "test.tsv"
    test.write_text(f"sentence number {trained}\tx\nQuite another thing.\ty\n", "utf-8")
    told = call("evaluate", model, "--data", test, "--beam", 1, "--json").stdout
    assert "1 of 2 texts are in the training data (50.0%)" in told
    given = call("evaluate", model, "--data", test, "--beam", 1, "--json", "--train", test)
    assert "2 of 2 texts are in the training data" in given.stdout
    small = call("quantize", model, "--to", "int8", "--output", "small", "--force", "a test")
    assert small.exit_code == 0, small.output
    assert "validation.tsv: 6 sentences" in small.stdout


def test_three_processes_are_refused_before_they_start(files):
    error = fault("train", *files, "--processes", 3)
    assert "the examples of a step are divided among 1, 2, 4, 8, ... processes." in str(error)
    assert error.do == "--processes 2"


def test_names_of_papers_are_told_as_keys(files):
    error = fault("train", *files, "--set", "model.feedforward_kind=swiglu")
    assert 'it is feedforward_kind = "gated" with activation = "silu"' in str(error)
