"""Texts as vectors of a BERT that somebody else trained: means of what Hugging Face computes."""

import json
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

import jumok
from jumok.cli.main import app
from jumok.systems.masked_model import MaskedModel

pytest.importorskip("transformers")

from tests.interop.bert import DIM, LENGTH, bert, save

TEXTS = ["the cats sat downly", "the cat", ""]
IDS = [[2, 5, 6, 9, 7, 8, 10, 3], [2, 5, 6, 3], [2, 3]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(bert().bert, tmp_path_factory.mktemp("berts") / "small-bert")


@pytest.fixture(scope="module")
def system(folder: Path) -> MaskedModel:
    loaded = jumok.load(folder, device="cpu")
    assert isinstance(loaded, MaskedModel)
    return loaded


@torch.no_grad()
def states(ids: list[int]) -> torch.Tensor:
    return bert().bert(torch.tensor([ids])).last_hidden_state[0]


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_a_sentence_is_the_mean_of_its_pieces(system: MaskedModel, batch_size: int) -> None:
    expected = torch.stack([states(ids).mean(0) for ids in IDS])
    found = system.sentence_vectors(TEXTS, batch_size)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert system.sentence_vectors([]).shape == (0, DIM)


def test_a_word_is_the_mean_of_its_pieces(system: MaskedModel) -> None:
    words, vectors = system.word_vectors(TEXTS[0])
    assert words == ("the", "cats", "sat", "downly")
    all_states = states(IDS[0])
    expected = torch.stack(
        [all_states[1], all_states[2:4].mean(0), all_states[4], all_states[5:7].mean(0)]
    )
    torch.testing.assert_close(vectors, expected, atol=1e-5, rtol=0)
    assert system.word_vectors("")[1].shape == (0, DIM)


def test_of_a_long_text_the_beginning_is_read(system: MaskedModel) -> None:
    long = "the cat " * LENGTH
    begun = [*[2, *([5, 6] * LENGTH)][: LENGTH - 1], 3]
    expected = states(begun).mean(0)
    torch.testing.assert_close(system.sentence_vectors([long])[0], expected, atol=1e-5, rtol=0)
    assert len(system.word_vectors(long)[0]) == LENGTH - 2


def test_the_number_format_is_known(folder: Path) -> None:
    loaded = jumok.load(folder, device="cpu", precision="bf16")
    # The name says the native engine where the processor multiplies bfloat16, otherwise torch.
    assert loaded.computed_by["precision"] == "bf16"


def test_whole_words_are_a_space(system: MaskedModel) -> None:
    assert system.word_space().words == ["the", "cat", "sat", "down"]


def test_embed_takes_the_folder(folder: Path) -> None:
    done = CliRunner().invoke(app, ["embed", str(folder)], input="the cat\n")
    assert done.exit_code == 0, done.exception
    vector = torch.tensor(json.loads(done.stdout)["vector"])
    torch.testing.assert_close(vector, states(IDS[1]).mean(0), atol=1e-4, rtol=0)


def test_another_verb_names_the_one_that_reads_it(folder: Path) -> None:
    error = CliRunner().invoke(app, ["translate", str(folder)], input="a\n").exception
    assert "this model cannot translate" in str(error)
    assert "jumok fill" in str(error)
    error = CliRunner().invoke(app, ["info", str(folder)]).exception
    assert f"{folder}: this is a bert model of transformers (BertModel)" in str(error)
    assert "jumok import FOLDER --output MODEL" in str(error)


def test_an_encoder_alone_fills_nothing(folder: Path) -> None:
    error = CliRunner().invoke(app, ["fill", str(folder)], input="the [MASK]\n").exception
    assert "an encoder without a prediction head" in str(error)


def test_a_masked_language_model_fills_as_transformers_does(tmp_path: Path) -> None:
    (filled,) = jumok.load(save(bert(), tmp_path), kind=MaskedModel, device="cpu").fill(
        ["the [MASK] sat"], top=3
    )
    with torch.no_grad():
        logits = bert()(torch.tensor([[2, 5, 4, 7, 3]])).logits[0, 2]
    expected = logits.softmax(0)
    words = {"the": 5, "cat": 6, "sat": 7, "down": 8}
    for candidate in filled.gaps[0]:
        assert candidate.probability == pytest.approx(float(expected[words[candidate.text]]))
