"""`jumok look --against` and `--with`: what is traced beside the first."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jumok.cli.main import app
from jumok.errors import ConfigError


def look(*words: str | Path) -> None:
    arguments = ["look", *map(str, words), "--device", "cpu", "--beam", "1"]
    done = CliRunner().invoke(app, arguments)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output


def shown(file: Path) -> dict:
    text = file.read_text(encoding="utf-8")
    return json.loads(text.split('id="data">')[1].split("</script>")[0])


def test_a_second_sentence_is_in_the_page_and_its_words_are_compared(tiny_bundle, tmp_path):
    file = tmp_path / "page.html"
    look(tiny_bundle, "the cat sat", "--against", "the cat", "--save", file, "--target", "개가")
    data = shown(file)
    assert (data["text"], data["other"]["text"]) == ("the cat sat", "the cat")
    against = data["findings"]["similarity"]["encoder"]
    assert against["texts"] == ["the", "cat"]
    assert against["cosines"][0][1][1] == pytest.approx(1.0, abs=1e-4)
    assert data["level"] == "qk"


def test_a_second_model_reads_and_writes_the_same(tiny_bundle, tmp_path):
    file = tmp_path / "page.html"
    look(tiny_bundle, "the cat sat", "--with", tiny_bundle, "--save", file, "--target", "개가")
    data = shown(file)
    assert data["other"]["text"] == "the cat sat"
    assert data["other"]["output"] == data["output"] == "개가"
    assert data["other"]["steps"] == data["steps"], "it is the same model"


def test_two_traces_are_no_file_of_numbers(tiny_bundle, tmp_path):
    with pytest.raises(ConfigError, match=r"an \.npz file holds one trace"):
        look(tiny_bundle, "the cat", "--against", "the", "--save", tmp_path / "t.npz")


def test_a_second_sentence_must_be_one(tiny_bundle, tmp_path):
    with pytest.raises(Exception, match="cannot be traced in one pass"):
        look(tiny_bundle, "the cat", "--against", " ", "--save", tmp_path / "t.html")
