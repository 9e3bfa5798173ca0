"""A glossary's terms are in the place of the words that translate them; nothing else changes."""

from pathlib import Path

import pytest

from jumok.decoding import DecodingOptions
from jumok.systems.translation.judging import TERM_FORM
from jumok.systems.translation.terms.glossary import Glossary
from jumok.systems.translation.terms.particles import fitted, may_not_fit, suffixes
from jumok.systems.translation.translator import Translator
from tests.systems.worded import french_translator, worded_translator


@pytest.fixture(scope="module")
def translator() -> Translator:
    return worded_translator()


@pytest.fixture(scope="module")
def french() -> Translator:
    return french_translator()


@pytest.mark.parametrize(
    ("source", "terms", "expected"),
    [
        ("the cat saw a dog.", {"cat": "궤짝"}, "궤짝은 개를 봤어요."),
        ("the cat saw a dog.", {"dog": "궤짝"}, "고양이는 궤짝을 봤어요."),
        ("the boy hid a lion.", {"boy": "새", "lion": "개"}, "새는 개를 숨겼어요."),
        ("the boy saw a bird.", {"boy": "새"}, "새는 새를 봤어요."),
        ("the dog lost a dog.", {"dog": "USB 케이블"}, "USB 케이블은 USB 케이블을 잃었어요."),
        ("the cat drew a map.", {"the cat": "흰 늑대", "cat": "새"}, "흰 늑대는 지도를 그렸어요."),
        ("the cat saw a dog. the dog hid a car.", {"dog": "곰"}, None),
        ("the cat saw a dog.", {"dog": "개"}, "고양이는 개를 봤어요."),
        ("the cat saw a dog.", {"do": "궤짝"}, "고양이는 개를 봤어요."),
        ("- cat", {"cat": "궤짝"}, "- 궤짝"),
    ],
)
def test_a_term_is_in_the_place_of_its_word(translator, source, terms, expected) -> None:
    (one,) = translator.translate([source], glossary=terms)
    assert one.text == (expected or "고양이는 곰을 봤어요. 곰은 차를 숨겼어요.")
    assert one.missing_terms == ()


@pytest.mark.parametrize(
    ("source", "terms", "expected"),
    [
        ("The bird saw the cat.", {"bird": "médecin"}, "Le médecin a vu le chat."),
        ("The cat lost the bird.", {"bird": "avion"}, "Le chat a perdu l'avion."),
        ("The cat lost the bird.", {"bird": "ballon"}, "Le chat a perdu le ballon."),
    ],
)
def test_a_short_article_stays_and_what_may_not_fit_is_said(
    french: Translator, source: str, terms: dict[str, str], expected: str
) -> None:
    (one,) = french.translate([source], glossary=terms)
    assert one.text == expected
    assert one.terms == tuple(terms.values())
    assert one.notes == (TERM_FORM,)
    assert max(target for _, target in one.alignment) == len(one.text.split()) - 1


def test_what_fits_has_no_note(translator: Translator, french: Translator) -> None:
    (one,) = translator.translate(["the cat saw a dog."], glossary={"dog": "궤짝"})
    assert one.notes == ()
    (same,) = french.translate(["The cat saw the dog."], glossary={"dog": "chien"})
    assert same.notes == ()
    assert may_not_fit("This is a ", "otter", "en")
    assert not may_not_fit("This is an ", "otter", "en")
    assert not may_not_fit("This is the ", "otter", "en")


def test_figures_are_those_of_the_text_with_the_term(translator: Translator) -> None:
    (one,) = translator.translate(["the cat saw a dog."], glossary={"cat": "수달"})
    (scored,) = translator.score(["the cat saw a dog."], [one.text])
    assert one.tokens == scored.tokens
    assert one.token_log_probabilities == pytest.approx(scored.token_log_probabilities, abs=1e-4)
    assert one.terms == ("수달",)


