"""Where tokens are in their text."""

import pytest

from jumok.serving.http.api.explaining import spans
from jumok.serving.http.api.scripts import likely_languages


@pytest.mark.parametrize(
    ("tokens", "text", "expected"),
    [
        (["▁the", "▁c", "at"], "the cat", [(0, 3), (4, 5), (5, 7)]),
        (["▁the", "▁", "cat"], "  the   cat ", [(2, 5), (5, 5), (8, 11)]),
        (["▁", "<0xEA>", "<0xB0>", "<0x80>", "a"], "가a", [(0, 0), *[(0, 1)] * 3, (1, 2)]),
        (["▁\U0001f600", "b"], "\U0001f600b", [(0, 1), (1, 2)]),
        (["▁a", "<0xEA>", "b"], "a\ufffdb", [(0, 1), (1, 2), (2, 3)]),
        (["▁a", "<0x04>", "▁b"], "a  b", [(0, 1), (1, 1), (3, 4)]),
        (["▁a"], "b", None),
        (["▁\uac00"], "\u1100\u1161", None),
        ([], "", []),
    ],
)
def test_spans_are_in_code_points(tokens, text, expected):
    assert spans(tokens, text) == expected


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("the cat", ["en", "ko"], [("en", 100.0)]),
        ("the cat", ["en", "de"], [("en", 50.0), ("de", 50.0)]),
        ("고양이가", ["en", "ko"], [("ko", 100.0)]),
        ("кот", ["en", "ko"], []),
        ("猫が", ["ja", "zh"], [("ja", 75.0), ("zh", 25.0)]),
        ("123 ...", ["en"], []),
    ],
)
def test_languages_are_those_of_the_script(text, known, expected):
    assert likely_languages(text, known) == expected
