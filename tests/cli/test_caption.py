"""`jumok caption` and `jumok evaluate` of captioners, as a person sees them."""

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest

from jumok.errors import ConfigError, MissingExtraError
from jumok.systems.captioner import Captioner
from tests.cli.calls import call
from tests.systems.pictures import write_captioner, write_pictures


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return write_captioner(tmp_path_factory.mktemp("bundle") / "captioner")


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[Path]:
    return write_pictures(tmp_path_factory.mktemp("cli") / "images")


def test_caption_writes_a_line_a_picture(model, files):
    done = call("caption", model, *files, "--beam", 1)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == [str(file) for file in files]
    assert all(len(line.split("\t")) == 2 for line in lines)


def test_caption_names_a_bad_picture_at_once_and_goes_on(model, files, tmp_path):
    bad = tmp_path / "bad.jpg"
    bad.write_bytes(b"hello")
    done = call("caption", model, files[0], bad, files[1], "--beam", 1)
    assert done.exit_code == 2
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == [
        str(files[0]), str(bad), str(files[1])
    ]  # fmt: skip
    assert f"error: {bad}: the file is not an image." in done.stderr


def test_caption_gives_several_with_their_scores(model, files):
    done = call("caption", model, files[0], "--beam", 3, "--nbest", 2, "--scores")
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(lines) == 2
    assert float(lines[0][2]) >= float(lines[1][2])


def test_caption_says_where_it_looked_in_json(model, files, tmp_path):
    bad = tmp_path / "bad.jpg"
    bad.write_bytes(b"")
    assert "--looks needs --json" in str(call("caption", model, files[0], "--looks").exception)
    done = call("caption", model, files[0], bad, "--json", "--looks", "--beam", 1)
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["file"] == str(files[0])
    assert len(first["looks"]["weights"]) == len(first["looks"]["words"])
    for rows in first["looks"]["weights"]:
        assert (len(rows), len(rows[0])) == (4, 4)
    assert list(second) == ["file", "error"]
    assert second["file"] == str(bad)
    assert second["error"].startswith(f"{bad}: the file is empty.\n  expected: one of JPEG, PNG")


def test_info_names_the_parts_of_a_captioner(model):
    said = " ".join(call("info", model).stdout.split())
    assert "kind captioner" in said
    assert "encoder.size 8" in said
    assert "decoder.layers 2" in said


def table(files: list[Path]) -> Path:
    rows = [f"{file.name}\t{n}\tthe cat sat\n" for file in files for n in range(2)]
    found = files[0].parent.parent / "captions.tsv"
    found.write_text("".join(rows), "utf-8")
    return found


def test_evaluate_scores_captions_by_the_folder_beside_the_table(model, files):
    done = call("evaluate", model, "--data", table(files), "--beam", 1, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    names = [score["name"] for score in found["scores"]]
    assert names == ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "CIDEr-D", "ROUGE-L"]
    assert found["examples"] == "3 images, beam 1"


def test_evaluate_writes_what_caption_does_with_the_same_options(model, files, tmp_path):
    def written(*options: object) -> list[str]:
        call("evaluate", model, "--data", table(files), "--output", tmp_path / "found", *options)
        return (tmp_path / "found").read_text("utf-8").splitlines()

    for options in ((), ("--beam", 1, "--no-repeat-ngram", 1)):
        said = call("caption", model, *files, *options).stdout.splitlines()
        assert written(*options) == [line.split("\t")[1] for line in said]
    assert written("--beam", 1) != written("--beam", 1, "--no-repeat-ngram", 1)


def test_evaluate_takes_the_folder_that_images_names(model, files, tmp_path):
    captions = tmp_path / "test.tsv"
    captions.write_text(f"the cat sat\t{files[1].name}\n", "utf-8")
    done = call(
        *("evaluate", model, "--data", captions, "--images", files[0].parent),
        *("--columns", "1,0", "--beam", 1, "--json"),
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["examples"] == "1 images, beam 1"


def test_evaluate_scores_pointing_where_there_are_boxes(model, files):
    captions = table(files)
    boxes = captions.parent / "boxes.jsonl"
    things = [{"kind": "cat", "box": [0, 0, 9, 5]}]
    records = [
        {"file": file.name, "things": things, "en": [[[1, [0]]], [[1, [0]]]]} for file in files
    ]
    boxes.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    try:
        done = call("evaluate", model, "--data", captions, "--beam", 1, "--json")
    finally:
        boxes.unlink()
    assert done.exit_code == 0, done.output
    names = {score["name"] for score in json.loads(done.stdout)["scores"]}
    assert "BLEU-4" in names  # a captioner nobody trained may write no noun that could point


def test_evaluate_asks_where_the_pictures_are(model, tmp_path):
    captions = tmp_path / "captions.tsv"
    captions.write_text("a.png\t0\tthe cat\n", "utf-8")
    done = call("evaluate", model, "--data", captions)
    assert isinstance(done.exception, ConfigError)
    assert str(done.exception) == (
        "image folder not found.\n"
        f"  expected: --images, or {tmp_path}/images, or {tmp_path}/images.zip\n"
        f"  do:       jumok evaluate {model} --data {captions} --images FOLDER"
    )


def test_evaluate_says_what_cannot_be_measured_before_it_captions(model, files, monkeypatch):
    monkeypatch.setitem(sys.modules, "pycocoevalcap.meteor.meteor", None)
    monkeypatch.setattr(Captioner, "caption", None)
    done = call("evaluate", model, "--data", table(files), "--metrics", "meteor")
    assert isinstance(done.exception, MissingExtraError)
    assert "METEOR needs the extra 'meteor'" in str(done.exception)
    done = call("evaluate", model, "--data", table(files), "--tokenize", "moses")
    assert "BLEU has no such tokenizer" in str(done.exception)
    done = call("evaluate", model, "--data", table(files), "--metrics", "spelling")
    assert "--metrics spelling has no effect for this kind of model" in str(done.exception)


def test_evaluate_gives_meteor_where_java_is(model, files):
    if importlib.util.find_spec("pycocoevalcap") is None or shutil.which("java") is None:
        pytest.skip("needs the extra meteor and Java")
    asked = ("--data", table(files), "--beam", 1, "--json")
    done = call("evaluate", model, *asked, "--metrics", "meteor")
    assert done.exit_code == 0, done.output
    found = {score["name"] for score in json.loads(done.stdout)["scores"]}
    plain = {
        score["name"] for score in json.loads(call("evaluate", model, *asked).stdout)["scores"]
    }
    assert found - plain == {"METEOR"}
