"""A captioner's run: from scenes to a bundle, and the same bits after a break."""

import numpy as np
import pytest
import torch

from jumok.bundle.reading import read_bundle
from jumok.config import CaptionConfig, parse_config
from jumok.errors import ConfigError, DataError
from jumok.systems.captioner import Captioner
from jumok.training.run import train
from smallworld import scenes
from tests.training.conftest import Recorder
from tests.training.starts import TRAINING

CNN = {"kind": "cnn", "size": 16, "patch": 4, "channels": [8], "blocks": 1, "dropout": 0.1}
STACK = {"kind": "transformer", "dim": 12, "heads": 2, "feedforward": 16, "layers": 1}


RNN = {"kind": "rnn", "dim": 12, "embedding": 8, "dropout": 0.1}


def recipe(data: dict[str, object], **changes: object) -> CaptionConfig:
    values = {
        "name": "tiny",
        "data": data,
        "tokenizer": {"kind": "char", "size": 60, "byte_fallback": False},
        "model": {"kind": "captioner", "encoder": CNN, "decoder": STACK},
        "training": TRAINING | {"tokens_per_batch": 900, "tokens_per_micro_batch": 450},
        "validation": {"every": 2, "metric": "loss", "decode_pictures": 3},
    }
    config = parse_config({**values, **changes})
    assert isinstance(config, CaptionConfig)
    return config


SCENES = {
    "language": "en",
    "max_tokens": 120,
    "scenes": {"pictures": 12, "validation_pictures": 3, "test_pictures": 2},
}


def test_scenes_become_a_bundle_with_captions_scores_and_pointing(tmp_path):
    recorder = Recorder()
    result = train(recipe(SCENES), tmp_path, recorder)
    figures = recorder.validations[0].figures
    assert set(figures) == {"BLEU-4", "CIDEr-D", "pointing accuracy"} or (
        set(figures) == {"BLEU-4", "CIDEr-D"}  # where no caption had a noun
    )
    bundle = read_bundle(result.model)
    assert (bundle.config.task, bundle.config.target_language) == ("captioning", "en")
    assert bundle.config.alignment_layer == 0
    assert bundle.card.examples == "12 images, 60 captions"
    captioner = Captioner.load(result.model, device="cpu")
    (caption,) = captioner.caption([torch.zeros(3, 16, 16, dtype=torch.uint8)], beam=1)
    assert caption.score <= 0.0
    assert (tmp_path / "tiny" / "scenes" / "test" / "boxes.jsonl").is_file()


def test_a_table_is_split_by_picture_and_the_test_part_is_written(tmp_path):
    scenes.write(tmp_path / "s", {"train": 40}, 1)
    corpus = {
        "captions": str(tmp_path / "s" / "train" / "captions.en.tsv"),
        "images": str(tmp_path / "s" / "train" / "images.zip"),
    }
    data = {"train": [corpus], "validation_share": 0.2, "test_share": 0.2, "max_tokens": 120}
    recorder = Recorder()
    train(recipe(data), tmp_path / "runs", recorder)
    rows = (tmp_path / "runs" / "tiny" / "test.tsv").read_text("utf-8").splitlines()
    held = {row.split("\t")[0] for row in rows}
    assert 0 < len(held) < 20
    assert len(rows) == 5 * len(held)
    said = next(text for text in recorder.said if text.startswith("train: "))
    assert said.endswith(f"test: {len(held)} images")


def test_resuming_on_other_captions_is_refused(tmp_path):
    scenes.write(tmp_path / "s", {"train": 8}, 1)
    table = tmp_path / "s" / "train" / "captions.en.tsv"
    corpus = {"captions": str(table), "images": str(tmp_path / "s" / "train" / "images.zip")}
    config = recipe({"train": [corpus], "validation_share": 0.3, "max_tokens": 120})
    train(config, tmp_path / "runs", Recorder())
    rows = [line.split("\t") for line in table.read_text("utf-8").splitlines()]
    table.write_text("".join(f"{a}\t{b}\t{c[::-1]}\n" for a, b, c in rows), "utf-8")
    with pytest.raises(DataError, match="the data has changed"):
        train(config, tmp_path / "runs", Recorder(), resume=True)


def test_a_row_without_its_picture_stops_the_run_with_file_and_row(tmp_path):
    scenes.write(tmp_path / "s", {"train": 3}, 1)
    table = tmp_path / "captions.tsv"
    table.write_text("000000.png\t0\ta ball\nnone.png\t0\ta star\n", "utf-8")
    corpus = {"captions": str(table), "images": str(tmp_path / "s" / "train" / "images.zip")}
    with pytest.raises(DataError, match=r"captions\.tsv, line 2: the row names an image"):
        train(recipe({"train": [corpus]}), tmp_path / "runs", Recorder())


def test_features_given_beside_a_table_are_trained_on(tmp_path):
    folder = tmp_path / "features"
    folder.mkdir()
    random = np.random.default_rng(1)
    for index in range(20):
        np.save(folder / f"{index}.npy", random.normal(size=(2, 3, 5)).astype(np.float32))
    table = tmp_path / "captions.tsv"
    rows = [
        f"{index}.jpg\t{n}\ta {['red', 'blue'][n]} ball\n" for index in range(20) for n in (0, 1)
    ]
    table.write_text("".join(rows), "utf-8")
    data = {"train": [{"captions": str(table), "images": str(folder)}], "validation_share": 0.3}
    given = {"kind": "given", "rows": 2, "columns": 3, "dim": 5}
    model = {"kind": "captioner", "encoder": given, "decoder": RNN}
    result = train(recipe(data, model=model), tmp_path / "runs", Recorder())
    captioner = Captioner.load(result.model, device="cpu")
    (caption,) = captioner.caption([folder / "3.npy"], looks=True)
    assert caption.looks is not None
    assert caption.looks.weights.shape[1:] == (2, 3)


def test_tables_may_share_a_folder_of_pictures(tmp_path):
    scenes.write(tmp_path / "s", {"train": 6}, 1)
    images = str(tmp_path / "s" / "train" / "images.zip")
    rows = (tmp_path / "s" / "train" / "captions.en.tsv").read_text("utf-8").splitlines(True)
    corpora = []
    for name, part in (("a", rows[:20]), ("b", rows[20:])):
        (tmp_path / f"{name}.tsv").write_text("".join(part), "utf-8")
        corpora.append({"captions": str(tmp_path / f"{name}.tsv"), "images": images})
    recorder = Recorder()
    data = {"train": corpora[:1], "validation": corpora[1:], "max_tokens": 120}
    train(recipe(data), tmp_path / "runs", recorder)
    assert "train: 4 images, validation: 2 images, test: 0 images" in recorder.said


def test_scenes_need_a_language_that_they_have():
    with pytest.raises(ConfigError, match="has captions in language"):
        recipe({**SCENES, "language": "fr"})
