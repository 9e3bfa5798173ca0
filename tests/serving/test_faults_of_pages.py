"""What is wrong is sent to the page in parts, with the name of the page's own text for it."""

import re
from pathlib import Path

import pytest

from jumok.data.files.images import read_image
from jumok.errors import DataError, JumokError, Location
from jumok.serving.local import error_parts
from jumok.tracing.request import check_length

ROOT = Path(__file__).parents[2]
WORDS = (ROOT / "web" / "words_faults.js").read_text("utf-8")
NAME = re.compile(r"^    (fault[A-Z]\w*):", re.MULTILINE)
GIVEN = re.compile(r'"(fault[A-Z]\w*)"')


def test_every_name_has_a_text_in_both_languages_and_every_text_is_used():
    english, korean = (NAME.findall(part) for part in WORDS.split("  ko: {"))
    assert english == korean
    given = {
        name
        for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "web").rglob("*.js")]
        for name in GIVEN.findall(path.read_text("utf-8"))
    }
    plain = {"faultEmpty", "faultSays"}  # which the page also uses by themselves
    assert given | plain == {*english}


def test_the_korean_texts_are_korean():
    for line in WORDS.split("  ko: {")[1].splitlines():
        if line.startswith("    fault"):
            assert re.search("[가-힣]", line), line


def test_the_parts_are_sent_and_what_is_empty_is_not():
    error = DataError("a", expected="b", do="d", place=Location("f", 3), known=("faultLong", 9, 5))
    told = {"what": "a", "expected": "b", "do": "d", "place": "f, line 3"}
    assert error_parts(error) == told | {"known": "faultLong", "numbers": [9, 5]}
    assert error_parts(JumokError("a")) == {"what": "a"}


@pytest.mark.parametrize(
    ("content", "known"),
    [
        (b"<!doctype html>", ("faultNotImage",)),
        (b"", ("faultNoBytes",)),
        (b"\0\0\0\x18ftypheic" + bytes(40), ("faultPhone",)),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), ("faultNotImage",)),
    ],
)
def test_files_that_are_no_images_are_named(content, known):
    with pytest.raises(DataError) as wrong:
        read_image(content, "a.png")
    assert wrong.value.known == known
    assert "b'" not in str(wrong.value)


def test_missing_files_and_lengths_are_named(tmp_path):
    with pytest.raises(DataError) as wrong:
        read_image(tmp_path / "none.png")
    assert wrong.value.known == ("faultUnreadable",)
    with pytest.raises(DataError) as wrong:
        check_length("a b", [1, 2, 3], 2)
    assert wrong.value.known == ("faultLong", 3, 2)
    with pytest.raises(DataError) as wrong:
        check_length("", [], 2)
    assert wrong.value.known == ("faultEmpty",)
