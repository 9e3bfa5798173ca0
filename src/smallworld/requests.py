"""Constructions that ask, tell or propose something."""

from smallworld import circumstances, phrases
from smallworld.choices import PREDICATES_OF, objects_where
from smallworld.clauses import (
    FUTURE,
    PAST,
    PRESENT,
    PROGRESSIVE,
    UNMEANT_BY_BEASTS,
    Tense,
    asked,
    draw_tense,
    draw_time,
    ordered,
)
from smallworld.fragment import EMPTY, Fragment, fragment, join, unspoken
from smallworld.fragment import links as index_links
from smallworld.korean import attach, with_particle
from smallworld.lexicon import ALL_NOUNS, NOUNS
from smallworld.phrases import YOU, NounPhrase
from smallworld.predicates import (
    QUESTION,
    Inflection,
    Person,
    Register,
    adjective_predicate,
    finish,
    noun_predicate,
    verb_predicate,
)
from smallworld.verbs import MOTION, PERSON, TRANSITIVE, Verb
from smallworld.writer import PLACES_OF, Event, PhraseWriter

ASKED_TENSES = (
    PAST,
    PAST,
    PAST,
    PRESENT,
    FUTURE,
    PROGRESSIVE,
    Tense("can", "can", False, circumstances.SHORTLY),
    Tense("want", "want", False, circumstances.SHORTLY),
    Tense("experience", "experience", False, (circumstances.BEFORE,)),
)


def _asked_subject(writer: PhraseWriter, verb: Verb, tense: Tense) -> NounPhrase:
    """Half the time "you", which Korean leaves out and, formally, honours."""
    if writer.chance(0.5):
        return YOU._replace(honoured=writer.register is Register.FORMAL)
    subject = writer.subject_of(verb, "topic")
    while subject.person is Person.I or (
        subject.again == ("it",) and tense.frame in UNMEANT_BY_BEASTS
    ):
        subject = writer.subject_of(verb, "topic")
    return subject


def _question(
    writer: PhraseWriter, event: Event, tense: Tense, subject: NounPhrase, word: Fragment
) -> Fragment:
    ending = QUESTION[writer.register]
    inflection = Inflection(subject.person, ending, tense.past, "", True, subject.honoured)
    predicate = verb_predicate(event.verb, tense.frame, inflection)
    time = EMPTY if word is WHEN else draw_time(writer, event, tense)
    return asked(subject, predicate, event.english, event.korean, time, word)


def yes_or_no(writer: PhraseWriter) -> Fragment:
    """Did somebody do something?"""
    verb = writer.verb()
    tense = draw_tense(writer, verb, ASKED_TENSES)
    subject = _asked_subject(writer, verb, tense)
    lasts = tense in (PAST, FUTURE)
    event = writer.event(verb, subject, tense is PRESENT, lasts)
    return _question(writer, event, tense, subject, EMPTY)


WHAT_KINDS = ("room", "place", "vehicle", "film", "book", "fruit", "tower", "clothes")


def is_it(writer: PhraseWriter) -> Fragment:
    """Is something somehow, is somebody a doctor?"""
    ending = QUESTION[writer.register]
    if writer.chance(0.4):
        kind = writer.pick(("name", "name", "kin", "folk"))
        if kind == "name":
            subject = writer.name("topic")
        else:
            noun = writer.pick(NOUNS[kind])
            determiner = "that" if kind == "folk" else writer.pick(("his", "her"))
            subject = phrases.common(noun, determiner, "topic", writer.humble)
        work = writer.pick(NOUNS["job"])
        while not set(subject.again) & set(work.again):
            work = writer.pick(NOUNS["job"])
        inflection = Inflection(
            subject.person, ending, writer.chance(0.2), "", True, subject.honoured
        )
        return asked(subject, noun_predicate(work, False, inflection), (), ())
    noun = writer.pick(NOUNS[writer.pick(WHAT_KINDS)])
    adjective = writer.pick(PREDICATES_OF[noun.english])
    determiner = writer.pick(("the", "this", "that"))
    subject = phrases.common(noun, determiner, "topic", writer.humble)
    past = not adjective.resultant and writer.chance(0.3)
    inflection = Inflection(subject.person, ending, past, "", True, False)
    return asked(subject, adjective_predicate(adjective, "", False, inflection), (), ())