def test_every_alternative_and_sample_has_the_term(translator: Translator) -> None:
    options = DecodingOptions(beam=3, nbest=2), DecodingOptions(sample=True, seed=3)
    for each in options:
        (one,) = translator.translate(["the cat saw a dog."], each, glossary={"cat": "궤짝"})
        texts = [other.text for other in (one, *one.alternatives)]
        assert len(set(texts)) == each.nbest
        assert all(text.count("궤짝") == 1 for text in texts)


def test_a_link_stays_with_its_term(translator: Translator) -> None:
    page = '<p>the cat saw <a href="x">a dog</a>.</p>'
    terms = {"dog": "전기 주전자"}

    def lines(texts):
        return translator.translate(list(texts), glossary=terms)

    written = translator.translate_content(page.encode(), "html", lines, "page.html").decode()
    assert written == '<p>고양이는 <a href="x">전기 주전자를</a> 봤어요.</p>'
    (one,) = translator.translate(["the <b>cat</b> saw a dog."], glossary={"cat": "궤짝"})
    assert one.text == "<b>궤짝은</b> 개를 봤어요."


def test_what_is_kept_is_no_term(translator: Translator) -> None:
    (one,) = translator.translate(["the cat saw {dog}."], glossary={"dog": "궤짝"})
    assert one.text.count("{dog}") == 1
    assert "궤짝" not in one.text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("the cat saw a {name} dog.", "고양이는 {name} 개를 봤어요."),
        ("%1$s the cat saw a dog.", "%1$s 고양이는 개를 봤어요."),
        ("the cat saw a dog. {x}", "고양이는 개를 봤어요. {x}"),
    ],
)
def test_code_that_a_model_does_not_copy_leaves_the_rest(translator, source, expected) -> None:
    (one,) = translator.translate([source])
    assert one.text == expected
    assert one.inserted or "{x}" in source


def test_a_term_without_a_sure_word_is_named_and_nothing_changes(tiny_bundle: Path) -> None:
    translator = Translator.load(tiny_bundle)  # nobody trained it: no word depends on the source
    lines, short = (
        ["the cat sat", "{n, plural, other {the cat sat}}"],
        DecodingOptions(maximum_length=6),
    )
    found = translator.translate(lines, short, glossary={"cat": "고양이"})
    plain = translator.translate(lines, short)
    assert [each.text for each in found] == [each.text for each in plain]
    assert [each.missing_terms for each in found] == [("cat",), ("cat",)]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("고양이는", ["는"]),
        ("고양이", ["", "이"]),
        ("학교에서는", ["에서는"]),
        ("의사예요", ["예요"]),
        ("학생이었던", ["이었던"]),
        ("나라는", ["라는", "는"]),
        ("연필로", ["", "로"]),
        ("봤어요", ["", "요"]),
        ("소년은", ["은"]),
    ],
)
def test_what_follows_a_korean_noun_is_found(word: str, expected: list[str]) -> None:
    assert suffixes(word, "ko") == expected
    assert suffixes(word, "en") == [""]


@pytest.mark.parametrize(
    ("noun", "suffix", "expected"),
    [
        ("새", "이", "가"),
        ("궤짝", "를", "을"),
        ("연필", "으로", "로"),
        ("궤짝", "로", "으로"),
        ("서울", "와", "과"),
        ("학생", "예요", "이에요"),
        ("의사", "이었던", "였던"),
        ("USB", "을", "를"),
        ("PDF 3", "가", "이"),
        ("책(book)", "가", "이"),
        ("새", "에서", "에서"),
    ],
)
def test_a_particle_fits_its_noun(noun: str, suffix: str, expected: str) -> None:
    assert fitted(noun, suffix) == expected


def test_terms_of_a_request_come_before_those_of_the_server() -> None:
    both = Glossary({"cat": "고양이", "dog": "개"}).with_terms({"cat": "새", "big dog": "곰"})
    found = [one.term.target for one in both.find("the cat, a dog, a big dog")]
    assert found == ["새", "개", "곰"]
