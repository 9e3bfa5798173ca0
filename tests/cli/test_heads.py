"""`jumok heads`: cards and curves of a model nobody trained."""

import csv
import json
from pathlib import Path
from shutil import copytree

import pytest
from typer.testing import Result

from jumok.errors import ConfigError
from tests.cli.calls import call, fault
from tests.systems.untrained import write_text_classifier

FAST = ["--threads", "1", "--device", "cpu"]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "dev.tsv"
    rows = ["the cat sat\t고양이가 앉았고", "\t나는", "a dog\t개가", "I am\t나는"]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


def heads(*arguments: str | Path) -> Result:
    return call("heads", *arguments, *FAST)


def refused(*arguments: str | Path) -> str:
    return str(fault("heads", *arguments, *FAST))


def test_a_row_for_each_head(tiny_bundle: Path, pairs: Path) -> None:
    lines = heads(tiny_bundle, "--data", pairs).stdout.splitlines()
    assert lines[0].split()[:3] == ["part", "head", "entropy"]
    names = [tuple(line.split()[:2]) for line in lines[1:]]
    assert names[:3] == [("encoder", "1.1"), ("encoder", "1.2"), ("encoder", "1.3")]
    # one encoder layer, three of the decoder with two attentions each, three heads everywhere
    assert len(names) == len(set(names)) == 3 + 3 * 2 * 3


def test_json_has_every_measure_and_the_curves(tiny_bundle: Path, pairs: Path) -> None:
    arguments = ["--data", pairs, "--prune", "--score", "likelihood", "--json"]
    found = json.loads(heads(tiny_bundle, *arguments).stdout)
    assert len(found["heads"]) == 21
    card = found["heads"][0]
    assert (card["layer"], card["head"], len(card["offsets"])) == (1, 1, 19)
    assert {"role", "uniform_share", "raw_importance", "same"} <= set(card)
    assert list(found["curves"]) == ["encoder", "decoder", "cross", "together"]
    starts = {points[0]["score"] for points in found["curves"].values()}
    assert len(starts) == 1
    assert all(score < 0 for score in starts)
    assert found["curves"]["together"][-1]["heads"] == 21


def test_pruned_translations_are_scored_and_written_to_a_file(tiny_bundle, pairs):
    file = pairs.with_name("heads.txt")
    arguments = ["--data", pairs, "--sentences", "1", "--prune", "--output", file]
    assert heads(tiny_bundle, *arguments).stdout == ""
    text = file.read_text("utf-8")
    assert "BLEU, greedy, with the least important heads pruned:" in text
    assert text.splitlines()[-1].split()[:2] == ["100", "%"]


def test_cards_are_saved_as_a_page(tiny_bundle: Path, pairs: Path) -> None:
    page = pairs.with_name("cards.html")
    heads(tiny_bundle, "--data", pairs, "--save", page)
    data = page.read_text("utf-8").split('id="data">')[1].split("</script>")[0]
    found = json.loads(data)
    assert (found["data"], found["count"]) == ("dev.tsv", 4)
    assert [(each["name"], len(each["heads"])) for each in found["models"]] == [("tiny", 21)]
    late = page.with_name("late")
    copytree(tiny_bundle, late)
    heads(tiny_bundle, late, "--data", pairs, "--save", page)
    data = page.read_text("utf-8").split('id="data">')[1].split("</script>")[0]
    names = [each["name"] for each in json.loads(data)["models"]]
    assert names == [str(tiny_bundle), str(late)], "what tells them apart, where names do not"


def test_models_of_the_same_heads_stand_side_by_side(tiny_bundle, tmp_path, pairs):
    late = tmp_path / "late"
    copytree(tiny_bundle, late)
    lines = heads(tiny_bundle, late, "--data", pairs).stdout.splitlines()
    assert lines[:2] == [f"1  {tiny_bundle}", f"2  {late}"]
    assert [line.split()[:3] for line in lines[3:5]] == [
        ["1", "encoder", "1.1"],
        ["2", "encoder", "1.1"],
    ]
    found = json.loads(heads(tiny_bundle, late, "--data", pairs, "--json").stdout)
    assert [each["model"] for each in found["models"]] == [str(tiny_bundle), str(late)]
    assert found["models"][0]["heads"] == found["models"][1]["heads"]


def test_gold_links_judge_the_heads_over_the_source(tiny_bundle: Path, tmp_path: Path) -> None:
    """Every head's figures are those that `jumok align` has for its weights."""
    file = tmp_path / "gold.tsv"
    rows = ["the cat sat\t고양이가 앉았고\t1-0 2-1", "a dog\t개가\t1-0"]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    arguments = ["--data", file, "--columns", "0,1,2", "--json"]
    cards = json.loads(heads(tiny_bundle, *arguments).stdout)["heads"]
    readings = json.loads(call("align", tiny_bundle, *arguments, *FAST).stdout)["readings"]
    for card in cards:
        same = [
            (each["error_rate"], each["precision"])
            for each in readings
            if card["part"] == "cross"
            and (each["layer"], each["head"], each["norms"]) == (card["layer"], card["head"], False)
        ]
        assert len(same) == (2 if card["part"] == "cross" else 0)
        if same:
            assert (card["error_rate"], card["precision"]) == min(same, key=lambda each: each[0])
        else:
            assert card["precision"] is None
    lines = heads(tiny_bundle, *arguments[:-1]).stdout.splitlines()
    assert lines[0].split()[-2:] == ["AER", "role"]
    late = tmp_path / "late"
    copytree(tiny_bundle, late)
    side_by_side = heads(tiny_bundle, late, *arguments[:-1]).stdout
    assert "…" not in side_by_side, "every word is whole, however many columns there are"


