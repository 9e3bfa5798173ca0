"""Constructions that ask, tell or propose something."""

from jumok.smallworld import phrases
from jumok.smallworld.clauses import (
    FUTURE,
    PAST,
    PRESENT,
    Tense,
    asked,
    draw_time,
    ordered,
)
from jumok.smallworld.fragment import EMPTY, Fragment, fragment, join, unspoken
from jumok.smallworld.korean import attach, with_particle
from jumok.smallworld.lexicon import NOUNS, TRANSITIVE
from jumok.smallworld.phrases import YOU, NounPhrase
from jumok.smallworld.predicates import (
    QUESTION,
    Manner,
    Person,
    Register,
    adjective_predicate,
    noun_predicate,
    verb_predicate,
)
from jumok.smallworld.writer import ADJECTIVES_OF, ALL_NOUNS, Event, PhraseWriter, objects_where

ASKED_TENSES = (
    PAST,
    PAST,
    PAST,
    PRESENT,
    FUTURE,
    Tense("progressive", "progressive", False, phrases.NOW),
    Tense("can", "can", False, phrases.FUTURE_TIMES),
    Tense("want", "want", False, phrases.FUTURE_TIMES),
    Tense("experience", "experience", False, (phrases.BEFORE,)),
)


def _asked_subject(writer: PhraseWriter, event: Event) -> NounPhrase:
    """Half the time "you", which Korean leaves out and, formally, honours."""
    if writer.chance(0.5):
        return YOU._replace(honoured=writer.register is Register.FORMAL)
    subject = writer.subject_of(event.verb, "topic")
    while subject.person is Person.I:
        subject = writer.subject_of(event.verb, "topic")
    return subject


def _asked_tense(writer: PhraseWriter, event: Event) -> Tense:
    if event.verb.stative:
        return writer.pick((PAST, PRESENT))
    tense = writer.pick(ASKED_TENSES)
    while not writer.allows(event.verb, tense.frame):
        tense = writer.pick(ASKED_TENSES)
    return tense


def _question(
    writer: PhraseWriter, event: Event, tense: Tense, subject: NounPhrase, word: Fragment
) -> Fragment:
    ending = QUESTION[writer.register]
    manner = Manner(subject.person, ending, tense.past, "", True, subject.honoured)
    predicate = verb_predicate(event.verb, tense.frame, manner)
    time = EMPTY if word is WHEN else draw_time(writer, event, tense)
    return asked(subject, predicate, event.english, event.korean, time, word)


def yes_or_no(writer: PhraseWriter) -> Fragment:
    """Did somebody do something?"""
    event = writer.event()
    tense, subject = _asked_tense(writer, event), _asked_subject(writer, event)
    return _question(writer, event, tense, subject, EMPTY)


def is_it(writer: PhraseWriter) -> Fragment:
    """Is something somehow, is somebody a doctor?"""
    ending = QUESTION[writer.register]
    if writer.chance(0.4):
        subject = writer.someone("topic")
        while subject.person is Person.THEY:
            subject = writer.someone("topic")
        manner = Manner(subject.person, ending, writer.chance(0.3), "", True, subject.honoured)
        return asked(subject, noun_predicate(writer.pick(NOUNS["job"]), False, manner), (), ())
    noun = writer.pick(NOUNS[writer.pick(("room", "place", "vehicle", "film", "book", "fruit"))])
    adjective = writer.pick(ADJECTIVES_OF[noun.category])
    determiner = writer.pick(("the", "this", "that"))
    subject = phrases.common(noun, determiner, "topic", writer.humble)
    manner = Manner(subject.person, ending, writer.chance(0.3), "", True, False)
    return asked(subject, adjective_predicate(adjective, "", False, manner), (), ())


WHAT = fragment("what", "무엇을")
WHEN = fragment("when", "언제")
WHY = fragment("why", "왜")
WHERE = fragment("where", "어디에서")
WHITHER = fragment("where", "어디에")
WHO = NounPhrase(fragment("who", "누가"), Person.SHE, False)


def what(writer: PhraseWriter) -> Fragment:
    """What did somebody buy?"""
    verb = writer.pick(TRANSITIVE)
    while "name" in verb.objects:
        verb = writer.pick(TRANSITIVE)
    place = writer.pick(phrases.ACTING_AT) if writer.affords(3) and not verb.stative else EMPTY
    event = Event(verb, (place,), (place,))
    tense, subject = _asked_tense(writer, event), _asked_subject(writer, event)
    ending = QUESTION[writer.register]
    manner = Manner(subject.person, ending, tense.past, "", True, subject.honoured)
    predicate = verb_predicate(verb, tense.frame, manner)
    time = draw_time(writer, event, tense)
    who = subject.fragment
    first, last = (who, EMPTY) if who.korean_words else (EMPTY, who)
    return join(
        (WHAT, predicate.auxiliary, who, predicate.rest, place, time),
        (first, time, place, WHAT, predicate.rest, predicate.auxiliary, last),
    )


