"""Masked language models and the classifiers made of them, trained for a few steps."""

from pathlib import Path
from typing import Any

import pytest
import torch

import jumok
from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model
from jumok.cli.verbs.info import info
from jumok.config import Config, parse_config
from jumok.errors import ConfigError, DataError
from jumok.interop.importing import read_model, write_imported
from jumok.training.run import train
from jumok.training.task import prepare_task
from tests.interop.folders import WRITTEN
from tests.training.starts import TRAINING, WORDS


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Rows of number words, labelled by how they begin."""
    lines = []
    for start in range(151):
        words = [WORDS[(start * 5 + step * (1 + start % 3)) % 7] for step in range(2 + start % 5)]
        lines.append(f"{' '.join(words)}\t{'even' if start % 7 % 2 else 'odd'}\n")
    file = tmp_path / "rows.tsv"
    file.write_text("".join(lines), encoding="utf-8")
    return file


def masked(rows: Path, *overrides: str) -> Config:
    return make(rows, {"kind": "masked-lm", "dim": 16, "heads": 2, "layers": 1}, {}, overrides)


def make(rows: Path, model: dict[str, Any], columns: dict[str, Any], overrides: Any) -> Config:
    values: dict[str, Any] = {
        "name": model["kind"],
        "data": {
            "train": [{"file": str(rows), **columns}],
            "validation_texts": 11,
            "max_tokens": 9,
        },
        "tokenizer": {"kind": "char", "size": 48, "byte_fallback": False},
        "model": {"dropout": 0.1, **model},
        "training": TRAINING | {"steps": 9},
        "validation": {"every": 3},
    }
    return parse_config(values, overrides)


def test_a_trained_masked_model_fills_gaps(rows, tmp_path, recorder):
    screen = recorder()
    result = train(masked(rows), tmp_path / "runs", screen)
    assert set(screen.validations[0].figures) == {"accuracy"}
    system = jumok.load(result.model)
    (filled,) = system.fill(["one [MASK]"], top=2)
    assert len(filled.gaps[0]) == 2
    assert any("11 texts are held out" in line for line in screen.said)


def test_one_side_of_the_small_world_is_text_enough(tmp_path):
    config = parse_config(
        {
            "name": "world",
            "data": {
                "smallworld": {"pairs": 61, "validation_pairs": 7, "test_pairs": 5},
                "max_tokens": 60,
            },
            "model": {"kind": "masked-lm", "dim": 16, "heads": 2, "layers": 1},
            "tokenizer": {"kind": "char", "size": 400, "byte_fallback": False},
        }
    )
    said: list[str] = []
    task = prepare_task(config, tmp_path, tmp_path / "cache", said.append)
    assert "training: train.ko: 61 texts read, 61 kept" in said
    assert "validation: validation.ko: 7 texts read, 7 kept" in said
    assert next(task.updates)


def test_texts_come_from_files_or_from_the_small_world(rows):
    with pytest.raises(ConfigError, match=r"takes \[\[data\.train\]\] corpora, or"):
        masked(rows, "data.smallworld.pairs=9")


def test_masking_says_when_its_shares_are_more_than_all(rows):
    with pytest.raises(ConfigError, match=r"their sum is at most 1\.0") as caught:
        masked(rows, "masking.mask=0.8", "masking.random=0.3")
    assert "`jumok recipes show nsmc-mlm` explains the keys of texts" in str(caught.value)


def test_a_misspelt_key_is_refused_with_its_neighbour(rows):
    with pytest.raises(ConfigError, match="did you mean 'whole_words'"):
        masked(rows, "masking.whole_word=true")
    with pytest.raises(ConfigError, match="did you mean 'label_column'"):
        classifier(rows, {}, "data.train=[{file='a.tsv', label_colum=1}]")


def test_positions_must_hold_the_longest_text(rows):
    with pytest.raises(ConfigError, match="START and END need more positions"):
        masked(rows, "model.max_length=10")


def classifier(rows: Path, model: dict[str, Any], *overrides: str) -> Config:
    columns = {"text_column": 0, "label_column": 1}
    return make(rows, {"kind": "text-classifier", **model}, columns, overrides)


def test_a_classifier_starts_from_the_encoder_and_learns(rows, tmp_path, recorder):
    pretrained = train(masked(rows), tmp_path / "runs", recorder()).model
    config = classifier(rows, {"pretrained": str(pretrained)}, "training.steps=30")
    task = prepare_task(config, tmp_path, tmp_path / "cache", print)
    ours, theirs = task.build().encoder, load_model(read_bundle(pretrained)).encoder
    for name, tensor in ours.state_dict().items():
        assert torch.equal(tensor, theirs.state_dict()[name]), name
    screen = recorder()
    result = train(config, tmp_path / "runs", screen)
    assert screen.validations[-1].figures["accuracy"] > 90.0  # the first word says it
    assert read_bundle(result.model).config.labels == ("even", "odd")
    assert read_bundle(result.model).config.model["pretrained"] is None


def test_a_classifier_tells_of_the_imported_model_that_it_starts_from(rows, tmp_path, recorder):
    folder = WRITTEN["bert"](tmp_path / "theirs")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n", "utf-8")
    pretrained = write_imported(read_model(folder), tmp_path / "bert")
    config = classifier(rows, {"pretrained": str(pretrained)}, "training.steps=2")
    trained = read_bundle(train(config, tmp_path / "runs", recorder()).model)
    assert trained.card.provenance == read_bundle(pretrained).card.provenance
    said = (trained.folder / "README.md").read_text("utf-8")
    assert "## Training" in said
    assert "- licence: mit (README.md)" in said


def test_a_label_that_training_never_saw_stops_or_is_skipped(rows, tmp_path):
    check = tmp_path / "check.tsv"
    check.write_text("one two\todd\ntwo\tperhaps\nthree\t\n", encoding="utf-8")
    extra = f'data.validation=[{{file="{check}"}}]'
    model = {"dim": 16, "heads": 2, "layers": 1}
    with pytest.raises(DataError) as caught:
        prepare_task(classifier(rows, model, extra), tmp_path, tmp_path / "cache", print)
    assert str(caught.value).startswith(f"{check}, line 2: the model does not know this label.")
    assert "expected: one of even, odd" in str(caught.value)
    with check.open("a", encoding="utf-8") as file:
        file.write("four\n")
    config = classifier(rows, model, extra, "data.skip_damaged=true")
    said: list[str] = []
    prepare_task(config, tmp_path, tmp_path / "cache", said.append)
    text = "\n".join(said)
    assert "validation: check.tsv: 4 texts read, 1 kept" in text
    assert "dropped, a label unknown to training: 1 (line 2)" in text
    assert "dropped, no label: 1 (line 3)" in text
    assert "dropped, the row has too few columns: 1 (line 4)" in text


def test_a_classifier_takes_its_sizes_from_one_place(rows, tmp_path):
    with pytest.raises(ConfigError, match="`pretrained` brings its own dim, layers"):
        classifier(rows, {"pretrained": str(tmp_path), "layers": 2, "dim": 8})


def test_a_classifier_cannot_start_from_any_model(rows, tmp_path, tiny_bundle):
    config = classifier(rows, {"pretrained": str(tiny_bundle)})
    with pytest.raises(ConfigError, match="a text classifier cannot start from this model"):
        prepare_task(config, tmp_path, tmp_path / "cache", print)


NAMED = 'data.labels={even="gerade", odd="ungerade"}'


def test_labels_have_names_for_people(rows, tmp_path, recorder, capsys):
    """Programs and evaluation have the labels of the data; what people read has the names."""
    model = {"dim": 16, "heads": 2, "layers": 1}
    config = classifier(rows, model, NAMED, "training.steps=2")
    folder = train(config, tmp_path / "runs", recorder()).model
    bundle = read_bundle(folder).config
    assert (bundle.labels, bundle.label_names["odd"]) == (("even", "odd"), "ungerade")
    system = jumok.load(folder, device="cpu")
    (found,) = system.classify(["one two"])
    trace = jumok.trace(system, "one two")
    assert found.label in ("even", "odd")
    assert trace.output == bundle.label_names[found.label]
    assert {token for token, _ in trace.steps[0].best} == {"gerade", "ungerade"}
    assert jumok.trace(system, "one two", "odd").output == "ungerade"
    info(folder)
    assert "even (gerade), odd (ungerade)" in capsys.readouterr().out


@pytest.mark.parametrize("labels", ['{even="same", odd="same"}', '{even=" "}'])
def test_every_label_has_another_name(rows, labels):
    with pytest.raises(ConfigError, match="labels gives every label a name, each another one"):
        classifier(rows, {"dim": 16, "heads": 2, "layers": 1}, f"data.labels={labels}")


def test_a_name_is_that_of_a_label(rows, tmp_path):
    named = 'data.labels={even="gerade", old="alt"}'
    config = classifier(rows, {"dim": 16, "heads": 2, "layers": 1}, named)
    with pytest.raises(ConfigError, match="a name is given to a label that no training text has"):
        prepare_task(config, tmp_path, tmp_path / "cache", print)