def test_models_of_single_texts_have_cards_too(tmp_path: Path) -> None:
    folder, file = write_text_classifier(tmp_path / "classifier"), tmp_path / "texts.txt"
    file.write_text("the cat sat\n\na dog\n", encoding="utf-8")
    lines = heads(folder, "--data", file, "--save", tmp_path / "cards.html").stdout.splitlines()
    assert len(lines) == 1 + 2 * 3
    assert lines[1].split()[:2] == ["encoder", "1.1"]
    data = (tmp_path / "cards.html").read_text("utf-8").split('id="data">')[1]
    assert json.loads(data.split("</script>")[0])["data"] == "texts.txt"


def test_what_models_of_single_texts_cannot_is_said(tiny_bundle: Path, tmp_path: Path) -> None:
    folder = write_text_classifier(tmp_path / "classifier")
    assert "--data FILE, one text per line" in refused(folder, "--source", "a", "--target", "b")
    assert "--prune needs a translation model" in refused(folder, "--data", "a", "--prune")
    assert "--columns has no effect" in refused(folder, "--data", "a", "--columns", "0")
    assert "--images has no effect" in refused(tiny_bundle, "--data", "a", "--images", "b")
    message = refused(folder, tiny_bundle, "--data", "a")
    assert "of one kind that has head cards" in message
    assert "got:      text-classification, translation" in message


def test_what_has_no_heads_is_said(tiny_bundle: Path, pairs: Path) -> None:
    assert "need single models, not an ensemble" in refused(
        f"{tiny_bundle},{tiny_bundle}", "--data", pairs
    )
    assert "named twice" in refused(tiny_bundle, tiny_bundle, "--data", pairs)
    assert "--prune takes one model" in refused(tiny_bundle, "b", "--data", pairs, "--prune")
    assert "--save FILE.html" in refused(tiny_bundle, "--data", pairs, "--save", "cards.png")
    empty = pairs.with_name("empty.tsv")
    empty.write_text("\t\n", encoding="utf-8")
    assert "no pair with words on both sides" in refused(tiny_bundle, "--data", empty)
    assert "a text and its translation are needed" in refused(tiny_bundle)


@pytest.mark.parametrize(("suffix", "between"), [(".csv", ","), (".tsv", "\t")])
def test_cards_are_written_as_the_suffix_says(tiny_bundle, pairs, tmp_path, suffix, between):
    file = tmp_path / f"heads{suffix}"
    done = heads(tiny_bundle, "--data", pairs, "--output", file, *FAST)
    assert done.exit_code == 0, done.output
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter=between))
    told = json.loads(heads(tiny_bundle, "--data", pairs, "--json", *FAST).stdout)
    assert len(rows) == len(told["heads"])
    for row, card in zip(rows, told["heads"], strict=True):
        assert (row["part"], row["role"]) == (card["part"], card["role"])
        assert float(row["entropy"]) == pytest.approx(card["entropy"], rel=1e-4)
        offsets = [float(row[name]) for name in row if name.startswith("offset ")]
        assert offsets == card["offsets"]


def test_cards_are_not_written_as_something_else(tiny_bundle, pairs, tmp_path):
    for name, more in (("h.xlsx", []), ("h.csv", ["--json"])):
        done = heads(tiny_bundle, "--data", pairs, "-o", tmp_path / name, *more, *FAST)
        assert isinstance(done.exception, ConfigError)
        assert "--output FILE.csv, .tsv, .json or .txt" in str(done.exception)
        assert not (tmp_path / name).exists()
    done = heads(tiny_bundle, "--data", pairs, "-o", tmp_path / "h.json", *FAST)
    assert done.exit_code == 0
    assert json.loads((tmp_path / "h.json").read_text("utf-8"))["heads"]


def test_an_output_does_not_replace_its_corpus(tiny_bundle: Path, pairs: Path) -> None:
    before = pairs.read_bytes()
    error = heads(tiny_bundle, "--data", pairs, "--output", pairs).exception
    assert "would replace the input" in str(error)
    assert pairs.read_bytes() == before
    error = heads(tiny_bundle, "--data", pairs, "--save", pairs.parent / "no" / "a.html").exception
    assert "the output cannot be written" in str(error)


def test_a_score_needs_pruning(tiny_bundle: Path, pairs: Path) -> None:
    asked = ("--data", pairs, "--score", "likelihood")
    assert "--score needs --prune" in refused(tiny_bundle, *asked)
