"""`jumok classify` and `jumok evaluate` for pictures."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from jumok.errors import BundleError, DataError
from tests.cli.calls import call, fault
from tests.data.painted import pack, paint, write_idx
from tests.systems.untrained import write_classifier

FAST = ["--threads", "1"]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_classifier(tmp_path / "model")


@pytest.fixture
def painted(tmp_path: Path) -> Path:
    return paint(tmp_path / "painted", 3)


def test_every_picture_has_a_line_with_its_label_and_probability(bundle, painted):
    files = sorted(painted.rglob("*.png"))
    out = call("classify", bundle, *files, "--batch", "2", *FAST).stdout
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[0] for row in rows] == [str(file) for file in files]
    assert all(row[1] in ("blue", "green", "red") for row in rows)
    assert all(1 / 3 < float(row[2]) <= 1 for row in rows)


def test_top_shows_more_labels(bundle: Path, painted: Path) -> None:
    file = painted / "red" / "0000.png"
    (line,) = call("classify", bundle, file, "--top", "3", *FAST).stdout.splitlines()
    _, *ranked = line.split("\t")
    assert sorted(ranked[0::2]) == ["blue", "green", "red"]
    assert sum(map(float, ranked[1::2])) == pytest.approx(1.0, abs=2e-4)


def test_names_come_from_standard_input_where_none_are_given(bundle: Path, painted: Path) -> None:
    files = sorted(painted.rglob("*.png"))[:2]
    given = "".join(f"{file}\n" for file in files)
    out = call("classify", bundle, "--json", *FAST, given=given).stdout
    objects = [json.loads(line) for line in out.splitlines()]
    assert [each["item"] for each in objects] == [str(file) for file in files]
    assert objects[0]["label"] == next(iter(objects[0]["probabilities"]))


def test_a_bad_picture_names_itself_and_does_not_stop_the_others(bundle, painted, tmp_path):
    good, bad = painted / "red" / "0000.png", tmp_path / "bad.png"
    bad.write_bytes(b"GIF89a")
    done = call("classify", bundle, good, bad, tmp_path / "none.png", good, *FAST)
    lines = done.stdout.splitlines()
    assert lines[0] == lines[3]
    assert lines[1:3] == [f"{bad}\t\t", f"{tmp_path / 'none.png'}\t\t"]
    assert f"error: {bad}: " in done.stderr
    assert "none.png: there is no such file" in done.stderr
    assert isinstance(done.exception, DataError)
    assert "2 of 4 items could not be read; the others were classified" in str(done.exception)


def test_json_says_what_was_wrong(bundle: Path, tmp_path: Path) -> None:
    out = call("classify", bundle, tmp_path / "none.png", "--json", *FAST).stdout
    facts = json.loads(out)
    assert facts["label"] is None
    assert "there is no such file" in facts["error"]


def test_a_model_that_translates_does_not_classify(tiny_bundle: Path) -> None:
    error = fault("classify", tiny_bundle, "a.png")
    assert isinstance(error, BundleError)
    assert "this model cannot classify" in str(error)


def test_evaluate_gives_accuracy_and_who_was_taken_for_whom(bundle: Path, painted: Path) -> None:
    for data in (painted, pack(painted)):
        done = call("evaluate", bundle, "--data", data, "--json", "--batch", "4", *FAST)
        facts = json.loads(done.stdout)
        assert facts["examples"] == "9 images"
        assert [score["name"] for score in facts["scores"]] == ["accuracy", "macro-F1"]
        counts = [re.findall(r"(?:blue|green|red) (\d)", line) for line in facts["details"]]
        assert [sum(map(int, of_label)) for of_label in counts] == [3, 3, 3]
        assert facts["details"][0].startswith("blue: predicted as ")
        assert all(score["low"] <= score["value"] <= score["high"] for score in facts["scores"])


def test_evaluate_writes_the_labels_that_were_found(bundle, painted, tmp_path):
    call("evaluate", bundle, "--data", painted, "--output", tmp_path / "found", *FAST)
    assert len((tmp_path / "found").read_text().splitlines()) == 9


def test_evaluate_takes_a_table_and_idx_files(bundle: Path, painted: Path, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("file\tlabel\npainted/red/0000.png\tred\n")
    done = call("evaluate", bundle, "--data", tmp_path / "t.tsv", "--json", *FAST)
    assert json.loads(done.stdout)["examples"] == "1 images"
    digits = write_classifier(tmp_path / "digits", labels=("0", "1"))
    images = write_idx(tmp_path / "t-images-idx3-ubyte", np.zeros((2, 8, 10)))
    error = fault("evaluate", digits, "--data", images)
    assert "labels of these images are not next to them" in str(error)
    write_idx(tmp_path / "t-labels-idx1-ubyte", np.array([1, 0]))
    done = call("evaluate", digits, "--data", images, "--json", *FAST)
    assert json.loads(done.stdout)["scores"][0]["value"] == 50.0


def test_evaluate_names_a_label_that_the_model_does_not_have(painted: Path, tmp_path: Path) -> None:
    other = write_classifier(tmp_path / "other", labels=("blue", "green", "owl"))
    error = fault("evaluate", other, "--data", painted)
    assert "the model does not have this label" in str(error)
    assert "red/0000.png" in str(error)


def test_pictures_that_cannot_be_read_are_left_out_where_that_is_asked_for(bundle, painted):
    broken = painted / "red" / "broken.png"
    broken.write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    error = fault("evaluate", bundle, "--data", painted, *FAST)
    assert str(broken) in str(error)
    assert "--skip-damaged" in str(error)
    done = call("evaluate", bundle, "--data", painted, "--skip-damaged", "--json", *FAST)
    assert json.loads(done.stdout)["examples"] == "9 images"
    assert f"skipped unreadable images: 1, the first: {broken}" in done.stderr
