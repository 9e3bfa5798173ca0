"""`jumok heads`: cards and curves of a model nobody trained."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from jumok.cli.main import app
from jumok.errors import JumokError

FAST = ["--threads", "1", "--device", "cpu"]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "dev.tsv"
    rows = ["the cat sat\t고양이가 앉았고", "\t나는", "a dog\t개가", "I am\t나는"]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["heads", *(str(each) for each in arguments), *FAST])


def test_a_row_for_each_head(tiny_bundle: Path, pairs: Path) -> None:
    lines = call(tiny_bundle, "--data", pairs).stdout.splitlines()
    assert lines[0].split()[:3] == ["part", "head", "entropy"]
    names = [tuple(line.split()[:2]) for line in lines[1:]]
    assert names[:3] == [("encoder", "1.1"), ("encoder", "1.2"), ("encoder", "1.3")]
    # one encoder layer, three of the decoder with two attentions each, three heads everywhere
    assert len(names) == len(set(names)) == 3 + 3 * 2 * 3


def test_json_has_every_measure_and_the_curves(tiny_bundle: Path, pairs: Path) -> None:
    arguments = ["--data", pairs, "--prune", "--score", "likelihood", "--json"]
    found = json.loads(call(tiny_bundle, *arguments).stdout)
    assert len(found["heads"]) == 21
    card = found["heads"][0]
    assert (card["layer"], card["head"], len(card["offsets"])) == (1, 1, 11)
    assert {"role", "uniform_share", "raw_importance", "same"} <= set(card)
    assert list(found["curves"]) == ["encoder", "decoder", "cross", "together"]
    starts = {points[0]["score"] for points in found["curves"].values()}
    assert len(starts) == 1
    assert all(score < 0 for score in starts)
    assert found["curves"]["together"][-1]["heads"] == 21


def test_pruned_translations_are_scored_and_written_to_a_file(
    tiny_bundle: Path, pairs: Path
) -> None:
    file = pairs.with_name("heads.txt")
    arguments = ["--data", pairs, "--sentences", "1", "--prune", "--output", file]
    assert call(tiny_bundle, *arguments).stdout == ""
    text = file.read_text("utf-8")
    assert "BLEU, greedy, with the least important heads off:" in text
    assert text.splitlines()[-1].split()[:2] == ["100", "%"]


def test_what_has_no_heads_is_said(tiny_bundle: Path, pairs: Path) -> None:
    def fault(*arguments: str | Path) -> str:
        error = call(*arguments).exception
        assert isinstance(error, JumokError), error
        return str(error)

    assert "those of one model" in fault(f"{tiny_bundle},{tiny_bundle}", "--data", pairs)
    empty = pairs.with_name("empty.tsv")
    empty.write_text("\t\n", encoding="utf-8")
    assert "no pair with words on both sides" in fault(tiny_bundle, "--data", empty)
    assert "a text and its translation are needed" in fault(tiny_bundle)
