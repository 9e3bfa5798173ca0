"""Vectors of words and neighbours of sentences, by hand."""

from pathlib import Path

import pytest
import torch

from jumok.lab.experiments import context
from jumok.lab.findings import Setting
from jumok.systems.words import WordSpace


def test_the_cosine_of_equal_vectors_is_one_and_of_right_angles_nothing() -> None:
    assert context.cosine_of_word([torch.tensor([1.0, 2.0])] * 3) == pytest.approx(1.0)
    right = [torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])]
    assert context.cosine_of_word(right) == pytest.approx(0.0)


def test_what_all_vectors_share_is_taken_out() -> None:
    sentences = [torch.tensor([[9.0, 1.0], [9.0, 2.0]]), torch.tensor([[12.0, 3.0]])]
    first, second = context.centred(sentences)
    assert first.tolist() == [[-1.0, -1.0], [-1.0, 0.0]]
    assert second.tolist() == [[2.0, 1.0]]


def test_a_sentence_shares_with_its_nearest_neighbour() -> None:
    kinds = [frozenset("ab"), frozenset("ac"), frozenset("d")]
    vectors = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.5, 0.8]])
    # 0 and 1 are each other's nearest: 1 of 3 constructions; 2's nearest is 1: 0 of 3.
    assert context.shared(kinds, vectors) == pytest.approx((1 / 3 + 1 / 3 + 0) / 3)


def test_words_without_a_vector_before_the_encoder_are_left_out() -> None:
    class Two:
        def word_vectors(self, text: str) -> tuple[tuple[str, ...], torch.Tensor]:
            return tuple(text.split()), torch.tensor([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])

    space = WordSpace(["cat", "the"], torch.tensor([[0.0, 2.0], [1.0, 0.0]]))
    read = context.words_of(Two(), space, "The big cat")
    assert read.names == ("▁The", "▁cat")
    assert read.static.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert read.contextual.tolist() == [[1.0, 0.0], [3.0, 0.0]]


def test_the_lab_reads_an_encoder_that_was_trained_before(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["the cat sat", "the cat saw the dog", "I am a student", "the dog sat"]
    kinds = [frozenset("ab"), frozenset("a"), frozenset("c"), frozenset("ab")]
    monkeypatch.setattr(context.world, "read", lambda *_: (lines, lines))
    monkeypatch.setattr(context.world, "kinds", lambda *_: kinds)
    found = context.run(Setting((1,), False, tmp_path, encoder=tiny_bundle))
    assert "the" in found.figures["cosine"]
    assert set(found.figures["shared_constructions"]) == {"static", "contextual"}


def test_the_claim_has_two_halves() -> None:
    apart, alike = {"go": 0.5}, {"static": 0.3, "contextual": 0.5}
    found = context.report(apart, alike)
    assert found.outcome == "holds"
    assert "a mean cosine below 0.90 and more than 2 points more in common" in found.sentence.en
    assert context.report({"go": 0.99}, alike).outcome == "partly"
    assert context.report({"go": 0.99}, {"static": 0.5, "contextual": 0.5}).outcome == "fails"