def who(writer: PhraseWriter) -> Fragment:
    """Who did something? The subject is asked for, so there is no auxiliary."""
    event = writer.event()
    tense = writer.pick((PAST, PAST, FUTURE)) if not event.verb.stative else PAST
    if not writer.allows(event.verb, tense.frame):
        tense = PAST
    manner = Manner(Person.SHE, QUESTION[writer.register], tense.past)
    predicate = verb_predicate(event.verb, tense.frame, manner)
    time = draw_time(writer, event, tense)
    return ordered(WHO, predicate, event.english, event.korean, time)


def where(writer: PhraseWriter) -> Fragment:
    """Where did somebody do something?"""
    if writer.chance(0.3):
        moving = writer.event("m")
        event = Event(moving.verb, moving.english[1:], moving.korean[:1])
        word = WHITHER
    else:
        verb = writer.pick(TRANSITIVE)
        while verb.stative:
            verb = writer.pick(TRANSITIVE)
        thing = writer.object_of(verb).fragment
        event, word = Event(verb, (thing,), (thing,)), WHERE
    tense, subject = _asked_tense(writer, event), _asked_subject(writer, event)
    return _question(writer, event, tense, subject, word)


def when_or_why(writer: PhraseWriter) -> Fragment:
    """When, or why, did somebody do something?"""
    event = writer.event("ttim")
    subject = _asked_subject(writer, event)
    word = writer.pick((WHEN, WHY))
    writer.used.append("when question" if word is WHEN else "why question")
    tenses = (PAST, PAST, FUTURE) if not event.verb.stative else (PAST,)
    tense = writer.pick(tenses)
    if not writer.allows(event.verb, tense.frame):
        tense = PAST
    return _question(writer, event, tense, subject, word)


COUNTABLE = tuple(objects_where(lambda noun: noun.measure is None).items())


def how_many(writer: PhraseWriter) -> Fragment:
    """How many apples did somebody buy? 사과를 몇 개 샀어요?"""
    verb, choices = writer.pick(COUNTABLE)
    noun = ALL_NOUNS[writer.combine(choices)]
    korean = f"{with_particle(noun.korean, 'object')} 몇 {noun.counter}"
    thing = fragment(f"how many {noun.plural}", korean, (0, 1), (1, 1), (1, 2), (2, 0))
    event = Event(verb, (), ())
    tense = PAST if not verb.stative else PRESENT
    subject = _asked_subject(writer, event)
    return _question(writer, event, tense, subject, thing)


# Register -> the ending of a request, a command, its refusal, a proposal and an offer.
WHAT_TO_DO = {
    Register.POLITE: ("주세요", "-(으)세요", "마세요", "-(으)ㅂ시다", "-(으)ㄹ까요"),
    Register.FORMAL: ("주십시오", "-(으)십시오", "마십시오", "-(으)ㅂ시다", "-(으)ㄹ까요"),
    Register.CASUAL: ("줘", "-아", "마", "-자", "-(으)ㄹ까"),
}


def _say(english: Fragment, event: Event, verb: Fragment) -> Fragment:
    return join((english, verb, *event.english), (*event.korean, verb, english))


def _verb_words(event: Event) -> str:
    return f"{event.verb.english.base} {event.verb.after}".strip()


def request(writer: PhraseWriter) -> Fragment:
    """Please do something: -아 주세요."""
    event = writer.activity("ttttim")
    give = WHAT_TO_DO[writer.register][0]
    words = _verb_words(event)
    said = f"{attach(event.verb.stem, '-아')} {give}"
    links = tuple((i, 0) for i in range(len(words.split())))
    return _say(unspoken("please"), event, fragment(words, said, *links))


def command(writer: PhraseWriter) -> Fragment:
    """Do something: -(으)세요."""
    event = writer.activity("ttttim")
    said = attach(event.verb.stem, WHAT_TO_DO[writer.register][1])
    return _say(EMPTY, event, fragment(_verb_words(event), said))


def prohibition(writer: PhraseWriter) -> Fragment:
    """Do not do something: -지 마세요."""
    event = writer.activity("ttttim")
    words = _verb_words(event)
    links = tuple((i, 0) for i in range(len(words.split())))
    stop = WHAT_TO_DO[writer.register][2]
    said = f"{attach(event.verb.stem, '-지')} {stop}"
    return _say(unspoken("do not"), event, fragment(words, said, *links))


def proposal(writer: PhraseWriter) -> Fragment:
    """Let's do something: -(으)ㅂ시다."""
    event = writer.activity("ttttim")
    said = attach(event.verb.stem, WHAT_TO_DO[writer.register][3])
    return _say(unspoken("let's"), event, fragment(_verb_words(event), said))


def offer(writer: PhraseWriter) -> Fragment:
    """Shall we do something? -(으)ㄹ까요?"""
    event = writer.activity("ttttim")
    said = attach(event.verb.stem, WHAT_TO_DO[writer.register][4])
    return _say(unspoken("shall we"), event, fragment(_verb_words(event), said))
