"""Where sentences end and long lines are cut, by hand (benchmarks/sentences.py: how often)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.systems.translation.sentences import common_sentences, sentences, split

CASES = [
    ("en", "Dr. Smith met J. R. Tolkien at 10 p.m.| He left."),
    ("en", "It works, e.g. here.| It costs 3.5 dollars.| See p. 5 and No. 7.| Good."),
    ("en", 'Yahoo! is big.| He said "Stop!" and left.| Wait... what?| "Go."| She went.'),
    ("en", "U.S. forces came.| So do I.| He lives in the U.S.| They left."),
    ("en", "Visit https://a.b/c.d?e=f.| {name} is here.| (See it.)| He (my boss. Yes.) ran."),
    ("en", "1. Open it.| 2. Close it.| The End."),
    ("en", "hello there.| how are you?"),
    ("de", "Er kam am 3. Mai z. B. mit Dr. Müller.| Er ging, d. h. nicht ganz.| Schön!"),
    ("fr", "Ça va ?| « Oui ! » dit-il.| M. Dupont est là.| Bien."),
    ("ko", "나는 학생이다.| 3.5점을 받았다.| 2024. 5. 1.에 갔다.| 왜?| flags를 본다."),
    ("ja", "彼は「はい。」と言った。|私は行く！|本当？|（うそ。）|はい。"),
    ("zh", "我是学生。|你好吗？|很好！"),
    ("hi", "यह एक है।| वह दो है।"),
]


@pytest.mark.parametrize(("language", "marked"), CASES)
def test_sentences_end_where_a_reader_ends_them(language: str, marked: str) -> None:
    text = marked.replace("|", "")
    found = [text[start:end].strip() for start, end in sentences(text, language)]
    assert found == [part.strip() for part in marked.split("|")]


def test_language_that_is_not_known_takes_the_abbreviations_of_all() -> None:
    text = "Dr. Müller kam z. B. um 3. It rained."
    assert [text[a:b] for a, b in sentences(text)] == ["Dr. Müller kam z. B. um 3. ", "It rained."]


@given(st.text(alphabet='ab A.!? 。」「()"3é', max_size=80), st.sampled_from(["", "de", "ja"]))
def test_sentences_together_are_the_text(text: str, language: str) -> None:
    spans = sentences(text, language)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans) or not text


def test_hundred_thousand_marks_take_no_quadratic_time() -> None:
    assert sum(end - start for start, end in sentences("." * 100_000)) == 100_000
    assert sum(end - start for start, end in sentences("A. " * 30_000)) == 90_000
    assert sum(end - start for start, end in sentences("(A. " * 10_000)) == 40_000


def test_median_of_the_sentences_is_what_lines_commonly_hold() -> None:
    assert common_sentences([]) is None
    assert common_sentences(["A cat.", "A cat. A dog.", "A cat."], "en") == 1
    assert common_sentences(["A cat.", "A. cat. The dog. She.", "The cat. The dog."], "en") == 2


def parts(text: str, limit: int) -> list[str]:
    return [text[start:end] for start, end in split(text, limit, len)]


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("One two. Three.", 15, ["One two. Three."]),
        ("One two. Three? Four! Five.", 16, ["One two. Three? ", "Four! Five."]),
        ("One two, three four. Five.", 12, ["One two, ", "three four. ", "Five."]),
        ("one two three", 8, ["one two ", "three"]),
        ("abcdefgh", 4, ["abcd", "efgh"]),
        ('He said "no." She left.', 15, ['He said "no." ', "She left."]),
        ("It costs 1,000.50 now.", 18, ["It costs 1,000.50 ", "now."]),
        ("我是学生。你好吗？很好，谢谢。", 6, ["我是学生。", "你好吗？", "很好，谢谢。"]),
        ("यह एक है। वह दो है।", 10, ["यह एक है। ", "वह दो है।"]),
        ("كيف حالك؟ أنا بخير", 10, ["كيف حالك؟ ", "أنا بخير"]),
    ],
)
def test_a_long_text_is_cut_at_sentences_then_commas_then_spaces_then_anywhere(
    text: str, limit: int, expected: list[str]
) -> None:
    assert parts(text, limit) == expected


@given(st.text(alphabet="ab .,!?。，\"'\u3000🙂א", max_size=200), st.integers(1, 20))
def test_every_part_fits_and_together_they_are_the_text(text: str, limit: int) -> None:
    cut = parts(text, limit)
    assert "".join(cut) == text
    assert all(len(part) <= limit for part in cut)


def test_hundred_thousand_full_stops_take_no_quadratic_time() -> None:
    # matched anew from every one of them, this would take hours
    assert sum(map(len, parts("." * 100_000, 128))) == 100_000
