"""`jumok embed`, in this process: what it prints and what it refuses."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from jumok.errors import BundleError, ConfigError, DataError
from tests.cli.calls import call, fault

VECTORS = "왕 1 1 0\n남자 1 0 0\n여자 0 0 1\n여왕 0 1 1\n사과 0.2 -1 0.1\n"


embed = partial(call, "embed")
refused = partial(fault, "embed")


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    pytest.importorskip("gensim")
    file = tmp_path / "vectors.txt"
    file.write_text(VECTORS, encoding="utf-8")
    return file


def test_a_line_becomes_a_vector_in_its_order(tiny_bundle: Path) -> None:
    out = embed(tiny_bundle, given="the cat\n\nI am a student.\n").stdout
    found = [json.loads(line) for line in out.splitlines()]
    assert [each["text"] for each in found] == ["the cat", "", "I am a student."]
    assert [len(each["vector"]) for each in found] == [24, 24, 24]
    assert not any(found[1]["vector"])
    assert any(found[0]["vector"])


def test_words_come_with_a_vector_each(tiny_bundle: Path) -> None:
    out = embed(tiny_bundle, "--words", given="the cat sat.\n").stdout
    found = json.loads(out)
    assert found["words"] == ["the", "cat", "sat."]
    assert [len(vector) for vector in found["vectors"]] == [24, 24, 24]


def test_a_matrix_holds_the_same_numbers(tiny_bundle: Path, tmp_path: Path) -> None:
    text, matrix = tmp_path / "a.txt", tmp_path / "a.npy"
    text.write_text("the cat\nI am a student.\n", encoding="utf-8")
    assert embed(tiny_bundle, text, "--output", matrix).stdout == ""
    found = np.load(matrix)
    lines = embed(tiny_bundle, text).stdout.splitlines()
    expected = [json.loads(line)["vector"] for line in lines]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert found.dtype == np.float32
    text.write_text("", encoding="utf-8")
    embed(tiny_bundle, text, "--output", matrix)
    assert np.load(matrix).shape == (0, 24)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy", "a.txt"]


def test_king_minus_man_plus_woman(vectors: Path) -> None:
    out = embed(vectors, "--analogy", "왕", "남자", "여자", "--top", "1").stdout
    assert out.split() == ["0.959", "여왕"]


def test_nearest_words_of_a_file_and_of_a_model(vectors: Path, tiny_bundle: Path) -> None:
    found = json.loads(embed(vectors, "--nearest", "왕", "--top", "2", "--json").stdout)
    assert [each["text"] for each in found] == ["남자", "여왕"]
    assert found[0]["cosine"] == pytest.approx(0.5**0.5)
    assert len(embed(tiny_bundle, "--nearest", "the", "--top", "3").stdout.splitlines()) == 3


def test_nearest_lines_of_a_corpus(tiny_bundle: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("나는 학생입니다.\n\nthe cat sat\nI am a student.\n", encoding="utf-8")
    arguments = ["--corpus", corpus, "--top", "2"]
    out = embed(tiny_bundle, "--nearest", "the cat sat", *arguments).stdout
    assert out.splitlines()[0] == "1.000  the cat sat"
    assert len(out.splitlines()) == 2


def test_scores_come_with_their_coverage(vectors: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("왕 남자 3\n왕 여왕 2\n남자 여자 1\n왕 달 9\n", encoding="utf-8")
    analogies = tmp_path / "analogies.txt"
    analogies.write_text(": family\n남자 여자 왕 여왕\n", encoding="utf-8")
    out = embed(vectors, "--evaluate", pairs, "--evaluate", analogies).stdout
    lines = [line.split() for line in out.splitlines()]
    assert ["Spearman,", "pairs", "100.00", "3", "of", "4", "(75.0%)"] in lines
    assert ["analogies", "100.00", "1", "of", "1", "(100.0%)"] in lines
    assert out.count("3CosAdd") == 1
    scores = json.loads(embed(vectors, "--evaluate", pairs, "--json").stdout)
    assert scores[0]["name"] == "Spearman, pairs"
    assert scores[0]["value"] == pytest.approx(100)
    pairs.write_text("왕 달 9\n", encoding="utf-8")
    assert json.loads(embed(vectors, "--evaluate", pairs, "--json").stdout)[0]["value"] is None
    lines = [line.split() for line in embed(vectors, "--evaluate", pairs).stdout.splitlines()]
    assert ["Spearman,", "pairs", "-", "0", "of", "1", "(0.0%)"] in lines


def test_a_file_of_vectors_that_is_not_there_is_no_missing_bundle(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    error = refused(tmp_path / "vectors.txt", "--nearest", "왕")
    assert isinstance(error, DataError)
    assert "no such file" in str(error)


def test_what_cannot_be_is_refused(tiny_bundle: Path, tmp_path: Path) -> None:
    error = refused(tiny_bundle, "--corpus", tmp_path / "a.txt")
    assert isinstance(error, ConfigError)
    assert "--corpus needs --nearest." in str(error)
    error = refused(tiny_bundle, "--words", "--output", tmp_path / "a.npy", given="a\n")
    assert isinstance(error, ConfigError)
    assert "a matrix has no room for the names of words." in str(error)
    error = refused(tiny_bundle, "--nearest", "zyx")
    assert isinstance(error, DataError)
    assert "this word has no vector." in str(error)
    assert isinstance(refused(tmp_path / "none", given="a\n"), BundleError)
