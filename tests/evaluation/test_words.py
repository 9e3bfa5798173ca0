"""Analogies and likeness, by hand; ranks against SciPy where it is installed."""

import os
from pathlib import Path

import pytest
import torch

from jumok.errors import DataError
from jumok.evaluation.words import read_questions, score_words
from jumok.systems.words import WordSpace

PLACES = {
    "man": [1.0, 0, 0], "woman": [0, 1.0, 0], "king": [1.0, 0, 1], "queen": [0, 1.0, 1],
    "boy": [1.0, 0, -1], "girl": [0, -1.0, -1],
}  # fmt: skip
SPACE = WordSpace(list(PLACES), torch.tensor(list(PLACES.values())))

ANALOGIES = """: family
man woman king queen
man woman boy girl
king queen man woman
: city in country
Athens Greece Oslo Norway
"""


def file(folder: Path, content: str) -> Path:
    path = folder / "questions.txt"
    path.write_text(content, encoding="utf-8")
    return path


def test_analogies_solved_are_counted_a_section_and_in_all(tmp_path):
    """boy - man + woman is nearest to queen's side, not to girl; two of three are right."""
    family, city, whole = score_words(SPACE, file(tmp_path, ANALOGIES))
    assert (family.name, family.on) == ("family", "3 of 3 (100.0%)")
    assert family.value == pytest.approx(200 / 3)
    assert (city.known, city.on) == (False, "0 of 1 (0.0%)")
    assert (whole.name, whole.on) == ("analogies", "3 of 4 (75.0%)")
    assert whole.value == pytest.approx(200 / 3)


def test_likeness_is_the_correlation_of_ranks(tmp_path):
    """Cosines 0.5 (king queen), 0.71 (man king), 0 (man woman) against ranks 2, 3, 1: perfect."""
    content = "king queen 5\nman\tking\t9.5\nman woman 1\nman moon 3\n"
    (score,) = score_words(SPACE, file(tmp_path, content))
    assert score.name == "Spearman, questions"
    assert score.value == pytest.approx(100)
    assert score.on == "3 of 4 (75.0%)"
    (score,) = score_words(SPACE, file(tmp_path, "king queen 5\nman moon 3\n"))
    assert (score.known, score.on) == (False, "1 of 2 (50.0%)")


@pytest.mark.parametrize(
    ("content", "line", "expected"),
    [
        (": family\nman woman king\n", 2, "four words under a line such as ': family'"),
        ("man woman 1\nman king high\n", 2, "two words and a number"),
        ("man woman 1\n: family\n", 2, "two words and a number"),
        ("man woman king queen\n", 1, "two words and a number, or ': family'"),
    ],
)
def test_a_line_that_is_no_question_is_named(tmp_path, content, line, expected):
    with pytest.raises(DataError) as caught:
        score_words(SPACE, file(tmp_path, content))
    assert f"questions.txt, line {line}: this line is not a question about words." in str(
        caught.value
    )
    assert expected in str(caught.value)


def test_a_file_without_questions_is_refused(tmp_path):
    with pytest.raises(DataError, match="there is no question in this file"):
        score_words(SPACE, file(tmp_path, ": family\n\n"))


def test_the_real_questions_can_be_read():
    folder = Path(os.environ.get("JUMOK_DATA", ""), "embed_eval")
    if not folder.is_dir():
        pytest.skip("needs $JUMOK_DATA/embed_eval")
    assert len(read_questions(folder / "questions-words.txt").words) == 19544
    sizes = {path.stem: len(read_questions(path).words) for path in folder.glob("word-sim/*.txt")}
    assert sizes["EN-WS-353-ALL"] == 353
    assert sizes["EN-SIMLEX-999"] == 999
