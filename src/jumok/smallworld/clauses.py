"""Clauses: who does what and when, with the ending that the clause needs where it stands."""

from typing import NamedTuple

from jumok.smallworld import phrases
from jumok.smallworld.fragment import EMPTY, Fragment, join
from jumok.smallworld.lexicon import ADJECTIVES, NOUNS
from jumok.smallworld.phrases import NounPhrase
from jumok.smallworld.predicates import (
    Manner,
    Predicate,
    adjective_predicate,
    verb_predicate,
)
from jumok.smallworld.writer import ADJECTIVES_OF, Event, PhraseWriter

Phrases = tuple[Fragment, ...]


class Tense(NamedTuple):
    """A frame of `predicates.FRAMES`, its tense, the times that go with it, and its name."""

    construction: str
    frame: str
    past: bool
    times: tuple[Fragment, ...]


ANY_TIME = phrases.DAYS + phrases.CLOCK[::3]
PAST_TIMES = phrases.PAST_TIMES * 3 + ANY_TIME
FUTURE_TIMES = phrases.FUTURE_TIMES * 3 + ANY_TIME
HABIT_TIMES = phrases.HABIT_TIMES * 3 + phrases.DAYS + phrases.CLOCK[::3]

PAST = Tense("past", "simple", True, PAST_TIMES)
PRESENT = Tense("present", "simple", False, HABIT_TIMES)
FUTURE = Tense("future", "will", False, FUTURE_TIMES)
TENSES = (
    *(PAST,) * 7,
    *(PRESENT,) * 4,
    *(FUTURE,) * 3,
    *(Tense("progressive", "progressive", False, phrases.NOW),) * 2,
    Tense("past progressive", "progressive", True, phrases.CLOCK),
    Tense("intention", "going to", False, FUTURE_TIMES),
    Tense("want", "want", False, FUTURE_TIMES),
    Tense("want", "want", True, PAST_TIMES),
    Tense("try", "try", True, PAST_TIMES),
    Tense("begin", "begin", True, PAST_TIMES),
    *(Tense("can", "can", False, FUTURE_TIMES),) * 2,
    Tense("could", "can", True, PAST_TIMES),
    Tense("cannot", "cannot", False, FUTURE_TIMES),
    *(Tense("must", "must", False, FUTURE_TIMES),) * 2,
    Tense("must not", "must not", False, FUTURE_TIMES),
    Tense("may", "may", False, FUTURE_TIMES),
    Tense("experience", "experience", False, (phrases.BEFORE,)),
)
STATIVE_TENSES = (PAST, PAST, PRESENT)


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


def draw_tense(writer: PhraseWriter, event: Event) -> Tense:
    """A tense that the verb may stand in."""
    tenses = STATIVE_TENSES if event.verb.stative else TENSES
    tense = writer.pick(tenses)
    while not writer.allows(event.verb, tense.frame):
        tense = writer.pick(tenses)
    return tense


def draw_negation(writer: PhraseWriter, event: Event, tense: Tense) -> str:
    """ "", "not" or "n't", whichever the frame and the verb allow."""
    if tense.frame not in ("simple", "will", "progressive", "want", "can") or not writer.chance(
        0.2
    ):
        return ""
    if tense.frame == "can" and tense.past:
        return ""
    short = tense.frame in ("simple", "will", "can") and not event.verb.splits
    if short and (tense.frame == "can" or writer.chance(0.5)):
        writer.used.append("short negation")
        return "n't"
    if tense.frame == "can":
        return ""
    writer.used.append("negation")
    return "not"


def draw_time(writer: PhraseWriter, event: Event, tense: Tense) -> Fragment:
    """A time that suits the tense, or EMPTY."""
    if tense.construction == "experience":
        return phrases.BEFORE
    if event.lasting or event.verb.stative or not tense.times or not writer.affords(2):
        return EMPTY
    writer.used.append("time")
    if tense is PAST and writer.chance(0.15):
        return writer.duration(ago=True)
    return writer.pick(tense.times)


def action(
    writer: PhraseWriter, ending: str, *, case: str = "topic", tense: Tense | None = None
) -> Fragment:
    """Somebody does something: a clause with a verb.

    case: of the subject; "subject" inside another clause.
    tense: None to draw one.
    """
    event = writer.event()
    drawn = draw_tense(writer, event) if tense is None else tense
    subject = writer.subject_of(event.verb, case)
    if tense is None and drawn.frame == "simple":
        drawn = PAST if writer.settled(event.verb, subject.person, drawn.past) else PRESENT
    writer.used.append(drawn.construction)
    negation = draw_negation(writer, event, drawn) if tense is None else ""
    manner = Manner(subject.person, ending, drawn.past, negation, False, subject.honoured)
    predicate = verb_predicate(event.verb, drawn.frame, manner)
    time = draw_time(writer, event, drawn)
    plain = drawn.frame == "simple" and not event.verb.stative and time is EMPTY
    if plain and writer.room > 0 and writer.chance(0.12):
        writer.used.append("frequency")
        return ordered(
            subject,
            predicate,
            event.english,
            event.korean,
            time,
            writer.pick(phrases.FREQUENCIES),
        )
    if time is not EMPTY and drawn.frame != "experience" and writer.chance(0.2):
        writer.used.append("time first")
        rest = ordered(subject, predicate, event.english, event.korean)
        return join((time, rest), (time, rest))
    return ordered(subject, predicate, event.english, event.korean, time)


DEGREES = ("", "", "very 아주", "really 정말", "too 너무")
MOODS = tuple(
    adjective
    for adjective in ADJECTIVES
    if adjective.english.positive in ("busy", "tired", "hungry", "happy", "sick", "healthy")
)
DESCRIBED = tuple(
    noun
    for category, nouns in NOUNS.items()
    if ADJECTIVES_OF[category]
    for noun in nouns
    if noun.measure != "bit"
)


def quality(
    writer: PhraseWriter, ending: str, *, case: str = "topic", future: bool = True
) -> Fragment:
    """Something is somehow: "The room was very clean." Future only where the ending allows."""
    if writer.chance(0.3):
        adjective, subject = writer.pick(MOODS), writer.person(case)
    else:
        noun = writer.pick(DESCRIBED)
        adjective = writer.pick(ADJECTIVES_OF[noun.category])
        determiner = ""
        if noun.category != "studies":
            determiner = writer.pick(("the", "the", "this", "that"))
        subject = phrases.common(noun, determiner, case, writer.humble)
    writer.used.append("adjective predicate")
    degree = writer.pick(DEGREES)
    later = future and writer.chance(0.1)
    negation = "not" if not degree and not later and writer.chance(0.12) else ""
    past = not later and writer.chance(0.4)
    manner = Manner(subject.person, ending, past, negation, False, subject.honoured)
    predicate = adjective_predicate(adjective, degree, later, manner)
    return ordered(subject, predicate, (), ())
