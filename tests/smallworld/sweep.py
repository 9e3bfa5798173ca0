"""Claims about many sentences, run by test_corpus.py in a process of its own.

    python sweep.py SHARE

The test session checks the types of every call, which makes a stream fifty times as slow; a plain
process reads 100,000 sentences in a few seconds.
"""

import sys
from itertools import islice

import smallworld
from smallworld.choices import OBJECTS_OF
from smallworld.grammar import CONSTRUCTIONS
from smallworld.korean import final, native_number
from smallworld.lexicon import ALL_NOUNS, NAMES

FORMAL_ENDINGS = ("니다", "니까", "주십시오", "시지요", "까요")
SHARE = float(sys.argv[1])
"""Of the sentences of the whole sweep."""

MANY = round(20_000 * SHARE)
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
        for pair in islice(smallworld.pairs(split, 5, 3, 24), round(size * SHARE)):
            known = targets.setdefault(pair.source, (split, pair.target))
            assert known == (split, pair.target), (pair, known)


def the_register_shows_in_the_opening() -> None:
    for pair in islice(smallworld.pairs(seed=3), MANY):
        last = pair.target.rstrip(".?")
        formal = pair.source.startswith(("Sir, ", "Ma'am, ", "Professor, "))
        assert ("formal" in pair.constructions) == formal, pair
        plain = pair.source.startswith(("Diary: ", "Story: "))
        assert ("plain" in pair.constructions) == plain, pair
        if formal:
            assert last.endswith(FORMAL_ENDINGS), pair
        if plain:
            assert last.endswith("다"), pair
        if "polite" in pair.constructions:
            assert last.endswith("요"), pair


def every_construction_occurs() -> None:
    seen = {name for pair in islice(smallworld.pairs(), MANY) for name in pair.constructions}
    assert {each.name for each in CONSTRUCTIONS} <= seen


BY_FINAL = (("은", "는"), ("을", "를"), ("과", "와"), ("이나", "나"), ("으로", "로"))
NUMBERS = frozenset(native_number(number) for number in range(2, 21))


def wrong_particle(noun: str) -> set[str]:
    """The noun with every particle that its last syllable does not take."""
    closed = (ord(noun[-1]) - 0xAC00) % 28
    wrong = {noun + open_[1 if closed else 0] for open_ in BY_FINAL[:-1]}
    # (으)로 is 로 after a vowel and after ㄹ, which is the eighth final letter.
    return wrong | {noun + ("로" if closed not in (0, 8) else "으로")}


def particles_follow_the_final_consonant_and_counters_their_nouns() -> None:
    nouns = {noun.korean: noun for noun in ALL_NOUNS.values()}
    said = {*nouns, *NAMES.values()}
    wrong = {form for noun in said for form in wrong_particle(noun)} - said
    counted = 0
    for pair in islice(smallworld.pairs(seed=11), MANY):
        words = [word.rstrip(".?") for word in pair.target.split()]
        assert not wrong & set(words), (pair, wrong & set(words))
        for noun, number, counter in zip(words, words[1:], words[2:], strict=False):
            if noun in nouns and number in NUMBERS:
                assert counter.startswith(nouns[noun].counter), pair
                counted += 1
    assert counted > 500 * SHARE


def counted_faults_stay_away() -> None:
    """Each of these was found in a reading of the corpus by hand."""
    older = ("삼촌", "이모")
    for pair in islice(smallworld.pairs(seed=12), MANY):
        words = [word.rstrip(",.?") for word in pair.target.split()]
        said = " ".join(words)
        assert not any(f"{number} 일 {end}" in f" {said}" for number in (" 이", " 삼", " 사")
                       for end in ("동안", "전에")), pair  # fmt: skip
        assert not any(f"{mine} {kin}" in said for mine in ("제", "내") for kin in older), pair
        assert words[0] not in ("존아", "폴아", "톰아", "에마야", "데이비드야"), pair
        proposal = words[-1].endswith("시다") and final(words[-1][:-2]) == "ㅂ"
        assert not proposal, pair
        assert not ("돌아오" in said and "에 돌아" in said), pair
        pronouns = [word for word in words if word in ("저는", "제가", "나는", "내가")]
        if "casual" not in pair.constructions and pair.source.count(".") == 1:
            assert pronouns.count("저는") < 2, pair


def objects_go_with_their_verbs() -> None:
    """What follows a verb in a short past clause is one of its objects."""
    read = 0
    for pair in islice(smallworld.pairs(seed=13, maximum_words=5), MANY):
        words = pair.source.rstrip(".?").split()
        if len(words) != 4 or words[2] not in ("the", "a", "this", "that", "my"):
            continue
        verbs = [verb for verb in OBJECTS_OF if verb.english.past == words[1] and not verb.after]
        if not verbs:
            continue
        known = {lemma for verb in verbs for lemma in (*verb.objects, *verb.prey)}
        assert words[3] in known, pair
        read += 1
    assert read > 300 * SHARE


def every_word_is_aligned() -> None:
    for split in ("train", "longer", "unseen combination"):
        for pair in islice(smallworld.pairs(split, 14, 3, 33), MANY // 5):
            english, korean = (len(line.split()) for line in (pair.source, pair.target))
            assert {i for i, _ in pair.alignment} == set(range(english)), pair
            assert {j for _, j in pair.alignment} == set(range(korean)), pair


if __name__ == "__main__":
    every_word_is_aligned()
    splits_share_no_sentence_and_a_source_has_one_target()
    the_register_shows_in_the_opening()
    every_construction_occurs()
    particles_follow_the_final_consonant_and_counters_their_nouns()
    counted_faults_stay_away()
    objects_go_with_their_verbs()
    print("all hold")
