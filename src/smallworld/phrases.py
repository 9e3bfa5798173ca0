"""Noun phrases: names, pronouns, and nouns with what stands before them."""

from functools import cache
from typing import NamedTuple

from smallworld.english import article, number_name
from smallworld.fragment import Fragment, fragment, join, links, unspoken
from smallworld.korean import adnominal, native_number, with_particle
from smallworld.lexicon import ANIMATE, MEN, NAMES, NATIVE, Adjective, Noun
from smallworld.predicates import Person


class NounPhrase(NamedTuple):
    """A noun with its particle, whom the English verb agrees with, and whether it takes -시-.

    again: the English pronouns that may take it up again.
    """

    fragment: Fragment
    person: Person
    honoured: bool
    again: tuple[str, ...] = ()


HONOURED_CASES = {
    "topic": "topic honoured",
    "subject": "subject honoured",
    "to": "to honoured",
}

# How the words of a noun phrase are linked: the counter goes with the number ("three dogs",
# 개 세 마리) unless English has a measure of its own ("two cups of tea", 차 두 잔).
BOTH_WITH_NOUN = links((0, 0), (1, 0))
IN_STEP_2 = links((0, 0), (1, 1))
IN_STEP_3 = links((0, 0), (1, 1), (2, 2))
QUALIFIED = links((0, 1), (1, 0), (2, 1))
COUNTED = links((0, 1), (0, 2), (1, 0))
MEASURED = links((0, 1), (1, 2), (2, 2), (3, 0))

# Determiners that make a subject new to the listener: it takes 이/가, not 은/는.
INDEFINITE = ("a", "many")

# What one calls "our" in Korean where English says "my": 우리 어머니, 우리 학교.
SHARED = ("elder", "relative", "place", "building")

# English determiner -> the Korean word before the noun, "" where Korean says nothing.
DETERMINERS = {
    "the": "",
    "a": "",
    "": "",
    "this": "이",
    "that": "그",
    "our": "우리",
    "his": "그의",
    "her": "그녀의",
    "many": "많은",
}

# Agreement, English subject and object, and the Korean, humble and plain, each as it is and as
# it is before 가 (저, but 제가).
PRONOUNS = {
    "I": (Person.I, "I", "me", ("저", "제"), ("나", "내")),
    "we": (Person.WE, "we", "us", ("우리", "우리"), ("우리", "우리")),
    "he": (Person.SHE, "he", "him", ("그", "그"), ("그", "그")),
    "she": (Person.SHE, "she", "her", ("그녀", "그녀"), ("그녀", "그녀")),
    "they": (Person.THEY, "they", "them", ("그들", "그들"), ("그들", "그들")),
}


@cache
def pronoun(word: str, case: str, humble: bool) -> NounPhrase:
    """A pronoun by its English subject form; humble: 저 for oneself, which is polite, not 나."""
    person, subject, other, polite, plain = PRONOUNS[word]
    korean, before_subject = polite if humble else plain
    said = with_particle(before_subject if case == "subject" else korean, case)
    english = subject if case in ("topic", "subject", "also", "only") else other
    return NounPhrase(fragment(english, said), person, False, (word,))


@cache
def name(english: str, case: str, casual: bool = False) -> NounPhrase:
    """A person's name. casual: friends add 이 to a Korean name that ends in a consonant
    (수진이는), before any particle."""
    korean = NAMES[english]
    if casual and english in NATIVE and with_particle(korean, "topic").endswith("은"):
        korean += "이"
    again = ("he",) if english in MEN else ("she",)
    return NounPhrase(fragment(english, with_particle(korean, case)), Person.SHE, False, again)


def called(english: str) -> str:
    """How somebody is called in 해체: 민수야, 수진아; a foreign name takes no particle."""
    return with_particle(NAMES[english], "vocative") if english in NATIVE else NAMES[english]


def _case(noun: Noun, determiner: str, case: str) -> str:
    if case == "topic" and determiner in INDEFINITE:
        case = "subject"
    return HONOURED_CASES.get(case, case) if noun.honoured else case


