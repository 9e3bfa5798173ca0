"""Folders of pictures on the command line: to classify, to caption, and to train on."""

import json
from pathlib import Path

import pytest

from jumok.cli.output.streams import image_files
from jumok.errors import ConfigError, DataError
from tests.cli.calls import call
from tests.data.painted import paint
from tests.systems.pictures import write_captioner
from tests.systems.untrained import write_classifier

SHORT = ["--set", "training.steps=2", "--set", "validation.every=2", "--set", "training.threads=1"]


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = paint(tmp_path / "photos", 4)
    (folder / ".DS_Store").write_bytes(b"x")
    (folder / "red" / "Thumbs.db").write_bytes(b"x")
    (folder / "fox").mkdir()
    return folder


def named(folder: Path) -> list[str]:
    return [
        str(folder / label / f"000{n}.png") for label in ("blue", "green", "red") for n in range(4)
    ]


def test_a_folder_stands_for_its_pictures_in_order(photos, capsys):
    found = list(image_files(["a.jpg", photos]))
    assert [str(each) for each in found] == ["a.jpg", *named(photos)]
    assert capsys.readouterr().err == f"{photos}: skipped 1 file that is not an image\n"


def test_a_folder_without_a_picture_is_refused(photos):
    with pytest.raises(DataError, match=r"(?s)there is no image in this folder.*0 other files"):
        list(image_files([photos / "fox"]))


def test_classify_takes_a_folder_and_names_what_is_broken(photos, tmp_path):
    (photos / "red" / "0009.png").write_bytes(b"broken")
    done = call("classify", write_classifier(tmp_path / "model"), photos, "--threads", 1)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == [*named(photos), str(photos / "red" / "0009.png")]
    assert all(row[1] for row in rows[:-1])
    assert rows[-1][1] == ""
    assert "0009.png: the file is not an image" in done.stderr
    assert "skipped 1 file that is not an image" in done.stderr


def test_caption_takes_a_folder(photos, tmp_path):
    model = write_captioner(tmp_path / "model")
    done = call("caption", model, photos, "--beam", 1, "--threads", 1)
    assert done.exit_code == 0, done.output
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == named(photos)


def test_a_folder_of_folders_becomes_a_classifier(photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call(
        "train", "photos", *SHORT, "--set", "model.height=8", "--set", "model.width=8", "--json"
    )
    assert done.exit_code == 0, done.output
    assert "# Made by jumok for 12 pictures of 3 labels" in done.stderr
    assert "folders without images, whose labels are not learnt: fox" in done.stderr
    facts = json.loads(done.stdout.splitlines()[-1])
    assert facts["run"] == "runs/photos"
    assert facts["model"] == "runs/photos/model"
    assert facts["steps"] == 2
    assert facts["scores"][0].keys() >= {"name", "value"}
    label = call("classify", facts["model"], "photos/red/0000.png").stdout.split("\t")[1]
    assert label in ("blue", "green", "red")


def test_pictures_without_labels_cannot_be_trained_on(photos):
    error = call("train", photos / "red").exception
    assert "4 images are not in the folder of a label" in str(error)
    assert "a folder of images for each label" in str(error)


def test_a_text_instead_of_a_recipe_is_told_its_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.txt").write_text("Once upon a time\nthere was\n", "utf-8")
    error = call("train", "mine.txt").exception
    assert isinstance(error, ConfigError)
    assert "jumok train --text mine.txt" in str(error)


def test_the_missing_compiler_is_said_once_and_not_in_the_way(photos, tmp_path, monkeypatch):
    from jumok.kernels import native
    from jumok.kernels.libraries import compiler

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(compiler, "find_compiler", lambda: None)
    monkeypatch.setattr(native, "library", lambda: None)
    done = call("train", "photos", *SHORT, "--set", "model.height=8", "--set", "model.width=8")
    assert done.exit_code == 0, done.output
    assert done.stderr.count("no C compiler: training is about 1.7 times slower") == 1
    assert "compiler" not in done.stdout
