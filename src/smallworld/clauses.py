"""Clauses: who does what and when, with the ending that the clause needs where it stands."""

from collections.abc import Sequence
from typing import NamedTuple

from smallworld import circumstances, phrases
from smallworld.choices import DESCRIBED, PREDICATES_OF
from smallworld.fragment import EMPTY, Fragment, join
from smallworld.lexicon import ADJECTIVE, Adjective, Noun
from smallworld.phrases import NounPhrase
from smallworld.predicates import (
    Inflection,
    Predicate,
    adjective_predicate,
    verb_predicate,
)
from smallworld.verbs import Verb
from smallworld.writer import Event, PhraseWriter

Phrases = tuple[Fragment, ...]


class Tense(NamedTuple):
    """A frame of `predicates.FRAMES`, its tense, the times that go with it, and its name."""

    construction: str
    frame: str
    past: bool
    times: tuple[Fragment, ...]


ANY_TIME = circumstances.DAYS + circumstances.CLOCK[::5]
PAST_TIMES = circumstances.RECENTLY * 4 + ANY_TIME
FUTURE_TIMES = circumstances.SHORTLY * 4 + ANY_TIME
HABIT_TIMES = circumstances.HABIT_TIMES * 4 + ANY_TIME
LONG_PAST = circumstances.LONG_AGO * 4 + circumstances.SEASONS
LONG_FUTURE = circumstances.LATER * 4 + circumstances.SEASONS

PAST = Tense("past", "simple", True, PAST_TIMES)
PRESENT = Tense("present", "simple", False, HABIT_TIMES)
FUTURE = Tense("future", "will", False, FUTURE_TIMES)
PROGRESSIVE = Tense("progressive", "progressive", False, circumstances.NOW)
WAS_DOING = Tense("past progressive", "progressive", True, circumstances.CLOCK)
TENSES = (
    *(PAST,) * 7,
    *(PRESENT,) * 4,
    *(FUTURE,) * 3,
    *(PROGRESSIVE,) * 2,
    WAS_DOING,
    Tense("intention", "going to", False, FUTURE_TIMES),
    Tense("want", "want", False, FUTURE_TIMES),
    Tense("want", "want", True, PAST_TIMES),
    Tense("try", "try", True, PAST_TIMES),
    Tense("begin", "begin", True, PAST_TIMES),
    *(Tense("can", "can", False, FUTURE_TIMES),) * 2,
    Tense("could", "can", True, PAST_TIMES),
    Tense("cannot", "cannot", False, FUTURE_TIMES),
    Tense("could not", "could not", True, PAST_TIMES),
    *(Tense("must", "must", False, FUTURE_TIMES),) * 2,
    Tense("must not", "must not", False, FUTURE_TIMES),
    Tense("may", "may", False, FUTURE_TIMES),
    Tense("experience", "experience", False, (circumstances.BEFORE,)),
)
STATIVE_TENSES = (PAST, PRESENT, PRESENT)
LASTING = ("simple", "will", "going to", "want", "must", "can")
"""Frames with which one can say how long."""
UNMEANT_BY_BEASTS = ("want", "must", "must not", "may", "try", "going to", "experience")


def ordered(
    subject: NounPhrase,
    predicate: Predicate,
    after: Phrases,
    before: Phrases,
    time: Fragment = EMPTY,
    adverb: Fragment = EMPTY,
) -> Fragment:
    """The clause in both orders: subject auxiliary adverb verb, `after`, time; and
    subject time adverb, `before`, verb."""
    who = subject.fragment
    if adverb is EMPTY:
        return join(
            (who, predicate.whole, *after, time),
            (who, time, *before, predicate.whole),
        )
    return join(
        (who, predicate.auxiliary, adverb, predicate.rest, *after, time),
        (who, time, adverb, *before, predicate.rest, predicate.auxiliary),
    )


def asked(
    subject: NounPhrase,
    predicate: Predicate,
    after: Phrases,
    before: Phrases,
    time: Fragment = EMPTY,
    word: Fragment = EMPTY,
) -> Fragment:
    """The clause as a question: word auxiliary subject verb ... ; the Korean keeps its order.

    A dropped "you" has no Korean of its own and links with the end of the predicate.
    """
    who = subject.fragment
    first, last = (who, EMPTY) if who.korean_words else (EMPTY, who)
    return join(
        (word, predicate.auxiliary, who, predicate.rest, *after, time),
        (first, time, word, *before, predicate.rest, predicate.auxiliary, last),
    )


def draw_tense(writer: PhraseWriter, verb: Verb, tenses: Sequence[Tense] = TENSES) -> Tense:
    """A tense that the verb may stand in."""
    if verb.stative:
        return writer.pick(STATIVE_TENSES)
    if "chance" in verb.traits:
        return PAST
    tense = writer.pick(tenses)
    while not writer.allows(verb, tense.frame) or (tense is PRESENT and "daily" not in verb.traits):
        tense = writer.pick(tenses)
    return tense


