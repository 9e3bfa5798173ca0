"""`jumok heads` over captions and over labelled pictures, of models nobody trained."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import Result

from tests.cli.calls import call, fault
from tests.systems.pictures import GIVEN, write_captioner, write_pictures
from tests.systems.untrained import write_classifier

FAST = ["--threads", "1", "--device", "cpu"]
CAPTIONS = ["the cat sat on the mat", "a dog", "I am the cat"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Captions, and their pictures beside them, as `jumok evaluate` takes them."""
    files = write_pictures(tmp_path / "images", 3)
    rows = [f"{file.name}\t0\t{text}" for file, text in zip(files, CAPTIONS, strict=True)]
    found = tmp_path / "captions.tsv"
    found.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return found


@pytest.fixture
def boxes(table: Path) -> Path:
    """The first noun of each caption is its second word, and stands on the left."""
    records = [
        {"file": f"{i}.png", "things": [{"kind": "x", "box": [0, 0, 4, 20]}], "en": [[[1, [0]]]]}
        for i in range(3)
    ]
    found = table.with_name("boxes.jsonl")
    found.write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")
    return found


def heads(*arguments: str | Path) -> Result:
    return call("heads", *arguments, *FAST)


def test_captioners_have_a_row_for_each_head_and_a_word_why(tmp_path: Path, table: Path) -> None:
    folder = write_captioner(tmp_path / "model")
    lines = heads(folder, "--data", table).stdout.splitlines()
    assert lines[0].split() == [
        *("part", "head", "entropy", "share", "confidence", "offset", "importance", "role")
    ]
    names = [tuple(line.split()[:2]) for line in lines[1:13]]
    assert names[2:4] == [("decoder", "1.3"), ("cross", "1.1")]
    assert len(set(names)) == 2 * 2 * 3
    assert lines[13:] == [
        "cross: no first, last, previous, next: cells have no sequential order",
        "cross: no punctuation, rarest: cells are not tokens of text",
        "cross: no offsets, distance: a word has no position in the image to "
        "measure a distance from",
        "cross: no pointing: no boxes of the things that the words name were given (boxes.jsonl)",
    ]


def test_gold_boxes_beside_the_captions_judge_heads(tmp_path, table, boxes):
    folder = write_captioner(tmp_path / "model")
    text = heads(folder, "--data", table).stdout
    assert "pointing" in text.splitlines()[0]
    assert "boxes.jsonl" not in text
    found = json.loads(heads(folder, "--data", table, "--sentences", "2", "--json").stdout)["heads"]
    cross = [card for card in found if card["part"] == "cross"]
    assert {card["nouns"] for card in cross} == {2}
    assert all(card["pointing"] in (0.0, 0.5, 1.0) for card in cross)
    assert all("offsets" not in card for card in cross)
    assert all("pointing" not in card for card in found if card["part"] == "decoder")


def test_features_have_no_pixels_that_boxes_could_be_in(tmp_path, table, boxes):
    import numpy as np

    folder = write_captioner(tmp_path / "model", encoder=GIVEN)
    for number in range(3):
        np.save(table.parent / "images" / f"{number}.npy", np.ones((6, 5), np.float32))
    text = heads(folder, "--data", table).stdout
    assert "cross: no pointing" in text


def test_captions_are_saved_as_a_page(tmp_path: Path, table: Path) -> None:
    folder, page = write_captioner(tmp_path / "model"), tmp_path / "cards.html"
    heads(folder, "--data", table, "--sentences", "2", "--save", page)
    found = json.loads(page.read_text("utf-8").split('id="data">')[1].split("</script>")[0])
    assert (found["data"], found["count"], found["unit"]) == ("captions.tsv", 2, "pictures")


def test_classifiers_of_pictures_have_offsets_in_rows_and_columns(tmp_path: Path) -> None:
    folder = write_classifier(tmp_path / "model", labels=("blue", "red"))
    for label in ("blue", "red"):
        (tmp_path / "pictures" / label).mkdir(parents=True)
        write_pictures(tmp_path / "pictures" / label, 2)
    lines = heads(folder, "--data", tmp_path / "pictures").stdout.splitlines()
    assert lines[0].split()[5:8] == ["offset", "distance", "importance"]
    assert [line.split()[:2] for line in lines[1:3]] == [["image", "2.1"], ["image", "2.2"]]
    assert re.search(r" [-+]?\d,[-+]?\d +\d+ % ", lines[1])
    cards = json.loads(heads(folder, "--data", tmp_path / "pictures", "--json").stdout)["heads"]
    assert cards[0]["residual_gate"] == 0.0
    assert cards[0]["raw_importance"] == 0.0, "at a gate of 0 nobody has a say"


def refused(*arguments: str | Path) -> str:
    error = fault("heads", *arguments, *FAST)
    assert error.exit_code == 2
    return str(error)


def test_what_is_missing_is_said(tmp_path: Path, table: Path) -> None:
    captioner, classifier = write_captioner(tmp_path / "a"), write_classifier(tmp_path / "b")
    assert "--data FILE, a table of captions" in refused(captioner, "--gold", "links")
    assert "images with labels" in refused(classifier)
    assert "--prune needs a translation model" in refused(captioner, "--data", table, "--prune")
    away = tmp_path / "away.tsv"
    away.write_text(table.read_text("utf-8"), encoding="utf-8")
    table.with_name("images").rename(tmp_path / "elsewhere")
    told = refused(captioner, "--data", away)
    assert "image folder not found" in told
    assert "jumok heads MODEL --data" in told
    images = ["--images", tmp_path / "elsewhere"]
    assert heads(captioner, "--data", away, *images).exit_code == 0
    one = write_captioner(tmp_path / "one", memory="one")
    assert "has no attention over the image" in refused(one, "--data", away, *images)
