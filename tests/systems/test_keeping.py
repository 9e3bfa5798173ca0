"""What must come through a translation does, whatever the model makes of it."""

from dataclasses import replace
from pathlib import Path

import jaxtyping
import pytest

from jumok.data.tokenizer import Tokenizer
from jumok.decoding import DecodingOptions
from jumok.errors import ConfigError, DataError
from jumok.systems.translation.kept.inserting import corrected, without_tail
from jumok.systems.translation.kept.keeping import (
    Keep,
    as_keep,
    missing_in,
    remains_in,
    separated,
    surplus_in,
)
from jumok.systems.translation.kept.markup import TAG, Bare, undress
from jumok.systems.translation.result import Translation
from jumok.systems.translation.segments import cuts_sentences
from jumok.systems.translation.spelling import spelling
from jumok.systems.translation.terms.glossary import Glossary
from jumok.systems.translation.translator import Translator

SHORT = DecodingOptions(beam=2, maximum_length=30)
CODE = ["{name}", "{{ x }}", "%s", "%(count)d", "${HOME}", "$USER", "&nbsp;", "a.b@c.org"]
CODE += ["https://a.b/c?x=1&y=2", "www.a.com", "%-5.2f", "%1$s", "%lld", "%'d", "% d", "%%"]
CODE += [
    "%{x}",
    "{:.2f}",
    "{x: >10}",
    "{0:{width}}",
    "{n, number}",
    "{d, date, short}",
    "%L1",
    "%1",
]


@pytest.fixture(scope="module")
def translator(tiny_bundle: Path) -> Translator:
    return Translator.load(tiny_bundle)


@pytest.mark.parametrize("code", CODE)
def test_code_is_found_whole_and_without_what_follows(code: str) -> None:
    for text in (f"See {code}, now.", code):
        assert [one.text for one in Keep().find(text)] == [code]
    assert [one.text for one in Keep().find(f"See ({code}).")] == [f"({code})"]


def test_a_percentage_is_no_placeholder() -> None:
    for text in ("50 % d'intérêt", "50 % d 100% sure", "5 % i 6 % u"):
        code = [one.text for one in Keep().find(text) if one.kind == "code"]
        assert not [one for one in code if one.startswith("%")]


def test_user_s_patterns_come_first_and_the_usual_ones_may_be_left_out() -> None:
    found = [one.text for one in as_keep([r"\[\w+\]", r"ACME \d+"]).find("[tag] ACME 12 of {x}")]
    assert found == ["[tag]", "ACME 12", "{x}"]
    assert [one.text for one in Keep([r"\[\w+\]"], usual=False).find("[a] {x} 12")] == ["[a]"]
    assert as_keep(False) is None


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("10:30", "10시 30분"),
        ("10:05", "10시 5분"),
        ("1,000.5", "1.000,5"),
        ("1,000", "1 000"),
        ("10000", "10,000"),
        ("20,000", "2만"),
        ("2,500,000", "2.5 million"),
        ("1,000,000", "100만 원"),
        ("3.5", "3,5"),
        ("2024-05-01", "2024년 5월 1일"),
        ("12/31/1999", "12. 31. 1999"),
        ("010-1234-5678", "010 1234 5678"),
        ("192.168.0.1", "192.168.0.1"),
        ("+82-10-1234-5678", "+82-10-1234-5678"),
        ("25", "25개"),
        ("3", "drei"),
        ("3 dogs", "개 세 마리"),
        ("the 3rd dog", "셋째 개"),
        ("2 and 2", "deux et 2"),
    ],
)
def test_numbers_may_be_written_as_the_other_language_does(source: str, translation: str) -> None:
    assert missing_in(Keep().find(source), translation) == []


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("3.5", "35"),
        ("10", "100"),
        ("3 dogs", "세상의 개"),
        ("2 and 2", "deux"),
        ("3", "30"),
        ("12 12", "12"),
        ("10:30", "10"),
        ("{a}", "{a"),
    ],
)
def test_what_is_not_the_same_is_missing(source: str, translation: str) -> None:
    assert missing_in(Keep().find(source), translation) != []


@pytest.mark.parametrize(
    "one",
    [
        *("2024-01-15", "12/31/1999", "1.2.3", "127.0.0.1", "978-3-16-148410-0", "v2.0.1-rc.1"),
        *("+82-10-1234-5678", "+82 10-1234-5678", "+1 (555) 123-4567", "(02) 123-4567"),
        *("€1,234.56", "1.234,56 €", "US$20", "50%", "20 °C", "ISBN 978-3-16-148410-0"),
        *("/usr/local/bin", "~/notes/a.md", r"C:\Users\me\a.txt", "@jumok", "#attention"),
        *("550e8400-e29b-41d4-a716-446655440000", "{% if x %}", "<%= name %>"),
    ],
)
def test_what_is_one_thing_is_kept_as_one(one: str) -> None:
    assert [each.text for each in Keep().find(f"See {one}, now.")] == [one]