WHAT = fragment("what", "무엇을")
WHEN = fragment("when", "언제")
WHY = fragment("why", "왜")
WHERE = fragment("where", "어디에서")
WHITHER = fragment("where", "어디에")
WHO = NounPhrase(fragment("who", "누가"), Person.SHE, False, ("he", "she"))


BASES = [verb.base for verb in TRANSITIVE]
# Of "fold" only the object tells which verb it is in Korean, so nothing asks for it.
THINGS_DONE = tuple(
    verb
    for verb in TRANSITIVE
    if PERSON not in verb.objects and BASES.count(verb.base) == 1 and "definite" not in verb.traits
)


def what(writer: PhraseWriter) -> Fragment:
    """What did somebody buy?"""
    verb = writer.pick(THINGS_DONE)
    tense = draw_tense(writer, verb, ASKED_TENSES)
    subject = _asked_subject(writer, verb, tense)
    place = EMPTY
    if PLACES_OF.get(verb) and subject.again != ("it",) and writer.affords(3):
        place = writer.pick(PLACES_OF[verb])
    event = Event(verb, (place,), (place,))
    ending = QUESTION[writer.register]
    inflection = Inflection(subject.person, ending, tense.past, "", True, subject.honoured)
    predicate = verb_predicate(verb, tense.frame, inflection)
    time = draw_time(writer, event, tense)
    who = subject.fragment
    first, last = (who, EMPTY) if who.korean_words else (EMPTY, who)
    return join(
        (WHAT, predicate.auxiliary, who, predicate.rest, place, time),
        (first, time, place, WHAT, predicate.rest, predicate.auxiliary, last),
    )


def who(writer: PhraseWriter) -> Fragment:
    """Who did something? The subject is asked for, so there is no auxiliary."""
    verb = writer.verb()
    tense = writer.pick((PAST, PAST, FUTURE))
    if verb.stative or "chance" in verb.traits or not writer.allows(verb, tense.frame):
        tense = PRESENT if verb.stative else PAST
    event = writer.event(verb, WHO)
    inflection = Inflection(Person.SHE, QUESTION[writer.register], tense.past)
    predicate = verb_predicate(event.verb, tense.frame, inflection)
    time = draw_time(writer, event, tense)
    return ordered(WHO, predicate, event.english, event.korean, time)


PLACED = tuple(verb for verb in TRANSITIVE if PLACES_OF[verb])


def where(writer: PhraseWriter) -> Fragment:
    """Where did somebody do something?"""
    moves = writer.chance(0.3)
    verb = MOTION[0] if moves else writer.pick(PLACED)
    tense = draw_tense(writer, verb, ASKED_TENSES)
    subject = _asked_subject(writer, verb, tense)
    if moves:
        return _question(writer, Event(verb, (), ()), tense, subject, WHITHER)
    thing = writer.object_of(verb, "object", subject, tense is PRESENT).fragment
    return _question(writer, Event(verb, (thing,), (thing,)), tense, subject, WHERE)


def when_or_why(writer: PhraseWriter) -> Fragment:
    """When, or why, did somebody do something?"""
    verb = writer.verb("ttim")
    word = writer.pick((WHEN, WHY))
    if verb.stative:
        word = WHY
    writer.used.append("when question" if word is WHEN else "why question")
    tense = writer.pick((PAST, PAST, FUTURE))
    if verb.stative or "chance" in verb.traits or not writer.allows(verb, tense.frame):
        tense = PRESENT if verb.stative else PAST
    subject = _asked_subject(writer, verb, tense)
    event = writer.event(verb, subject, lasts=False)
    return _question(writer, event, tense, subject, word)


COUNTABLE = tuple(
    (verb, choices)
    for verb, choices in objects_where(lambda noun: noun.measure is None).items()
    if "many" in verb.traits
)


