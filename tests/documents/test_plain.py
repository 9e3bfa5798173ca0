import pytest

from jumok.documents.plain import looks_wrapped


@pytest.mark.parametrize(
    ("text", "wrapped"),
    [
        ("The cat sleeps on the\ntable. It is\nold.\n\nI like tea.\n", True),
        ("The cat sleeps.\nThe dog is in the garden.\n\nI like tea.\n", False),
        ("a man in a hat\na dog\na girl\n", False),  # sentences of a corpus in small letters
        ("The cat saw a\ndog. The dog\nran away.\n", True),
        ("The cat saw a\ndog in the park and\nit ran home.\n", True),
        ("Two dogs\nplay in the snow\n", False),
        ("one line\n\nanother line\n", False),
        ("", False),
    ],
)
def test_wrapped_lines_are_noticed(text: str, wrapped: bool) -> None:
    assert looks_wrapped(text) == wrapped