@pytest.mark.parametrize("text", ["He and/or she.", "a / b", "C: yes", "item #", "5%d", "a@"])
def test_what_only_looks_like_code_is_none(text: str) -> None:
    kept = Keep().find(text)
    assert [each.text for each in kept if each.kind == "code" and each.text != "%d"] == []


def test_what_a_search_has_left_of_a_missing_number_is_found() -> None:
    kept = Keep().find("It was 2024-01-15, at 10:30.")
    text = "202401 10:30 was 15 not 1."
    lacking = missing_in(kept, text)
    assert [each.text for each in lacking] == ["2024-01-15"]
    assert [text[slice(*span)] for span in remains_in(lacking, kept, text)] == ["202401", "15"]


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("I have %d books.", "J'ai %donne des livres.", "J'ai %d onne des livres."),
        ("Hello, {name}!", "Il {name}ille.", "Il {name} ille."),
        ("Hello, {name}!", "그는{name}세요", "그는 {name}세요"),
        ("제{name}장", "제{name}장", "제{name}장"),
        ("Use $HOME.", "a$HOMEs", "a $HOME s"),
        ("pre{name}post", "pre{name}post", "pre{name}post"),
        ("%d of %(d)s", "%(d)s %d", "%(d)s %d"),
    ],
)
def test_a_placeholder_is_a_word_of_its_own(source: str, text: str, expected: str) -> None:
    assert separated(Keep().find(source), source, text) == expected


def test_code_that_stands_too_often_is_taken_out() -> None:
    kept = Keep().find("{a} {a} {b}")
    assert surplus_in(kept, "{a} {b} {a} x {a} {b}") == [(14, 17), (18, 21)]
    assert corrected("{b} x", "{b} y {b}", Keep().find("{b} x"), [(6, 9)], (), False) == "{b} y"


def test_missing_string_goes_where_its_word_is_linked() -> None:
    source = "give {name} the cat"
    kept = Keep().find(source)
    links = ((0, 2), (1, 1), (3, 0))
    assert corrected(source, "고양이 를 줘", kept, [], links, False) == "고양이 {name} 를 줘"
    unlinked = ((0, 2), (3, 0))
    assert corrected(source, "고양이 를 줘", kept, [], unlinked, False) == "고양이 를 줘 {name}"
    assert corrected(source, "猫をあげて", kept, [], (), True).count("{name}") == 1


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("It is 20.", "이다. 20", "이다 20."),
        ("It is {a} {b} here.", "이다. {a} {b}", "이다 {a} {b}."),
        ("It is here. 20", "이다. 20", "이다. 20"),
        ("It is 20", "이다", "이다 20"),
    ],
)
def test_a_string_within_a_sentence_stays_before_its_end(source, text, expected) -> None:
    kept = Keep().find(source)
    text = without_tail(source, kept, text)
    assert corrected(source, text, kept, [], ((0, 0),), False) == expected


def test_every_kept_string_is_in_the_translation_once(translator: Translator) -> None:
    lines = [f"the cat {code} sat on 1,250 mats." for code in CODE]
    lines += ["<b>the cat</b> sat {name} {name}", "&lt; 10:30 <a href='x y'>I am <i>a</i></a> cat."]
    plain = translator.translate(lines, SHORT, keep=False)
    found = translator.translate(lines, SHORT)
    for line, one, other in zip(lines, found, plain, strict=True):
        kept = Keep().find(TAG.sub("", line))
        assert missing_in(kept, one.text) == surplus_in(kept, one.text) == []
        assert missing_in(kept, other.text) != []  # this model copies nothing by itself
        assert sorted(match[0] for match in TAG.finditer(one.text)) == sorted(
            match[0] for match in TAG.finditer(line)
        )
        assert one.forced or one.inserted
        words = len(one.text.split(" "))
        assert all(target < words for _, target in one.alignment)


def test_samples_and_short_limits_have_strings_put_in(translator: Translator) -> None:
    sampled, short = (
        translator.translate(["the {name} cat"], options)[0]
        for options in (replace(SHORT, sample=True), replace(SHORT, maximum_length=2))
    )
    for one in (sampled, short):
        assert one.text.count("{name}") == 1
        assert one.inserted == ("{name}",)


def test_figures_are_those_of_the_text_with_what_was_put_in(translator: Translator) -> None:
    (one,) = translator.translate(["the {name} cat"], replace(SHORT, maximum_length=2))
    (scored,) = translator.score(["the {name} cat"], [one.text])
    assert one.tokens == scored.tokens
    assert one.token_log_probabilities == pytest.approx(scored.token_log_probabilities, abs=1e-4)