def how_many(writer: PhraseWriter) -> Fragment:
    """How many apples did somebody buy? 사과를 몇 개 샀어요?"""
    verb, choices = writer.pick(COUNTABLE)
    noun = ALL_NOUNS[writer.combine(choices)]
    korean = f"{with_particle(noun.korean, 'object')} 몇 {noun.counter}"
    thing = fragment(f"how many {noun.plural}", korean, (0, 1), (1, 1), (1, 2), (2, 0))
    event = Event(verb, (), ())
    tense = writer.pick((PAST, PAST, FUTURE))
    subject = _asked_subject(writer, verb, tense)
    return _question(writer, event, tense, subject, thing)


# Register -> the ending of a request, a command, its refusal, a proposal and an offer.
WHAT_TO_DO = {
    Register.POLITE: ("주세요", "-(으)세요", "마세요", "-아요", "-(으)ㄹ까요"),
    Register.FORMAL: ("주십시오", "-아 주십시오", "말아 주십시오", "-(으)시지요", "-(으)ㄹ까요"),
    Register.CASUAL: ("줘", "-아", "마", "-자", "-(으)ㄹ까"),
}


def _say(english: Fragment, event: Event, verb: Fragment) -> Fragment:
    return join((english, verb, *event.english), (*event.korean, verb, english))


def _verb_words(event: Event) -> str:
    return f"{event.verb.english.base} {event.verb.after}".strip()


def _told(writer: PhraseWriter, together: bool = False) -> Event:
    """What one can tell somebody to do, or propose to do together."""
    verb = writer.doable("ttttim")
    while "years" in verb.traits or (together and verb.base == "wear"):
        verb = writer.doable("ttttim")
    doer = NounPhrase(EMPTY, Person.WE, False, ("we",)) if together else YOU
    return writer.event(verb, doer, lasts=False)


def request(writer: PhraseWriter) -> Fragment:
    """Please do something: -아 주세요."""
    event = _told(writer)
    give = WHAT_TO_DO[writer.register][0]
    words = _verb_words(event)
    said = f"{attach(event.verb.stem, '-아')} {give}"
    links = tuple((i, 0) for i in range(len(words.split())))
    return _say(unspoken("please"), event, fragment(words, said, *links))


def command(writer: PhraseWriter) -> Fragment:
    """Do something: -(으)세요; to a superior, -아 주십시오."""
    event = _told(writer)
    ending = WHAT_TO_DO[writer.register][1]
    if event.verb.honoured and writer.register is Register.POLITE:
        said = finish(event.verb.honoured, "-아요")  # 드세요, 주무세요
        return _say(EMPTY, event, fragment(_verb_words(event), said))
    said = attach(event.verb.stem, ending)
    return _say(EMPTY, event, fragment(_verb_words(event), said))


def prohibition(writer: PhraseWriter) -> Fragment:
    """Do not do something: -지 마세요."""
    event = _told(writer)
    words = _verb_words(event)
    links = tuple((i, 0) for i in range(len(words.split())))
    stop = WHAT_TO_DO[writer.register][2]
    said = f"{attach(event.verb.stem, '-지')} {stop}"
    last = range(-1, -1 - len(stop.split()), -1)  # 마세요, or 말아 주십시오
    denied = Fragment("do not", 2, "", 0, index_links(*((i, j) for i in (0, 1) for j in last)))
    return _say(denied, event, fragment(words, said, *links))


def proposal(writer: PhraseWriter) -> Fragment:
    """Let's do something: 우리 ...-아요; to a superior -(으)시지요, to friends -자."""
    event = _told(writer, together=True)
    said = attach(event.verb.stem, WHAT_TO_DO[writer.register][3])
    verb = fragment(_verb_words(event), said)
    if writer.register is Register.POLITE:
        us = fragment("let's", "우리")
        return join((us, verb, *event.english), (us, *event.korean, verb))
    return _say(unspoken("let's"), event, verb)


def offer(writer: PhraseWriter) -> Fragment:
    """Shall we do something? -(으)ㄹ까요?"""
    event = _told(writer, together=True)
    said = attach(event.verb.stem, WHAT_TO_DO[writer.register][4])
    return _say(unspoken("shall we"), event, fragment(_verb_words(event), said))
