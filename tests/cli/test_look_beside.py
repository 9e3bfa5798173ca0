"""`jumok look --against`, `--with` and `--before`: what is traced beside the first."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import jumok
from jumok.data.tokenizer import Tokenizer
from jumok.errors import BundleError, ConfigError
from tests.bundle.conftest import sign
from tests.cli.calls import call
from tests.conftest import TINY_TEXT
from tests.inspection.pages import page_data
from tests.systems.tuned import tune


def look(*words: str | Path) -> None:
    done = call("look", *words, "--device", "cpu", "--beam", "1")
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output


def shown(file: Path) -> dict:
    return page_data(file.read_text(encoding="utf-8"))


def test_a_second_sentence_is_in_the_page_and_its_words_are_compared(tiny_bundle, tmp_path):
    file = tmp_path / "page.html"
    look(tiny_bundle, "the cat sat", "--against", "the cat", "--save", file, "--target", "개가")
    data = shown(file)
    assert (data["text"], data["other"]["text"]) == ("the cat sat", "the cat")
    against = data["findings"]["similarity"]["encoder"]
    assert against["texts"] == ["the", "cat"]
    assert against["cosines"][0][1][1] == pytest.approx(1.0, abs=1e-4)
    assert data["level"] == "qk"


def test_a_second_model_reads_and_writes_the_same(tiny_bundle, tmp_path):
    file = tmp_path / "page.html"
    look(tiny_bundle, "the cat sat", "--with", tiny_bundle, "--save", file, "--target", "개가")
    data = shown(file)
    assert data["other"]["text"] == "the cat sat"
    assert data["other"]["output"] == data["output"] == "개가"
    assert data["other"]["steps"] == data["steps"], "it is the same model"


def test_two_traces_are_no_file_of_numbers(tiny_bundle, tmp_path):
    with pytest.raises(ConfigError, match=r"an \.npz file holds one trace"):
        look(tiny_bundle, "the cat", "--against", "the", "--save", tmp_path / "t.npz")


def test_a_second_sentence_must_be_one(tiny_bundle, tmp_path):
    with pytest.raises(Exception, match="cannot be traced in one pass"):
        look(tiny_bundle, "the cat", "--against", " ", "--save", tmp_path / "t.html")


def test_a_model_before_training_writes_the_tokens_of_the_tuned_one(tiny_bundle, tmp_path):
    tuned = tune(tiny_bundle, tmp_path / "tuned")
    look(tuned, "the cat sat", "--before", tiny_bundle, "--save", tmp_path / "page.html")
    data = shown(tmp_path / "page.html")
    assert data["before"] is True
    assert data["other"]["findings"]["written"] == data["findings"]["written"]
    own = jumok.load(tiny_bundle, device="cpu").translate(["the cat sat"], beam=1)[0].text
    assert data["other"]["findings"]["own_output"] == own
    assert data["other"]["fingerprint"] != data["fingerprint"]


def test_models_of_other_sizes_are_not_one_before_and_after_training(tiny_bundle, tmp_path):
    other = tune(tiny_bundle, tmp_path / "other", heads=6)
    with pytest.raises(BundleError) as caught:
        look(tiny_bundle, "the cat", "--before", other, "--save", tmp_path / "page.html")
    said = str(caught.value)
    assert caught.value.exit_code == 2
    assert said.startswith(f"{other}: these models have different sizes, so they are not one model")
    assert "expected: heads = 3\n" in said
    assert "got:      6\n" in said
    assert "do:       name the model that it was trained from; --with compares any two" in said


def test_tensors_of_other_shapes_are_named(tiny_bundle, tmp_path):
    other = tune(tiny_bundle, tmp_path / "other")
    weights = load_file(other / "model.safetensors")
    name = min(weights)
    shape = weights[name].shape
    weights[name] = np.zeros((*shape, 2), weights[name].dtype)
    save_file(weights, other / "model.safetensors")
    sign(other)
    with pytest.raises(BundleError) as caught:
        look(tiny_bundle, "the cat", "--before", other, "--save", tmp_path / "page.html")
    said = str(caught.value)
    assert "these models have different shapes" in said
    assert f"expected: {name}: {' x '.join(map(str, shape))}\n" in said
    assert f"got:      {' x '.join(map(str, (*shape, 2)))}\n" in said


def test_another_vocabulary_is_refused(tiny_bundle, tmp_path):
    other = tune(tiny_bundle, tmp_path / "other")
    Tokenizer.train(
        ["a quite different text about ships and the sea"] * 40 + TINY_TEXT, "bpe", 350
    ).save(other / "tokenizer.model")
    with pytest.raises(BundleError) as caught:
        look(tiny_bundle, "the cat", "--before", other, "--save", tmp_path / "page.html")
    said = str(caught.value)
    assert "these models have different vocabularies" in said
    assert f"expected: the tokenizer of {tiny_bundle}\n" in said
    assert "got:      another tokenizer of the same size\n" in said


@pytest.mark.parametrize("beside", ["--with", "--against"])
def test_before_stands_alone(tiny_bundle, tmp_path, beside):
    with pytest.raises(ConfigError) as caught:
        look(tiny_bundle, "a", "--before", tiny_bundle, beside, tiny_bundle)
    assert "--before compares one text in two models." in str(caught.value)
    assert f"got:      --before and {beside}\n" in str(caught.value)
