"""Where markup goes in a translation, by the word alignment."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumok.documents.placing import rendered
from jumok.documents.segment import Chunk, DocumentSegment, Inline, Translated, paragraph

BOLD = DocumentSegment("I saw a black dog today", (Inline(8, 17, "<b>", "</b>"),))


def test_an_element_goes_round_the_words_that_its_words_became() -> None:
    # I-나는 saw-봤다 black-검은 dog-개를 today-오늘
    links = [(0, 0), (1, 4), (3, 2), (4, 3), (5, 1)]
    korean = Translated("나는 오늘 검은 개를 봤다", links)
    assert rendered(BOLD, korean) == "나는 오늘 <b>검은 개를</b> 봤다"


def test_one_wrong_link_does_not_stretch_an_element_over_the_sentence() -> None:
    links = [(0, 0), (1, 4), (2, 0), (3, 2), (4, 3), (5, 1)]  # "a" is linked to the first word
    korean = Translated("나는 오늘 검은 개를 봤다", links)
    assert rendered(BOLD, korean) == "나는 오늘 <b>검은 개를</b> 봤다"


def test_marks_stay_outside_of_what_they_were_outside_of() -> None:
    segment = DocumentSegment('He said "yes" loudly.', (Inline(8, 13, "<q>", "</q>"),))
    links = [(0, 0), (1, 3), (2, 1), (3, 2)]
    assert rendered(segment, Translated('그는 "네" 크게 말했다.', links)) == (
        '그는 <q>"네"</q> 크게 말했다.'
    )
    end = DocumentSegment("I see the dog.", (Inline(10, 13, "<b>", "</b>"),))
    assert rendered(end, Translated("Je vois le chien.", [(3, 3)])) == "Je vois le <b>chien</b>."


def test_without_links_the_order_is_taken_to_be_the_same() -> None:
    assert rendered(BOLD, Translated("I SAW A BLACK DOG TODAY")) == (
        "I SAW A <b>BLACK DOG</b> TODAY"
    )
    halved = rendered(BOLD, Translated("one two three"))
    assert halved.replace("<b>", "").replace("</b>", "") == "one two three"


def test_frozen_text_stays_and_replaces_what_was_made_of_it() -> None:
    segment = DocumentSegment("Run jumok now", (Inline(4, 9, "<code>jumok</code>", frozen=True),))
    kept = Translated("지금 jumok 실행", [(0, 2), (1, 1), (2, 0)])
    lost = Translated("지금 주목 실행", [(0, 2), (1, 1), (2, 0)])
    for translated in (kept, lost):
        assert rendered(segment, translated) == "지금 <code>jumok</code> 실행"


def test_no_word_is_lost_for_what_is_kept() -> None:
    segment = DocumentSegment("The cat $x$ saw a dog", (Inline(8, 11, "$x$", frozen=True),))
    links = [(1, 0), (2, 2), (5, 1)]  # nothing is aligned with "saw"
    assert (
        rendered(segment, Translated("고양이는 개를 봤어요", links)) == "고양이는 개를 $x$ 봤어요"
    )


def test_what_is_kept_is_a_word_of_its_own() -> None:
    segment = DocumentSegment("Press C to see Cats", (Inline(6, 7, "<kbd>C</kbd>", frozen=True),))
    translated = Translated("Cats: C", [(4, 0), (1, 1)])
    assert rendered(segment, translated) == "Cats: <kbd>C</kbd>"


def test_a_point_stays_beside_its_word() -> None:
    segment = DocumentSegment("A word, here", (Inline(6, 6, "<sup/>"),))
    assert rendered(segment, Translated("Hier ein Wort,", [(0, 1), (1, 2), (2, 0)])) == (
        "Hier ein Wort<sup/>,"
    )


def test_markup_at_the_ends_stays_outside() -> None:
    chunks = [
        *(
            Chunk("text", " \n", " \n"),
            Chunk("open", "<b>", name="b"),
            Chunk("point", "<img>"),
        ),
        *(Chunk("text", "two words ", "two words "), Chunk("close", "</b>", name="b")),
    ]
    found = paragraph(chunks)
    assert found is not None
    assert found == (" \n<b><img>", DocumentSegment("two words"), " </b>")


def test_what_has_no_letter_is_not_translated() -> None:
    assert paragraph([Chunk("text", " 42 - ", " 42 - ")]) is None


CHUNKS = st.lists(
    st.one_of(
        st.sampled_from(["word", " ", "two words", ", ", "\n"]).map(lambda t: Chunk("text", t, t)),
        st.sampled_from("abc").map(lambda name: Chunk("open", f"<{name}>", name=name)),
        st.sampled_from("abc").map(lambda name: Chunk("close", f"</{name}>", name=name)),
        st.just(Chunk("point", "<br>")),
        st.just(Chunk("frozen", "<code>x</code>", "x")),
    ),
    max_size=12,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CHUNKS, st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=9))
def test_no_markup_is_lost_whatever_the_alignment(
    chunks: list[Chunk], links: list[tuple[int, int]]
) -> None:
    found = paragraph(chunks)
    if found is None:
        return
    before, segment, after = found
    for translated in (Translated("eins zwei drei x vier", links), Translated("", links)):
        written = before + rendered(segment, translated) + after
        for mark in ("<a>", "</a>", "<b>", "</b>", "<c>", "</c>", "<br>", "<code>x</code>"):
            assert written.count(mark) == sum(piece.raw == mark for piece in chunks)
        for name in "abc":  # pairs of the segment are pairs of the translation
            if all(written.count(f"<{end}{name}>") == 1 for end in ("", "/")):
                plain = "".join(piece.raw for piece in chunks)
                if plain.index(f"<{name}>") < plain.index(f"</{name}>"):
                    assert written.index(f"<{name}>") < written.index(f"</{name}>")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CHUNKS)
def test_the_same_words_give_the_same_document(chunks: list[Chunk]) -> None:
    found = paragraph(chunks)
    if found is not None:
        before, segment, after = found
        written = before + rendered(segment, Translated(segment.text)) + after
        whole = "".join(piece.raw for piece in chunks)
        assert "".join(written.split()) == "".join(whole.split())


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_translation_keeps_the_markup(text: str) -> None:
    assert rendered(BOLD, Translated(text)).strip() == "<b></b>"