def _determiner(noun: Noun, determiner: str, humble: bool) -> str:
    if determiner == "my":
        if noun.category in SHARED:
            return "우리"
        return "제" if humble else "내"
    return DETERMINERS[determiner]


def _korean_noun(noun: Noun, plural: bool) -> str:
    return noun.korean + "들" if plural and noun.category in ANIMATE else noun.korean


@cache
def common(
    noun: Noun, determiner: str, case: str, humble: bool, plural: bool = False
) -> NounPhrase:
    """A common noun after a determiner: "the dog", "my books", "" for bare "dogs" and "water".

    A plural shows as 들 on people and animals that are definite or many; Korean says nothing else.
    """
    marked = plural and determiner != ""
    said = with_particle(_korean_noun(noun, marked), _case(noun, determiner, case))
    before = _determiner(noun, determiner, humble)
    english = noun.plural if plural else noun.english
    word = article(english) if determiner == "a" else determiner
    if not word:
        built = fragment(english, said)
    elif not before:
        built = Fragment(f"{word} {english}", 2, said, 1, BOTH_WITH_NOUN)
    else:
        built = Fragment(f"{word} {english}", 2, f"{before} {said}", 2, IN_STEP_2)
    if plural:
        return NounPhrase(built, Person.THEY, noun.honoured, ("they",))
    return NounPhrase(built, Person.SHE, noun.honoured, noun.again)


def modified(
    noun: Noun,
    adjective: Adjective,
    determiner: str,
    case: str,
    humble: bool,
    plural: bool = False,
) -> NounPhrase:
    """A noun after a determiner and an adjective: "my big dog" (제 큰 개).

    plural: of a bare noun, without a determiner: "thinking machines" (생각하는 기계).
    """
    said = with_particle(noun.korean, _case(noun, determiner, case))
    before = _determiner(noun, determiner, humble)
    quality, english = adnominal(adjective.stem), adjective.english.positive
    word = article(english) if determiner == "a" else determiner
    if not word:
        bare = noun.plural if plural else noun.english
        built = Fragment(f"{english} {bare}", 2, f"{quality} {said}", 2, IN_STEP_2)
    elif before:
        built = Fragment(
            f"{word} {english} {noun.english}",
            3,
            f"{before} {quality} {said}",
            3,
            IN_STEP_3,
        )
    else:
        built = Fragment(
            f"{word} {english} {noun.english}",
            3,
            f"{quality} {said}",
            2,
            QUALIFIED,
        )
    if plural:
        return NounPhrase(built, Person.THEY, noun.honoured, ("they",))
    return NounPhrase(built, Person.SHE, noun.honoured, noun.again)


@cache
def counted(noun: Noun, number: int, case: str) -> NounPhrase:
    """A number of things with its counter: "three dogs" (개 세 마리), "two cups of tea" (차 두 잔).

    The counter belongs to the number; of a measure ("cups of") it is the translation.
    """
    case = "subject" if case == "topic" else case
    counter = with_particle(noun.counter, case)
    said = f"{noun.korean} {native_number(number)} {counter}"
    word = number_name(number)
    if noun.measure is None:
        english = f"{word} {noun.english if number == 1 else noun.plural}"
        built = Fragment(english, 2, said, 3, COUNTED)
    else:
        measure = noun.measure + ("s" if number > 1 else "")
        english = f"{word} {measure} of {noun.english}"
        built = Fragment(english, 4, said, 3, MEASURED)
    return NounPhrase(built, Person.SHE if number == 1 else Person.THEY, False, ("they",))


def together(first: NounPhrase, second: Fragment, word: str) -> NounPhrase:
    """Two noun phrases joined by "and" or "or"; the first must carry that particle already."""
    parts = (first.fragment, unspoken(word), second)
    return NounPhrase(join(parts, parts), Person.THEY, False, ("they",))


YOU = NounPhrase(unspoken("you"), Person.YOU, False)