def draw_negation(writer: PhraseWriter, event: Event, tense: Tense) -> str:
    """ "", "not" or "n't", whichever the frame and the verb allow."""
    if tense.frame not in ("simple", "will", "progressive", "want", "can") or not writer.chance(
        0.2
    ):
        return ""
    if event.lasting:
        return ""
    short = tense.frame in ("simple", "will", "can") and not event.verb.splits
    if short and (tense.frame == "can" or writer.chance(0.5)):
        writer.used.append("short negation")
        return "n't"
    if tense.frame == "can":
        return ""
    writer.used.append("negation")
    return "not"


def times_of(verb: Verb, tense: Tense) -> Phrases:
    """The times that suit the verb and the tense."""
    if "years" in verb.traits and tense.frame != "progressive":
        return LONG_PAST if tense.past else LONG_FUTURE if tense is not PRESENT else HABIT_TIMES
    return tense.times


NEAR, FAR = ("minute", "hour", "day"), ("week", "month", "year")


def draw_time(writer: PhraseWriter, event: Event, tense: Tense) -> Fragment:
    """A time that suits the tense, or EMPTY."""
    if tense.construction == "experience":
        return circumstances.BEFORE
    if event.lasting or event.verb.stative or not tense.times or not writer.affords(2):
        return EMPTY
    writer.used.append("time")
    if tense is PAST and writer.chance(0.15):
        return writer.duration(FAR if "years" in event.verb.traits else NEAR, ago=True)
    return writer.pick(times_of(event.verb, tense))


def action(
    writer: PhraseWriter, ending: str, *, case: str = "topic", tense: Tense | None = None
) -> Fragment:
    """Somebody does something: a clause with a verb.

    case: of the subject; "subject" inside another clause.
    tense: None to draw one.
    """
    verb = writer.verb()
    drawn = draw_tense(writer, verb) if tense is None else tense
    while tense is not None and not writer.allows(verb, tense.frame):
        verb = writer.verb()
    subject = writer.subject_of(verb, case)
    while subject.again == ("it",) and drawn.frame in UNMEANT_BY_BEASTS:
        subject = writer.subject_of(verb, case)
    return clause_of(writer, verb, drawn, subject, ending, free=tense is None)


def clause_of(
    writer: PhraseWriter,
    verb: Verb,
    tense: Tense,
    subject: NounPhrase,
    ending: str,
    *,
    free: bool = True,
) -> Fragment:
    """The subject does what the verb says, with circumstances as the room allows.

    free: whether it may be denied.
    """
    if tense is PRESENT and writer.settled(verb, subject.person, False) and not verb.stative:
        tense = PAST
    writer.used.append(tense.construction)
    habit = tense is PRESENT and not verb.stative
    event = writer.event(verb, subject, habit, tense.frame in LASTING)
    negation = draw_negation(writer, event, tense) if free else ""
    inflection = Inflection(subject.person, ending, tense.past, negation, False, subject.honoured)
    predicate = verb_predicate(event.verb, tense.frame, inflection)
    time = draw_time(writer, event, tense)
    if habit and time is EMPTY and not event.lasting and writer.room > 0 and writer.chance(0.4):
        writer.used.append("frequency")
        often = writer.pick(circumstances.FREQUENCIES)
        return ordered(subject, predicate, event.english, event.korean, time, often)
    if time is not EMPTY and tense.frame != "experience" and writer.chance(0.2):
        writer.used.append("time first")
        rest = ordered(subject, predicate, event.english, event.korean)
        return join((time, rest), (time, rest))
    return ordered(subject, predicate, event.english, event.korean, time)


DEGREES = ("", "", "very 아주", "really 정말", "too 너무")
GOOD_DEGREES = DEGREES[:-1]
MOODS = tuple(
    ADJECTIVE[word]
    for word in ("busy", "tired", "hungry", "happy", "sick", "sleepy", "thirsty", "full")
)


def degree_of(writer: PhraseWriter, adjective: Adjective) -> str:
    """An adverb; "too" of what can be too much."""
    return writer.pick(GOOD_DEGREES if adjective.worth > 0 else DEGREES)


def quality(
    writer: PhraseWriter, ending: str, *, case: str = "topic", future: bool = True
) -> Fragment:
    """Something is somehow: "The room was very clean." Future only where the ending allows."""
    if writer.chance(0.3):
        adjective, subject = writer.pick(MOODS), writer.person(case)
    else:
        noun = writer.pick(DESCRIBED)
        adjective = writer.pick(PREDICATES_OF[noun.english])
        subject = known(writer, noun, case)
    while subject.fragment.english.startswith(("a ", "an ")):
        subject = writer.person(case)
    writer.used.append("adjective predicate")
    degree = degree_of(writer, adjective)
    later = future and adjective in MOODS[:4] and writer.chance(0.1)
    negation = "not" if not degree and not later and writer.chance(0.12) else ""
    past = not later and not adjective.resultant and writer.chance(0.4)
    inflection = Inflection(subject.person, ending, past, negation, False, subject.honoured)
    predicate = adjective_predicate(adjective, degree, later, inflection)
    return ordered(subject, predicate, (), ())


def known(writer: PhraseWriter, noun: Noun, case: str) -> NounPhrase:
    """The noun, as what the listener knows."""
    determiner = "" if noun.category == "studies" else writer.pick(("the", "the", "this", "that"))
    return phrases.common(noun, determiner, case, writer.humble)
