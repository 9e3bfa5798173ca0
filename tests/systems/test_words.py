"""Neighbours and analogies on vectors one can draw."""

import unicodedata

import pytest
import torch

from jumok.errors import DataError
from jumok.systems.words import WordSpace

# male, female, royal; lengths differ, directions count
PLACES = {
    "왕": [2.0, 0, 2], "남자": [3.0, 0, 0], "여자": [0, 1.0, 0], "여왕": [0, 5.0, 5],
    "Athens": [-1.0, -1, 0], "나라": [1.0, 1, 9],
}  # fmt: skip
SPACE = WordSpace(list(PLACES), torch.tensor(list(PLACES.values())))


def test_king_minus_man_plus_woman_is_queen():
    best, second = SPACE.analogy("왕", "남자", "여자", top=2)
    assert best.text == "여왕"
    # (1, 0, 1)/r2 - (1, 0, 0) + (0, 1, 0) with (0, 1, 1)/r2
    direction = torch.tensor([0.5**0.5 - 1, 1, 0.5**0.5])
    expected = float(direction @ torch.tensor([0, 0.5**0.5, 0.5**0.5]) / direction.norm())
    assert best.cosine == pytest.approx(expected, abs=1e-6)
    assert second.text == "나라"


def test_given_words_are_no_answers():
    texts = [found.text for found in SPACE.analogy("왕", "남자", "여자", top=9)]
    assert sorted(texts) == ["Athens", "나라", "여왕"]
    assert "왕" not in [found.text for found in SPACE.nearest("왕", top=9)]


def test_nearest_is_by_angle_not_by_length():
    assert [found.text for found in SPACE.nearest("왕", top=2)] == ["나라", "남자"]
    assert SPACE.nearest("왕", 1)[0].cosine == pytest.approx(20 / (8**0.5 * 83**0.5))


def test_many_analogies_at_once_are_those_one_by_one():
    words = [("왕", "남자", "여자"), ("여왕", "여자", "남자"), ("왕", "왕", "여자")]
    rows = torch.tensor([[SPACE.row(word) for word in three] for three in words])
    found = [SPACE.words[row] for row in SPACE.solve(rows, chunk=2)]
    assert found == [SPACE.analogy(*three, top=1)[0].text for three in words]


def test_words_are_found_in_nfc_and_in_lower_case():
    space = WordSpace([unicodedata.normalize("NFD", "왕"), "athens"], torch.eye(2))
    assert space.row("왕") == 0
    assert space.row("Athens") == 1
    assert SPACE.row("athens") is None  # nobody's text is lower-cased by writing it in capitals


def test_a_word_without_a_vector_is_refused_with_those_like_it():
    with pytest.raises(DataError) as caught:
        SPACE.nearest("Athen", 1)
    assert "this word has no vector." in str(caught.value)
    assert "did you mean 'Athens'?" in str(caught.value)
    with pytest.raises(DataError, match="choose one of the 6 words that have one"):
        SPACE.analogy("왕", "남자", "xyz", 1)


def test_a_vector_of_zeros_is_near_nothing():
    space = WordSpace(["a", "b"], torch.tensor([[0.0, 0], [1, 0]]))
    assert space.nearest("b", 1)[0].cosine == 0
