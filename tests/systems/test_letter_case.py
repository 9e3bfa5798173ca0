"""Capitals, titles and small letters are read, and translated, as usual sentences."""

from dataclasses import replace
from functools import cache
from random import Random

import pytest

import jumok
from jumok.data.tokenizer import Tokenizer, normalize
from jumok.systems.translation.kept.keeping import Keep
from jumok.systems.translation.kept.letter_case import LetterCase, usual_styles
from jumok.systems.translation.translator import Translator
from tests.systems.worded import cased_translator


@pytest.fixture(scope="module")
def translator() -> Translator:
    return cased_translator()


@pytest.mark.parametrize(
    ("given", "usual"),
    [
        ("THE ROAD LOST PETER.", "The road lost Peter."),
        ("THE ROAD LOST PETER", "The road lost Peter"),
        ("The Road Lost Peter.", "The road lost Peter."),
        ("mary saw the dog.", "Mary saw the dog."),
        ("MARY SAW THE DOG. THE CAR LOST ANNA.", "Mary saw the dog. The car lost Anna."),
    ],
)
def test_the_case_changes_nothing(translator: Translator, given: str, usual: str) -> None:
    one, other = translator.translate([given, usual])
    assert one.text == other.text
    assert (one.tokens, one.alignment, one.notes) == (other.tokens, other.alignment, other.notes)
    assert one.source_tokens == other.source_tokens
    assert translator.score([given], [other.text])[0].score == pytest.approx(
        translator.score([usual], [other.text])[0].score
    )


def test_what_is_kept_keeps_its_letters(translator: Translator) -> None:
    texts = [
        "THE <b>ROAD</b> LOST PETER. THE CAR LOST {name}.",
        "• THE CAR SAW PETER http://a.b/Cd",
        "%d DOGS SAW THE CAR",
    ]
    first, second, third = (one.text for one in translator.translate(texts))
    assert "{name}" in first
    assert "<b>die Straße</b>" in first
    assert second.startswith("• ")
    assert "http://a.b/Cd" in second
    assert third.count("%d") == 1


def test_records_and_traces_have_the_given_text(translator: Translator) -> None:
    given = "THE ROAD LOST PETER."
    (one,) = translator.translate([given])
    (alone,) = translator.translate([given], keep=False)
    assert alone.source_tokens != one.source_tokens
    with jumok.record(translator) as recording:
        translator.translate([given])
    (trace,) = recording.traces
    assert (trace.text, trace.output) == (given, one.text)
    assert jumok.trace(translator, given).output == one.text


@pytest.mark.parametrize(
    ("term", "expected"),
    [("Dackel", "Mary sah den Dackel."), ("eine Katze", "Mary sah eine Katze.")],
)
def test_a_term_is_found_in_capitals(translator: Translator, term: str, expected: str) -> None:
    """Its own article replaces the other one, which stays otherwise."""
    (one,) = translator.translate(["MARY SAW THE DOG."], glossary={"dog": term})
    assert one.text == expected
    assert one.terms == (term,)


def test_a_line_in_another_case_is_counted(translator: Translator) -> None:
    assert translator.otherwise(["THE ROAD LOST PETER.", "The road lost Peter."]) == 1


TEXTS = {
    "en": "A man in a red shirt is standing next to the dog and welcome. I am in Germany, he says. "
    "The NASA and the USA have a warning. Two boys are playing with a guitar.",
    "de": "Ein Mann in einem roten Hemd steht neben dem Hund in der Straße. Die NASA hat Kinder. "
    "Zwei Jungen spielen mit einer Gitarre und der Frau.",
    "tr": "Kırmızı ışık yandı ve istanbul için iyi bir gün. Ilık bir İzmir akşamı.",
    "el": "Ο άντρας είδε τον σκύλο στους δρόμους της Αθήνας και της χώρας.",
    "ru": "Мужчина в красной рубашке стоит рядом с собакой в Москве.",
    "ko": "한국의 NASA 센터에서 온 남자가 서울에 있다.",
}