def test_alternatives_keep_it_too_and_differ(translator: Translator) -> None:
    (one,) = translator.translate(["the {name} cat sat"], SHORT, beam=4, nbest=3)
    texts = [each.text for each in (one, *one.alternatives)]
    assert len(set(texts)) == 3
    assert all(text.count("{name}") == 1 for text in texts)


def test_glossary_is_read_with_the_place_of_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "terms.tsv"
    file.write_text("\ufeffcat\t고양이\n\nSeoul City\t서울시\n", encoding="utf-8")
    terms = Glossary.read(file)
    found = terms.find("CAT in Seoul City, not seoul city")
    assert [one.term.target for one in found] == ["고양이", "서울시"]
    file.write_text("cat\t고양이\ndog\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"terms.tsv, line 2: a line of the glossary is not a term"):
        Glossary.read(file)
    with pytest.raises(DataError, match="two translations"):
        Glossary([("a", "b"), ("a", "c")])
    assert [one.term.source for one in Glossary({"서울": "Seoul"}).find("서울에서 왔다")] == [
        "서울"
    ]
    assert Glossary({"art": "x"}).find("start arts") == []


@pytest.mark.parametrize("terms", [{"us": "우리", "US": "미국"}, {"US": "미국", "us": "우리"}])
def test_a_term_with_capitals_is_no_other_one(terms: dict[str, str]) -> None:
    for text, target in (("Us", "우리"), ("us", "우리"), ("US", "미국")):
        assert [one.term.target for one in Glossary(terms).find(text)] == [target]


@pytest.mark.parametrize(("term", "text"), [("μm", "5 \u00b5m"), ("sun", "the \u017fun")])
def test_letters_that_are_one_in_any_case_are_found(term: str, text: str) -> None:
    assert [one.term.source for one in Glossary({term: "x"}).find(text)] == [term]


def test_what_the_vocabulary_lacks_cannot_be_spelt() -> None:
    tokenizer = Tokenizer.train(["the cat sat", "a dog"] * 3, "char", 20, byte_fallback=False)
    assert spelling("고양이", tokenizer, inside=False) is None


def test_tags_come_off_and_go_back_with_their_words() -> None:
    bare, elements = undress("The <b>big <i>red</i></b> cat<br/> sat.")
    assert bare == "The big red cat sat."
    assert [(one.open, one.close, one.start, one.end) for one in elements] == [
        ("<b>", "</b>", 4, 11),
        ("<br/>", None, 15, 15),
    ]
    links = ((1, 2), (2, 1), (3, 0), (4, 3))
    (one,) = Bare(["The <b>big <i>red</i></b> cat sat."]).dressed(
        [Translation("고양이 빨간 큰 앉았다.", alignment=links)], True
    )
    assert one.text == "고양이 <b><i>빨간</i> 큰</b> 앉았다."
    assert one.alignment == links


def test_words_are_counted_with_the_spaces_inside_of_tags() -> None:
    (one,) = Bare(['<a href="x">cat</a> sat']).dressed(
        [Translation("앉은 고양이", alignment=((0, 1), (1, 0)))], True
    )
    assert one.text == '앉은 <a href="x">고양이</a>'
    assert one.alignment == ((1, 2), (2, 0))


@pytest.mark.parametrize(
    ("split", "languages", "common", "cut"),
    [
        ("auto", ("en", "ko"), None, True),
        ("auto", ("en", "ko"), 1, True),
        ("auto", ("en", "ko"), 3, False),
        ("auto", ("ko", "ko"), 1, False),
        ("sentences", ("ko", "ko"), 3, True),
        ("length", ("en", "ko"), 1, False),
        ("none", ("en", "ko"), 1, False),
    ],
)
def test_lines_are_cut_as_the_model_was_trained(split, languages, common, cut) -> None:
    assert cuts_sentences(split, languages, common) is cut


def test_every_sentence_of_a_line_is_translated_by_itself(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = "the cat sat.", "I am a student."
    joined, *alone = translator.translate([f"{one} {two}", one, two], SHORT)
    assert joined.text == f"{alone[0].text} {alone[1].text}"
    assert joined.tokens == alone[0].tokens + alone[1].tokens
    assert joined.confidence == min(each.confidence for each in alone)
    whole = translator.translate([f"{one} {two}"], SHORT, split="length")[0]
    assert len(whole.token_log_probabilities) <= SHORT.maximum_length + 1
    jaxtyping.config.update("jaxtyping_disable", True)  # the annotation would refuse it first
    try:
        with pytest.raises(ConfigError, match="no such way to split"):
            translator.translate([one], split="words")
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
    monkeypatch.setattr(translator, "longest_target", 20)
    with pytest.raises(DataError, match="longer than the model can read at once"):
        translator.translate([one * 100], split="none")


@pytest.mark.parametrize("pattern", ["[", "", "a*"])
def test_pattern_that_keeps_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match="a pattern of strings to keep"):
        Keep([pattern])
