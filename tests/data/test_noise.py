import unicodedata
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.config.data import NoiseConfig
from jumok.data.pairs import noise
from jumok.data.pairs.noise import CHANGES, cases_seen, letters, noised, swapped

ENGLISH = "Two young, white males are outside near many bushes."
KOREAN = "한국어 문장에는 띄어쓰기가 있습니다."
HINDI = "मेरा नाम क्या है"  # vowel signs are marks
DECOMPOSED = unicodedata.normalize("NFD", "Ein Café für Müller.")
EVERY = NoiseConfig(case=1.0, typos=1.0, punctuation=1.0, spaces=1.0, emoji=1.0)


def several(change, text: str) -> set[str]:
    return {change(text, Random(seed)) for seed in range(200)}


def test_every_kind_has_its_share():
    assert set(CHANGES) == set(NoiseConfig.model_fields)


def test_the_case_of_a_line():
    assert several(noise.other_case, ENGLISH) == {
        "TWO YOUNG, WHITE MALES ARE OUTSIDE NEAR MANY BUSHES.",
        "Two Young, White Males Are Outside Near Many Bushes.",
        "two young, white males are outside near many bushes.",
    }
    assert several(noise.other_case, KOREAN) == {KOREAN}


def test_neighbouring_letters_of_a_word_change_places():
    assert several(swapped, "ab cd") == {"ba cd", "ab dc"}
    assert several(swapped, "한국 말") == {"국한 말"}
    assert several(swapped, "aa b 1 2") == {"aa b 1 2"}


def test_typos_are_of_one_letter_and_keep_its_marks():
    for text in (ENGLISH, KOREAN, HINDI, DECOMPOSED):
        spans = letters(text)
        parts = Counter(text[start:end] for start, end in spans)
        found = several(noise.typo, text)
        assert len(found) > 20
        for typo in found:
            other = Counter(typo[start:end] for start, end in letters(typo))
            assert (other - parts).total() <= 1
            assert (parts - other).total() <= 1
            assert typo.count(" ") == text.count(" ")
    assert [HINDI[start:end] for start, end in letters(HINDI)][:2] == ["मे", "रा"]


def test_punctuation_at_the_ends_of_words_is_left_out():
    assert several(noise.less_punctuation, 'Well, it\'s 3.5 kg - "really".') == {
        'Well, it\'s 3.5 kg - "really"',
        'Well it\'s 3.5 kg - "really"',
    }
    assert several(noise.less_punctuation, "네, 있습니다!") == {"네, 있습니다", "네 있습니다"}
    assert several(noise.less_punctuation, "...") == {"..."}


def test_a_space_is_missing_or_within_a_word():
    assert several(noise.other_spaces, "나는 간다") == {"나는간다", "나 는 간다", "나는 간 다"}
    assert several(noise.other_spaces, "é\u0301a") == {"é\u0301 a"}


@pytest.mark.parametrize("text", ["", " ", "a", "👍🏽", "12", "\u0301", "ﬁ", "ß", "\u200d"])
def test_short_texts_are_no_error(text):
    for seed in range(50):
        noised(text, EVERY, Random(seed))


@given(st.text(max_size=30), st.integers(0, 9))
def test_noise_depends_on_its_seed_alone(text, seed):
    one, other = (noised(text, EVERY, Random(seed)) for _ in range(2))
    assert one == other


def test_shares_are_those_of_lines():
    rare = NoiseConfig(case=0.0, typos=0.25, punctuation=0.0, spaces=0.0, emoji=0.0)
    random = Random(1)
    changed = sum(noised(ENGLISH, rare, random) != ENGLISH for _ in range(2000))
    assert 400 < changed < 600
    assert noised(ENGLISH, NoiseConfig.model_validate(dict.fromkeys(CHANGES, 0.0)), random) == (
        ENGLISH
    )


def test_a_tokenizer_sees_capitals():
    lines = list(cases_seen([ENGLISH] * 200, NoiseConfig(case=0.5), 1))
    assert 20 < lines.count(ENGLISH.upper()) < 80
    assert list(cases_seen([ENGLISH], None, 1)) == [ENGLISH]
