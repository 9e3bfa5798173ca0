"""Phrases around the predicate: nouns with what stands before them, times, places, companions."""

from functools import cache
from typing import NamedTuple

from jumok.smallworld.english import article, number_name
from jumok.smallworld.fragment import Fragment, fragment, join, links, unspoken
from jumok.smallworld.korean import adnominal, native_number, sino_number, with_particle
from jumok.smallworld.lexicon import ANIMATE, CITIES, NAMES, NOUNS, Adjective, Noun, nouns_of
from jumok.smallworld.predicates import Person


class NounPhrase(NamedTuple):
    """A noun with its particle, whom the English verb agrees with, and whether it takes -시-."""

    fragment: Fragment
    person: Person
    honoured: bool


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
SHARED = ("elder", "place", "building")

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
    return NounPhrase(fragment(english, said), person, False)


@cache
def name(english: str, case: str) -> NounPhrase:
    """A person's name."""
    return NounPhrase(fragment(english, with_particle(NAMES[english], case)), Person.SHE, False)


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
    return NounPhrase(built, Person.THEY if plural else Person.SHE, noun.honoured)


def modified(
    noun: Noun, adjective: Adjective, determiner: str, case: str, humble: bool
) -> NounPhrase:
    """A singular noun after a determiner and an adjective: "my big dog" (제 큰 개)."""
    said = with_particle(noun.korean, _case(noun, determiner, case))
    before = _determiner(noun, determiner, humble)
    quality, english = adnominal(adjective.stem), adjective.english.positive
    word = article(english) if determiner == "a" else determiner
    if not word:
        built = Fragment(f"{english} {noun.english}", 2, f"{quality} {said}", 2, IN_STEP_2)
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
    return NounPhrase(built, Person.SHE, noun.honoured)


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
    return NounPhrase(built, Person.SHE if number == 1 else Person.THEY, False)


def together(first: NounPhrase, second: Fragment, word: str) -> NounPhrase:
    """Two noun phrases joined by "and" or "or"; the first must carry that particle already."""
    parts = (first.fragment, unspoken(word), second)
    return NounPhrase(join(parts, parts), Person.THEY, False)


YOU = NounPhrase(unspoken("you"), Person.YOU, False)


def _times(text: str) -> tuple[Fragment, ...]:
    lines = (line.split(" = ") for line in text.strip().splitlines())
    return tuple(fragment(english, korean) for english, korean in lines)


PAST_TIMES = _times("""
yesterday = 어제
last week = 지난주에
last month = 지난달에
last year = 작년에
last night = 어젯밤에
last summer = 지난여름에
last winter = 지난겨울에
""")
FUTURE_TIMES = _times("""
tomorrow = 내일
next week = 다음 주에
next month = 다음 달에
next year = 내년에
soon = 곧
tonight = 오늘 밤에
""")
HABIT_TIMES = _times("""
every day = 매일
every morning = 매일 아침
every evening = 매일 저녁
every week = 매주
every year = 매년
these days = 요즘
""")
NOW = _times("now = 지금")
BEFORE = fragment("before", "전에")
FREQUENCIES = _times("""
always = 항상
often = 자주
sometimes = 가끔
usually = 보통
""")
MANNERS = _times("""
quickly = 빨리
slowly = 천천히
carefully = 조심스럽게
happily = 즐겁게
quietly = 조용히
again = 다시
early = 일찍
late = 늦게
alone = 혼자
""")
# What one can say of sleeping and standing as well as of doing something to a thing.
STATES = MANNERS[-6:]
DAYS = _times("""
on Monday = 월요일에
on Tuesday = 화요일에
on Wednesday = 수요일에
on Thursday = 목요일에
on Friday = 금요일에
on Saturday = 토요일에
on Sunday = 일요일에
today = 오늘
in spring = 봄에
in summer = 여름에
in autumn = 가을에
in winter = 겨울에
in the morning = 아침에
in the afternoon = 오후에
in the evening = 저녁에
at night = 밤에
at noon = 정오에
on weekends = 주말에
this week = 이번 주에
""")


