"""Neighbours, analogies and likeness of words against gensim's."""

from pathlib import Path

import numpy as np
import pytest
import torch

from jumok.evaluation.words import score_words
from jumok.systems.words import WordSpace

models = pytest.importorskip("gensim.models", reason="needs the extra vectors")

WORDS = [f"w{number}" for number in range(60)]


@pytest.fixture(scope="module")
def matrix() -> np.ndarray:
    """Vectors of so small a width that analogies are solved now and then by chance."""
    return np.random.default_rng(1).normal(size=(60, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def theirs(matrix):
    vectors = models.KeyedVectors(3)
    vectors.add_vectors(WORDS, matrix)
    return vectors


@pytest.fixture(scope="module")
def ours(matrix) -> WordSpace:
    return WordSpace(WORDS, torch.from_numpy(matrix))


def test_neighbours_and_analogies_are_gensims(ours, theirs):
    for found, expected in (
        (ours.nearest("w3", 7), theirs.most_similar("w3", topn=7)),
        (
            ours.analogy("w3", "w4", "w5", 7),
            theirs.most_similar(positive=["w3", "w5"], negative=["w4"], topn=7),
        ),
    ):
        assert [each.text for each in found] == [word for word, _ in expected]
        cosines = [cosine for _, cosine in expected]
        assert [each.cosine for each in found] == pytest.approx(cosines, abs=1e-5)


def test_scores_are_gensims(ours, theirs, tmp_path: Path):
    draw = np.random.default_rng(2)
    questions = [draw.choice(WORDS, 4, replace=False) for _ in range(400)]
    analogies, pairs = tmp_path / "analogies.txt", tmp_path / "pairs.txt"
    analogies.write_text(": all\n" + "".join(" ".join(each) + "\n" for each in questions))
    (_, whole) = score_words(ours, analogies)
    expected, _ = theirs.evaluate_word_analogies(str(analogies), case_insensitive=False)
    assert whole.value == pytest.approx(100 * expected)
    assert 0 < whole.value < 50
    lines = [f"{one}\t{other}\t{draw.integers(10)}\n" for one, other, *_ in questions]
    pairs.write_text("".join(lines))
    (likeness,) = score_words(ours, pairs)
    _, spearman, _ = theirs.evaluate_word_pairs(str(pairs), case_insensitive=False)
    assert likeness.value == pytest.approx(100 * spearman.statistic, abs=1e-6)
