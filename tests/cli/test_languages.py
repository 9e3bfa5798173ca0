"""The commands for a model of several pairs of languages."""

import pytest

pytest.importorskip("transformers", reason="the model is written by it")

from jumok.errors import ConfigError
from tests.cli.calls import call, fault
from tests.interop.folders_tagged import write_tagged_marian


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagged")
    theirs = write_tagged_marian(folder / "theirs")
    result = call("import", theirs, "--output", folder / "model")
    assert result.exit_code == 0, result.output
    return folder / "model"


@pytest.fixture
def files(tmp_path):
    for name, text in (("a", "the cat sat on the mat\n"), ("b", "고양이\n")):
        (tmp_path / name).write_text(text)
    return ["--source", tmp_path / "a", "--target", tmp_path / "b"]


def test_every_command_asks_for_the_languages(model, files, tmp_path):
    line, table = files[1], tmp_path / "t.tsv"
    table.write_text("the cat sat on the mat\t고양이\n")
    commands = [
        ("translate", model, line),
        ("score", model, *files),
        ("score", model, "--data", table, "--columns", "0,1"),
        ("align", model, *files),
        ("evaluate", model, "--source", line, "--reference", files[3]),
        ("explain", model, "the cat sat on the mat", "--row", "1"),
        ("embed", model, line),
        ("heads", model, *files),
    ]
    for command in commands:
        error = fault(*command)
        assert isinstance(error, ConfigError)
        assert "several pairs of languages" in str(error), command
        result = call(*command, "--to", "de")
        assert result.exit_code == 0, (command, result.output)
        assert "does not translate between these" in str(fault(*command, "--from", "ko"))
    small = ("quantize", model, "--to", "int8", "--output", tmp_path / "int8", "--force", "test")
    small += ("--check", line, files[3])
    assert "several pairs of languages" in str(fault(*small))
    assert call(*small, "--into", "de").exit_code == 0
    look = ("look", model, "again", "--save", tmp_path / "page.html")
    assert "several pairs of languages" in str(fault(*look))
    assert call(*look, "--into", "de").exit_code == 0


def test_the_languages_of_the_model_are_shown(model):
    assert "en → de" in call("info", model).output


def test_a_model_of_one_pair_has_its_own(tiny_bundle, files):
    assert call("score", tiny_bundle, *files).exit_code == 0
    assert "does not translate between these" in str(
        fault("score", tiny_bundle, *files, "--to", "xx")
    )