def _clock() -> tuple[Fragment, ...]:
    times = []
    for hour in range(1, 13):
        english, korean = number_name(hour), native_number(hour)
        times.append(fragment(f"at {english} o'clock", f"{korean} 시에", (0, 1), (1, 0), (2, 1)))
        times.append(
            fragment(f"at half past {english}", f"{korean} 시 반에", (0, 2), (1, 2), (2, 1), (3, 0))
        )
        for minutes in (10, 20, 40, 50):
            times.append(
                fragment(
                    f"at {english} {number_name(minutes)}",
                    f"{korean} 시 {sino_number(minutes)} 분에",
                    *((0, 3), (1, 0), (1, 1), (2, 2), (2, 3)),
                )
            )
    return tuple(times)


CLOCK = _clock()

# English unit, Korean unit, the number's kind, and the largest number said of it.
UNITS_OF_TIME = (
    ("minute", "분", sino_number, 59),
    ("hour", "시간", native_number, 12),
    ("day", "일", sino_number, 20),
    ("week", "주", sino_number, 8),
    ("month", "달", native_number, 11),
    ("year", "년", sino_number, 40),
)


@cache
def span(unit: int, number: int, ago: bool) -> Fragment:
    """ "for three hours" (세 시간 동안) or "three hours ago" (세 시간 전에)."""
    english, korean, numeral, _ = UNITS_OF_TIME[unit]
    word = f"{number_name(number)} {english}{'s' if number > 1 else ''}"
    if ago:
        return fragment(f"{word} ago", f"{numeral(number)} {korean} 전에", (0, 0), (1, 1), (2, 2))
    return fragment(f"for {word}", f"{numeral(number)} {korean} 동안", (0, 2), (1, 0), (2, 1))


SITES = (
    tuple(("at the", noun.english, noun.korean) for noun in NOUNS["place"])
    + tuple(("in the", noun.english, noun.korean) for noun in NOUNS["room"])
    + tuple(("in", english, korean) for english, korean in CITIES.items())
)


def _sites(case: str, preposition: str | None) -> tuple[Fragment, ...]:
    """Every site with a particle; preposition: in place of "at" and "in" ("to the park")."""
    built = []
    for before, english, korean in SITES:
        at, *the = before.split()
        words = " ".join((preposition or at, *the, english))
        built.append(fragment(words, with_particle(korean, case)))
    return tuple(built)


ACTING_AT = _sites("acting at", None)
BEING_AT = _sites("at", None)
GOING_TO = _sites("at", "to")
COMING_FROM = _sites("from", "from")
UP_TO = _sites("until", "to")
REGIONS_AT = tuple(fragment(f"in {name}", f"{korean}에") for name, korean in CITIES.items())
REGIONS_BEING = tuple(
    fragment(f"in {name}", with_particle(korean, "topic")) for name, korean in CITIES.items()
)
REGIONS = tuple(fragment(f"in {name}", f"{korean}에서") for name, korean in CITIES.items())

POSITIONS = (
    ("on", "위에", ("furniture", "vehicle", "machine")),
    ("under", "아래에", ("furniture", "tree", "vehicle")),
    ("in", "안에", ("container", "vehicle", "building")),
    ("behind", "뒤에", ("furniture", "tree", "vehicle", "building", "opening")),
    ("beside", "옆에", ("furniture", "container", "tree", "building", "machine")),
    ("in front of", "앞에", ("furniture", "tree", "vehicle", "building", "opening")),
)


def _positions() -> tuple[Fragment, ...]:
    built = []
    for preposition, korean, categories in POSITIONS:
        width = len(preposition.split())
        pairs = (*((i, 1) for i in range(width)), (width, 0), (width + 1, 0))
        for noun in nouns_of(categories):
            built.append(
                fragment(f"{preposition} the {noun.english}", f"{noun.korean} {korean}", *pairs)
            )
    return tuple(built)


PLACED = _positions()
BY_VEHICLE = tuple(
    fragment(f"by {noun.english}", with_particle(noun.korean, "by")) for noun in NOUNS["vehicle"]
)
WITH_FRIEND = tuple(
    fragment(f"with {english}", f"{with_particle(korean, 'with')} 같이", (0, 1), (1, 0))
    for english, korean in NAMES.items()
)
