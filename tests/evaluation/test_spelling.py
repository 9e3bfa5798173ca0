"""Characters and lines counted by hand."""

import unicodedata

import pytest

from jumok.errors import DataError
from jumok.evaluation.spelling import edit_distance, score_spelling


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [
        ("", "", 0),
        ("", "abc", 3),
        ("kitten", "sitting", 3),  # Wagner and Fischer's operations: replace, replace, insert
        ("sitting", "kitten", 3),
        ("가나다", "가라다라", 2),
        ("abcd", "badc", 3),
    ],
)
def test_edit_distance_is_the_one_counted_by_hand(left, right, distance):
    assert edit_distance(left, right) == distance


def test_accuracy_counts_lines_and_character_accuracy_counts_edits():
    # 2 of 3 lines; one character of nine is wrong
    accuracy, characters = score_spelling(
        ["가나다", "마바사", "아 자"], ["가나다", "마바라", "아 자"]
    )
    assert (accuracy.name, characters.name) == ("accuracy", "character accuracy")
    assert accuracy.value == pytest.approx(100 * 2 / 3)
    assert characters.value == pytest.approx(100 * 8 / 9)


def test_hangul_taken_apart_and_outer_spaces_are_no_mistake():
    apart = unicodedata.normalize("NFD", "한글")
    assert [score.value for score in score_spelling([f" {apart} "], ["한글"])] == [100, 100]


def test_character_accuracy_may_be_negative():
    assert score_spelling(["xxxx"], ["가"])[1].value == pytest.approx(-300)


@pytest.mark.parametrize(
    ("hypotheses", "references", "text"),
    [
        (["a"], ["a", "b"], "expected: 2 lines, as many as references\n  got:      1 lines"),
        ([], [], "there is nothing to compare with"),
        (["a"], [" "], "there is nothing to compare with"),
    ],
)
def test_texts_that_cannot_be_compared_are_refused(hypotheses, references, text):
    with pytest.raises(DataError, match=text):
        score_spelling(hypotheses, references)
