"""Whole runs of a classifier of pictures."""

from pathlib import Path

import pytest

import jumok
from jumok.bundle.reading import read_bundle
from jumok.config import Config, parse_config
from jumok.errors import ConfigError, DataError
from jumok.training.run import train
from tests.data.painted import paint
from tests.training.starts import TRAINING


@pytest.fixture
def config(tmp_path: Path):
    folder = paint(tmp_path / "painted", 20)

    def make(*overrides: str, **data: object) -> Config:
        values = {
            "name": "tiny",
            "data": {
                "train": [{"folder": str(folder)}],
                "validation_pictures": 6,
                "augmentation": {"flip": True, "shift": 1},
                **data,
            },
            "model": {
                "kind": "image-classifier",
                "height": 8,
                "width": 10,
                "channels": [16],
                "attention_after": [1],
                "attention_heads": 2,
                "attention_dropout": 0.1,
                "dropout": 0.1,
            },
            "training": TRAINING
            | {"steps": 8, "tokens_per_batch": 24, "tokens_per_micro_batch": 12},
            "validation": {"every": 4},
        }
        return parse_config(values, overrides)

    return make


def test_a_classifier_learns_colours_and_tells_them(tmp_path, config, recorder):
    screen = recorder()
    result = train(config("training.steps=20", "validation.every=20"), tmp_path, screen)
    assert screen.validations[-1].figures["accuracy"] == 100.0
    assert screen.steps[0].unit == "images"
    bundle = read_bundle(result.model)
    assert (bundle.config.task, bundle.config.labels) == (
        "image-classification",
        ("blue", "green", "red"),
    )
    assert bundle.card.scores[0].on == "6 validation images"
    told = jumok.load(result.model).classify([tmp_path / "painted" / "red" / "0001.png"])
    assert told[0].label == "red"


def test_what_is_read_is_said(tmp_path, config, recorder):
    screen = recorder()
    train(config("training.steps=1"), tmp_path, screen)
    said = "\n".join(screen.said)
    assert "6 images are held out" in said
    assert "data: 54 images of 3 labels, 24 per step; 6 to validate on" in said
    assert "attention after stage 1" in said


def test_damaged_pictures_stop_training_unless_they_may_be_skipped(tmp_path, config, recorder):
    (tmp_path / "painted" / "green" / "0007.png").write_bytes(b"")
    with pytest.raises(DataError, match=r"green/0007.png: the file is empty"):
        train(config(), tmp_path, recorder())
    screen = recorder()
    train(config("training.steps=1", skip_damaged=True), tmp_path, screen)
    (said,) = [each for each in screen.said if each.startswith("images left out")]
    assert said.startswith("images left out: 1; the first: ")


def test_one_label_alone_is_refused(tmp_path, config, recorder):
    folder = tmp_path / "reds"
    folder.mkdir()
    (tmp_path / "painted" / "red").rename(folder / "red")
    with pytest.raises(
        DataError,
        match=r"(?s)a classifier needs at least two different labels.*the label 'red' alone",
    ):
        train(config(train=[{"folder": str(folder)}]), tmp_path, recorder())


def test_validation_pictures_may_be_given(tmp_path, config, recorder):
    folder = paint(tmp_path / "others", 3)
    screen = recorder()
    train(config("training.steps=1", validation=[{"folder": str(folder)}]), tmp_path, screen)
    assert "data: 60 images of 3 labels, 24 per step; 9 to validate on" in screen.said


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({}, "needs either `folder`, or `table`, or `images` and `labels`"),
        ({"folder": "a", "table": "b"}, "needs either `folder`, or `table`"),
        ({"images": "a"}, "needs both `images` and `labels`"),
    ],
)
def test_pictures_come_in_one_shape(config, source, said):
    with pytest.raises(ConfigError, match=said):
        config(train=[source])
