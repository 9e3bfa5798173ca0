"""Where tokens are in their text."""

import pytest

from jumok.serving.http.api.explaining import spans


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
