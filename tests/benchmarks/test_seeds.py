"""What a recipe's header says is what is run, and the row that comes of it."""

from pathlib import Path

import pytest

from benchmarks import seeds
from benchmarks.corpus import data_folder
from benchmarks.errors import BenchmarkError

RECIPES = Path(__file__).parents[2] / "recipes"


def test_evaluations_are_those_of_the_header(monkeypatch):
    monkeypatch.setattr(seeds, "data_folder", lambda: Path("/data"))
    run = Path("kept/multi30k-rnn-s2")
    (words,) = seeds.evaluations(RECIPES / "multi30k-rnn.toml", run)
    assert words == [
        "evaluate", "kept/multi30k-rnn-s2/model",
        "--source", "/data/multi30k/test_2016_flickr.en",
        "--reference", "/data/multi30k/test_2016_flickr.de", "--split", "length", "--no-keep",
    ]  # fmt: skip
    (words,) = seeds.evaluations(RECIPES / "translit.toml", Path("kept/translit-s1"))
    assert " ".join(words) == (
        "evaluate kept/translit-s1/model --data kept/translit-s1/test.tsv --metrics spelling"
        " --split length --no-keep"
    )
    assert len(seeds.evaluations(RECIPES / "enko.toml", Path("kept/enko-s1"))) == 2


def test_a_recipe_without_an_evaluation_has_none(monkeypatch):
    monkeypatch.setattr(seeds, "data_folder", lambda: Path("/data"))
    assert seeds.evaluations(RECIPES / "chatbot.toml", Path("kept/chatbot-s1")) == []


def test_the_row_has_mean_and_sample_deviation():
    facts = [
        {"parameters": 1234, "seconds": 60, "cpu_seconds": 90 + 30 * n, "scores": {"BLEU": 30 + n}}
        for n in range(3)
    ]
    lines = seeds.table("small", facts).split("\n")
    assert lines[0] == "small: 1,234 parameters, 2.0 processor minutes, 1.0 on the clock"
    assert lines[1] == "  BLEU: 31 ± 1  (30, 31, 32)"
    assert seeds.table("small", facts[:1]).endswith("  BLEU: 30  (30)")


def test_missing_data_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("JUMOK_DATA", str(tmp_path))
    with pytest.raises(BenchmarkError, match="no folder multi30k"):
        data_folder()