def rule(source: str, text: str = "") -> LetterCase:
    return LetterCase(tokenizer(text or " ".join(TEXTS.values())), Keep(), source)


@cache
def tokenizer(text: str) -> Tokenizer:
    return Tokenizer.train([text] * 3, "bpe", 800)


@pytest.mark.parametrize(
    ("language", "given", "read"),
    [
        ("en", "A MAN IN A RED {name} IN GERMANY", "A man in a red {name} in Germany"),
        ("en", "I AM IN THE USA.", "I am in the USA."),
        ("en", "WARNING!", "Warning!"),
        ("en", "Two Boys Are Playing With a Guitar", "Two boys are playing with a guitar"),
        ("en", "he says i am in the dog.", "He says I am in the dog."),
        ("de", "DIE KINDER SPIELEN MIT DEM HUND", "Die Kinder spielen mit dem Hund"),
        ("tr", "KIRMIZI IŞIK YANDI VE İSTANBUL İÇİN", "Kırmızı ışık yandı ve istanbul için"),
        ("tr", "istanbul için iyi bir gün.", "İstanbul için iyi bir gün."),
        ("ru", "МУЖЧИНА СТОИТ РЯДОМ С СОБАКОЙ В МОСКВЕ", "Мужчина стоит рядом с собакой в Москве"),
        ("el", "ΣΤΟΥΣ ΔΡΟΜΟΥΣ ΤΗΣ ΧΩΡΑΣ", "Στους δρομους της χωρας"),
    ],
)  # fmt: skip
def test_it_is_read_as_a_usual_sentence(language: str, given: str, read: str) -> None:
    found = rule(language).read(given, given)
    assert found is not None
    assert found.text == read


@pytest.mark.parametrize(
    ("language", "text"),
    [
        *(
            ("en", text)
            for text in ("NASA", "USA", "OK.", "PDF", "{NAME}", "A", "A. B.", "", "42 KM")
        ),
        ("en", "The NASA has a man."),
        ("en", "John Smith"),
        ("en", "a red shirt"),
        ("en", "iPhone, iPad and McDonald"),
        ("en", "USA, NASA, ESA, BMW"),
        ("de", "Kinder, Mann, Frau und Hund"),
        ("de", "Die Straße der Kinder"),
        ("ko", "NASA 서울 USA BBC CNN"),
        ("ko", "한국의 NASA 센터"),
    ],
)
def test_it_stays(language: str, text: str) -> None:
    assert rule(language).read(text, text) is None


def test_a_style_of_the_training_data_stays() -> None:
    own = rule("en")
    title, small, code = "Two Boys Are Playing", "two boys are playing.", "man.page is a guitar."
    texts = ["A man is playing."] * 1_998 + [small, small]
    assert usual_styles(own.tokenizer, texts, "en") == ("small",)
    assert usual_styles(own.tokenizer, ["A MAN IN A RED SHIRT", title], "en") == ("title",)
    assert own.read(small, small) is not None
    assert own.read(code, code) is None
    knows = replace(own, usual=("small", "title"))
    assert knows.read(small, small) is None
    assert knows.read(title, title) is None
    assert knows.read(title.upper(), title.upper()) is not None


def test_a_model_of_small_letters_reads_small_letters() -> None:
    own = rule("en", text=" ".join(TEXTS.values()).lower())
    given = "A MAN IN A RED SHIRT"
    assert (found := own.read(given, given)) is not None
    assert found.text == given.lower()
    assert own.read("a man in a red shirt.", "a man in a red shirt.") is None


def test_no_letter_is_won_or_lost() -> None:
    random = Random(4)
    own = rule("en")
    letters = "AÄßẞİIıiǅŉΣσςΆЖж가ªº'’.{}%1 ABCDEFGH"
    for _ in range(3_000):
        text = normalize("".join(random.choices(letters, k=random.randrange(1, 30))))
        if found := own.read(text, text):
            assert len(found.text) == len(text)
            assert len(found.text.split()) == len(text.split())
