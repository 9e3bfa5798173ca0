"""Repeated and nearly repeated pairs: the arrays say what sets and plain integers do."""

import random

import numpy as np

from jumok.data.pairs.cleaning import near
from jumok.data.pairs.cleaning.characters import BothSides
from jumok.data.pairs.cleaning.duplicates import SeenKeys, keys_of


def test_seen_keys_are_those_of_a_dictionary() -> None:
    draw = np.random.default_rng(5)
    table, known, row = SeenKeys(capacity=8), dict[int, int](), 0
    for size in (1, 0, 7, 300, 5000, 64):
        # Few different numbers, all in the lowest bits or in the highest ones.
        keys = draw.integers(1, 900, size, dtype=np.uint64) << np.uint64(draw.choice([0, 54]))
        expected = []
        for key in keys.tolist():
            expected.append(known.setdefault(key, row))
            row += 1
        assert table.first(keys).tolist() == expected
    assert table.read == row


def test_keys_are_of_whole_pairs_or_of_targets() -> None:
    sources, targets = ["a", "a b", "a"], ["b c", "c", "b c"]
    pair, target = (keys_of(sources, targets, by) for by in ("pair", "target"))
    assert pair[0] == pair[2] != pair[1]
    assert target[0] == target[2] != target[1]
    assert len({*pair.tolist(), *target.tolist()}) == 4


def plain_signature(*sides: str) -> list[int]:
    """The minima of the hash functions over all runs, with Python's integers."""
    whole = (1 << 64) - 1
    runs = set()
    for salt, side in enumerate(sides, start=1):
        codes = [ord(each.lower()) for each in side if each.isalnum()]
        padded = codes + [0] * near.RUN_LENGTH
        for start in range(max(len(codes), 1)):
            value = salt
            for code, factor in zip(padded[start:], near._PLACES[: near.RUN_LENGTH], strict=False):
                value = (value + code * int(factor)) & whole
            value ^= value >> 29
            runs.add(((value * int(near._MIX)) & whole) >> 32)
    return [
        min((run * int(factor) + int(addend)) & 0xFFFFFFFF for run in runs)
        for factor, addend in zip(near._FACTORS, near._ADDENDS, strict=True)
    ]


TEXTS = [
    ("A man in a blue shirt.", "Ein Mann in einem blauen Hemd."),
    ("", "x"),
    ("abc", "12"),
    ("학생입니다!", "I am a student, 22 years old"),
]


def test_signatures_are_the_minima_over_all_runs() -> None:
    found = near.signatures(*BothSides.of(*(list(side) for side in zip(*TEXTS, strict=True))).sides)
    assert found.tolist() == [plain_signature(*pair) for pair in TEXTS]


def test_likeness_estimates_the_share_of_common_runs() -> None:
    draw = random.Random(3)
    letters = "abcdefghijklmnopqrstuvwxyz"
    errors = []
    for _ in range(200):
        text = "".join(draw.choices(letters, k=300))
        cut = draw.randrange(300)
        other = text[:cut] + "".join(draw.choices(letters, k=300 - cut))
        runs = [{each[i : i + 4] for i in range(297)} for each in (text, other)]
        true = len(runs[0] & runs[1]) / len(runs[0] | runs[1])
        one, two = near.sketches(near.signatures(*BothSides.of([text, other], ["", ""]).sides))
        errors.append(float(near.likeness(np.array([one]), np.array([two]))[0]) - true)
    # The standard error of 16 functions is at most 1 / (2 sqrt(16)) = 0.125, and less of 200 means.
    assert abs(np.mean(errors)) < 0.04
    assert np.std(errors) < 0.15


def test_near_repetitions_are_found_and_other_sentences_are_not() -> None:
    first = [
        (f"The {animal} sleeps on the mat.", f"Le {animal} dort.") for animal in ("cat", "emu")
    ]
    later = [
        ("the CAT sleeps on the mat", "le cat dort"),  # but for case and marks
        ("The cow sleeps on a chair.", "La vache dort."),
        ("The emu sleeps on the mat!", "Le emu dort!"),
    ]
    seen = near.SeenSignatures()
    batches = [
        BothSides.of(*(list(side) for side in zip(*part, strict=True))) for part in (first, later)
    ]
    found = [seen.repeated(near.signatures(*batch.sides), 0.9).tolist() for batch in batches]
    assert found == [[False, False], [True, False, True]]
