"""The weather: how it is somewhere, and what people do and leave because of it."""

from typing import NamedTuple

from smallworld import circumstances, phrases
from smallworld.clauses import FUTURE, PAST, ordered
from smallworld.fragment import Fragment, fragment, join, unspoken
from smallworld.korean import Stem
from smallworld.lexicon import ALL_NOUNS
from smallworld.predicates import STATEMENT, Inflection, finish, verb_predicate
from smallworld.reasons import comma
from smallworld.verbs import VERB, Verb
from smallworld.writer import PhraseWriter


class Weather(NamedTuple):
    """A kind of weather.

    english: the present and past predicate of "it".
    korean: the words before the predicate, and its stem.
    falls: whether it is in a place (에), not how a place is (는).
    brings, stops: what people do then, and leave, as "verb object" or "go place".
    """

    english: tuple[str, str]
    korean: tuple[str, Stem]
    falls: bool
    brings: tuple[str, ...]
    stops: tuple[str, ...]


def _sky(word: str, korean: str, brings: str, stops: str, irregular: str = "") -> Weather:
    stem = Stem.of(korean, "adjective", irregular)
    return Weather(
        (f"is {word}", f"was {word}"),
        ("", stem),
        False,
        tuple(brings.split(", ")),
        tuple(stops.split(", ")),
    )


def _falling(word: str, korean: tuple[str, str], brings: str, stops: str) -> Weather:
    return Weather(
        (f"{word}s", f"{word}ed"),
        (korean[0], Stem.of(korean[1])),
        True,
        tuple(brings.split(", ")),
        tuple(stops.split(", ")),
    )


COLD_DAY = "wear coat, wear sweater, drink tea, drink coffee, close window, eat soup"
FINE_DAY = "go park, go beach, go zoo, walk, exercise, ride bicycle, draw flower, run"
WEATHERS = (
    _falling(
        "rain",
        ("비가", "오"),
        "wear coat, ride bus, ride taxi, rest, close window, read book, go library",
        "go park, go beach, go zoo, walk, run, exercise, travel, ride bicycle, swim",
    ),
    _falling(
        "snow",
        ("눈이", "내리"),
        f"{COLD_DAY}, ride bus",
        "drive car, ride bicycle, go beach, travel, exercise, ride motorcycle",
    ),
    _sky("chilly", "쌀쌀하", COLD_DAY, "swim, go beach, open window"),
    _sky("humid", "습하", "open window, drink juice, rest", "exercise, run, walk"),
    _sky("cloudy", "흐리", "read book, go library, go museum, rest", "go beach, swim"),
    _sky("sunny", "맑", FINE_DAY, "wear coat"),
    _sky("cold", "춥", COLD_DAY, "swim, go beach, open window, ride bicycle, run", "ㅂ"),
    _sky(
        "hot",
        "덥",
        "swim, open window, drink water, drink juice, go beach, rest",
        "exercise, run, wear coat, wear sweater, work, eat soup",
        "ㅂ",
    ),
)
IT, BECAUSE, SO = unspoken("it"), unspoken("because"), unspoken("so")


def _state(kind: Weather, ending: str, past: bool) -> Fragment:
    before, stem = kind.korean
    said = f"{before} {finish(stem.past() if past else stem, ending)}".strip()
    return fragment(kind.english[past], said)


def weather(writer: PhraseWriter) -> Fragment:
    """The weather somewhere, some time."""
    past = writer.chance(0.6)
    kind = writer.pick(WEATHERS)
    state = _state(kind, STATEMENT[writer.register], past)
    place = writer.pick(circumstances.REGIONS_AT if kind.falls else circumstances.REGIONS_BEING)
    time = writer.pick(circumstances.RECENTLY if past else THESE_DAYS)
    return join((IT, state, place, time), (time, place, state, IT))


THESE_DAYS = tuple(
    each for each in circumstances.HABIT_TIMES if each.english in ("these days", "every day")
)


def _deed(writer: PhraseWriter, what: str) -> tuple[Verb, tuple[Fragment, ...]]:
    base, *lemmas = what.split()
    verb = VERB[base]
    if base == "go":
        return verb, (circumstances.GOING_TO[lemmas[0]],)
    if not lemmas:
        return verb, ()
    noun = ALL_NOUNS[lemmas[0]]
    determiner = ""
    if base in ("open", "close"):
        determiner = "the"
    elif not noun.measure:
        determiner = "a"
    return verb, (phrases.common(noun, determiner, "object", writer.humble).fragment,)


def by_weather(
    writer: PhraseWriter, ending: str, word: str, past: bool, against: bool = False
) -> Fragment:
    """ "Because it rained, Minsu rode a bus": what the weather brings, stops, or, `against`, what
    somebody does nevertheless."""
    kind = writer.pick(WEATHERS)
    leaves = against or writer.chance(0.4)
    verb, what = _deed(writer, writer.pick(kind.stops if leaves else kind.brings))
    subject = writer.person("topic", "adult" in verb.traits)
    negation = ""
    if leaves and not against:
        negation = "not" if verb.splits or writer.chance(0.5) else "n't"
    tense = PAST if past else FUTURE
    inflection = Inflection(
        subject.person, STATEMENT[writer.register], past, negation, False, subject.honoured
    )
    does = verb_predicate(verb, tense.frame, inflection)
    main = ordered(subject, does, what, what)
    state, link = _state(kind, ending, past), unspoken(word)
    if writer.chance(0.5):
        state = comma(state)
        return join((link, IT, state, main), (state, IT, link, main))
    return join((main, link, IT, state), (state, IT, link, main))
