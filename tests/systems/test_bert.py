"""Texts as vectors of a BERT that somebody else trained: means of what Hugging Face computes."""

import json
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

import jumok
from jumok.cli.main import app
from jumok.systems.bert import Bert

pytest.importorskip("transformers")

from tests.parity.bert import DIM, LENGTH, bert, save

TEXTS = ["the cats sat downly", "the cat", ""]
IDS = [[2, 5, 6, 9, 7, 8, 10, 3], [2, 5, 6, 3], [2, 3]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(bert().bert, tmp_path_factory.mktemp("berts") / "small-bert")


@pytest.fixture(scope="module")
def system(folder: Path) -> Bert:
    loaded = jumok.load(folder, device="cpu")
    assert isinstance(loaded, Bert)
    return loaded


@torch.no_grad()
def states(ids: list[int]) -> torch.Tensor:
    return bert().bert(torch.tensor([ids])).last_hidden_state[0]


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_a_sentence_is_the_mean_of_its_pieces(system: Bert, batch_size: int) -> None:
    expected = torch.stack([states(ids).mean(0) for ids in IDS])
    found = system.sentence_vectors(TEXTS, batch_size)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert system.sentence_vectors([]).shape == (0, DIM)
    answers = system.answer(TEXTS)
    torch.testing.assert_close(torch.tensor([each["vector"] for each in answers]), found)


def test_a_word_is_the_mean_of_its_pieces(system: Bert) -> None:
    words, vectors = system.word_vectors(TEXTS[0])
    assert words == ("the", "cats", "sat", "downly")
    all_states = states(IDS[0])
    expected = torch.stack(
        [all_states[1], all_states[2:4].mean(0), all_states[4], all_states[5:7].mean(0)]
    )
    torch.testing.assert_close(vectors, expected, atol=1e-5, rtol=0)
    assert system.word_vectors("")[1].shape == (0, DIM)


def test_of_a_long_text_the_beginning_is_read(system: Bert) -> None:
    long = "the cat " * LENGTH
    begun = [*[2, *([5, 6] * LENGTH)][: LENGTH - 1], 3]
    expected = states(begun).mean(0)
    torch.testing.assert_close(system.sentence_vectors([long])[0], expected, atol=1e-5, rtol=0)
    assert len(system.word_vectors(long)[0]) == LENGTH - 2


def test_the_number_format_is_known(folder: Path) -> None:
    loaded = jumok.load(folder, device="cpu", precision="bf16")
    assert loaded.computed_by == {"name": "torch", "precision": "bf16"}


def test_whole_words_are_a_space(system: Bert) -> None:
    assert system.word_space().words == ["the", "cat", "sat", "down"]


def test_embed_takes_the_folder(folder: Path) -> None:
    done = CliRunner().invoke(app, ["embed", str(folder)], input="the cat\n")
    assert done.exit_code == 0, done.exception
    vector = torch.tensor(json.loads(done.stdout)["vector"])
    torch.testing.assert_close(vector, states(IDS[1]).mean(0), atol=1e-4, rtol=0)


def test_another_verb_names_the_one_that_reads_it(folder: Path) -> None:
    error = CliRunner().invoke(app, ["translate", str(folder)], input="a\n").exception
    assert "jumok cannot translate with a bert model of transformers (BertModel)" in str(error)
    assert "jumok look, explain and embed" in str(error)
    error = CliRunner().invoke(app, ["info", str(folder)]).exception
    assert f"{folder}: this is a bert model of transformers (BertModel)" in str(error)
    assert "jumok look, explain and embed" in str(error)


def test_a_masked_language_model_of_transformers_is_called_so(tmp_path: Path) -> None:
    save(bert(), tmp_path)
    error = CliRunner().invoke(app, ["fill", str(tmp_path)], input="the [MASK]\n").exception
    assert "cannot fill with a bert model of transformers (BertForMaskedLM)" in str(error)
    assert "only its encoder is read" in str(error)
