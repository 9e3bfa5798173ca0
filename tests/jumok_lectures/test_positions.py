"""The four wishes, for encodings where the answer is known."""

from functools import partial
from random import Random

import pytest

from jumok_lectures.experiments import copies, positions
from jumok_lectures.findings import Findings
from jumok_lectures.puzzle import Puzzle, Solved, solve


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


def test_the_answer_is_the_kth_letter() -> None:
    random = Random(3)
    for _ in range(50):
        (asks, *line), answer = positions.kth(random, positions.LONGER)
        k = asks - positions.FIRST - positions.LETTERS
        assert 0 <= k < 8 < len(line)
        assert answer == line[k]


def test_each_encoding_is_judged_against_none() -> None:
    measured = {kind: positions.wishes(kind) for kind in positions.KINDS}
    right = dict.fromkeys(positions.KINDS, (0.9, 0.8))
    right |= {"none": (0.3, 0.2), "fraction": (0.4, 0.25)}

    def report() -> Findings:
        solved = {
            kind: [Solved((a + shift, b + shift), (1.0,), 1) for shift in (0.0, 0.01, 0.02)]
            for kind, (a, b) in right.items()
        }
        return positions.report(measured, solved)

    assert report().outcome == "holds"
    assert "sinusoidal 91 ± 2% → 81 ± 2%, rotary" in report().sentence.en
    right["rotary"] = (0.9, 0.3)  # not in longer lines
    assert report().outcome == "partly"


def test_a_puzzle_is_learned_and_a_harder_one_takes_a_second_look() -> None:
    """Real training, in small: one step of an arrow is learned in 60 steps."""
    tests = (partial(copies.follow, hops=1),)
    vocabulary = copies.ASKED + copies.SYMBOLS * copies.HOPS
    puzzle = Puzzle(tests[0], vocabulary, {"encoder_layers": 1, "decoder_layers": 1}, steps=60)
    solved = solve(puzzle, 1, tests, tested=100)
    assert solved.accuracy[0] > 0.4  # by chance 0.17
    assert len(solved.losses) == 60


def test_the_path_is_followed_to_its_end() -> None:
    random = Random(1)
    for hops in (1, 2):
        (asks, *arrows), answer = copies.follow(random, hops)
        leads = dict(divmod(arrow - copies.ARROWS, copies.SYMBOLS) for arrow in arrows)
        assert sorted(leads) == sorted(leads.values()) == list(range(copies.SYMBOLS))
        end = (asks - copies.ASKED) % copies.SYMBOLS
        for _ in range(hops):
            end = leads[end]
        assert copies.FIRST + end == answer
