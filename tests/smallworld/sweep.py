"""Claims about many sentences, run by test_corpus.py in a process of its own.

The test session checks the types of every call, which makes a stream fifty times as slow; a plain
process reads 100,000 sentences in a few seconds.
"""

from itertools import islice

from jumok import smallworld
from jumok.smallworld.grammar import CONSTRUCTIONS

FORMAL_ENDINGS = ("니다", "니까", "시오", "시다", "까요")
SIZES = {
    "train": 60_000,
    "validation": 800,
    "test": 800,
    "longer": 300,
    "unseen combination": 5_000,
}


def splits_share_no_sentence_and_a_source_has_one_target() -> None:
    targets: dict[str, tuple[str, str]] = {}
    for split, size in SIZES.items():
        for pair in islice(smallworld.pairs(split, 5, 3, 24), size):
            known = targets.setdefault(pair.source, (split, pair.target))
            assert known == (split, pair.target), (pair, known)


def the_register_shows_in_the_opening() -> None:
    for pair in islice(smallworld.pairs(seed=3), 20_000):
        last = pair.target.rstrip(".?")
        formal = pair.source.startswith(("Sir, ", "Ma'am, ", "Professor, "))
        assert ("formal" in pair.constructions) == formal, pair
        plain = pair.source.startswith(("Diary: ", "News: "))
        assert ("plain" in pair.constructions) == plain, pair
        if formal:
            assert last.endswith(FORMAL_ENDINGS), pair
        if plain:
            assert last.endswith("다"), pair
        if "polite" in pair.constructions:
            assert last.endswith(("요", "시다")), pair


def every_construction_occurs() -> None:
    seen = {name for pair in islice(smallworld.pairs(), 20_000) for name in pair.constructions}
    assert {each.name for each in CONSTRUCTIONS} <= seen


if __name__ == "__main__":
    splits_share_no_sentence_and_a_source_has_one_target()
    the_register_shows_in_the_opening()
    every_construction_occurs()
    print("all hold")
