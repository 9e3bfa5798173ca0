"""The four wishes, for encodings where the answer is known."""

import pytest

from jumok.lab.experiments import positions


@pytest.mark.parametrize(
    ("kind", "granted"),
    [
        # unique, consistent, bounded and longer, deterministic
        ("index", [True, True, False, True]),
        ("fraction", [True, False, True, True]),
        ("binary", [True, False, False, True]),
        ("sinusoidal", [True, True, True, True]),
        ("learned", [True, False, False, False]),
        ("rotary", [True, True, True, True]),
        ("alibi", [True, True, False, True]),
        ("none", [False, True, True, True]),
    ],
)
def test_an_encoding_is_granted_what_the_lectures_say(kind: str, granted: list[bool]) -> None:
    assert positions.wishes(kind).granted == granted


def test_distances_of_indexes_are_differences() -> None:
    distances = positions.between("index", 5, seed=1)
    assert distances[1, 4] == 3.0
    assert positions.largest("index") == 1000.0


def test_a_fraction_moves_closer_in_longer_sentences() -> None:
    assert positions.between("fraction", 5, 1)[0, 1] == pytest.approx(0.25)
    assert positions.between("fraction", 9, 1)[0, 1] == pytest.approx(0.125)


def test_the_report_names_who_fails_at_length() -> None:
    measured = {kind: positions.wishes(kind) for kind in positions.KINDS}
    losses = {kind: (0.5, 2.0 if kind == "index" else 0.6) for kind in positions.KINDS}
    found = positions.report(measured, losses, dict.fromkeys(positions.KINDS, 0.0))
    assert "rises by more than 1 nat for: index." in found.sentence.en
    assert "all four requirements: sinusoidal, rotary." in found.sentence.en
