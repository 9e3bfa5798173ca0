"""Long lines are cut where it hurts least, and nothing of them is lost."""

from hypothesis import given
from hypothesis import strategies as st

from jumok.systems.translation.splitting import split


def parts(text: str, limit: int) -> list[str]:
    return [text[start:end] for start, end in split(text, limit, len)]


def test_short_text_stays_whole() -> None:
    assert parts("One two. Three.", 15) == ["One two. Three."]


def test_sentences_are_cut_first_and_fill_up_the_limit() -> None:
    assert parts("One two. Three? Four! Five.", 16) == ["One two. Three? ", "Four! Five."]


def test_commas_then_spaces_then_anything_serve_where_a_sentence_is_too_long() -> None:
    assert parts("One two, three four. Five.", 12) == ["One two, ", "three four. ", "Five."]
    assert parts("one two three", 8) == ["one two ", "three"]
    assert parts("abcdefgh", 4) == ["abcd", "efgh"]


def test_closing_quotes_stay_with_their_sentence() -> None:
    assert parts('He said "no." She left.', 15) == ['He said "no." ', "She left."]


def test_numbers_are_not_cut_at_their_marks() -> None:
    assert parts("It costs 1,000.50 now.", 18) == ["It costs 1,000.50 ", "now."]


def test_scripts_without_spaces_are_cut_after_their_marks() -> None:
    assert parts("我是学生。你好吗？很好，谢谢。", 6) == ["我是学生。", "你好吗？", "很好，谢谢。"]


def test_devanagari_and_arabic_sentences_end_at_their_own_marks() -> None:
    assert parts("यह एक है। वह दो है।", 10) == ["यह एक है। ", "वह दो है।"]
    assert parts("كيف حالك؟ أنا بخير", 10) == ["كيف حالك؟ ", "أنا بخير"]


@given(st.text(alphabet="ab .,!?。，\"'\u3000🙂א", max_size=200), st.integers(1, 20))
def test_every_part_fits_and_together_they_are_the_text(text: str, limit: int) -> None:
    cut = parts(text, limit)
    assert "".join(cut) == text
    assert all(len(part) <= limit for part in cut)


def test_hundred_thousand_full_stops_take_no_quadratic_time() -> None:
    # matched anew from every one of them, this would take hours
    assert sum(map(len, parts("." * 100_000, 128))) == 100_000
