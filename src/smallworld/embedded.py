"""Constructions with a verb phrase inside a noun phrase: relative clauses, liking to do."""

from smallworld.choices import OBJECTS_OF, objects_where
from smallworld.clauses import degree_of, ordered
from smallworld.complexes import infinite
from smallworld.fragment import EMPTY, Fragment, fragment, join, unspoken
from smallworld.korean import attach, with_particle
from smallworld.lexicon import ADJECTIVE, ALL_NOUNS, NOUNS, Noun
from smallworld.phrases import NounPhrase
from smallworld.predicates import (
    STATEMENT,
    Inflection,
    Person,
    adjective_predicate,
    noun_predicate,
    verb_predicate,
)
from smallworld.verbs import INTRANSITIVE, KNOW, LIKE, TRANSITIVE, VERB, Verb
from smallworld.writer import PhraseWriter

# What gives a thing the mark by which one knows it: the book that Minsu bought.
MARKING = tuple(
    VERB[base]
    for base in ("buy", "make", "write", "draw", "bake", "find", "hide", "choose", "borrow", "pick")
)
# Lemma -> the verbs that any split may combine it with.
DONE_TO: dict[str, tuple[Verb, ...]] = {
    lemma: tuple(verb for verb in MARKING if lemma in OBJECTS_OF[verb].familiar)
    for lemma in ALL_NOUNS
}
THAT = unspoken("that")
WHO = unspoken("who")


def _head(noun: Noun, case: str) -> Fragment:
    return fragment(f"the {noun.english}", with_particle(noun.korean, case))


def _done_by_somebody(writer: PhraseWriter, noun: Noun, case: str) -> NounPhrase:
    """ "the book that Minsu bought": 민수가 산 책."""
    doer = writer.person("subject")
    while doer.person is Person.THEY or doer.again == (doer.fragment.english,):
        doer = writer.person("subject")
    verb = writer.pick(DONE_TO[noun.english])
    inflection = Inflection(doer.person, "-(으)ㄴ", True, honoured=doer.honoured)
    predicate = verb_predicate(verb, "simple", inflection).whole
    head = _head(noun, case)
    return NounPhrase(
        join((head, THAT, doer.fragment, predicate), (doer.fragment, predicate, THAT, head)),
        Person.SHE,
        False,
        noun.again,
    )


WHICH = tuple(
    (verb, choices)
    for verb, choices in objects_where(
        lambda noun: bool(DONE_TO[noun.english]) and noun.category not in ("animal", "place")
    ).items()
    if not verb.stative
    and verb not in MARKING
    and verb.base != "build"
    and "generic" not in verb.traits
)


def object_relative(writer: PhraseWriter) -> Fragment:
    """The object is what somebody did something to: 저는 민수가 산 책을 읽었어요."""
    verb, choices = writer.pick(WHICH)
    lemma = writer.combine(choices)
    thing = _done_by_somebody(writer, ALL_NOUNS[lemma], "object").fragment
    subject = writer.person("topic")
    inflection = Inflection(
        subject.person, STATEMENT[writer.register], True, honoured=subject.honoured
    )
    predicate = verb_predicate(verb, "simple", inflection)
    return ordered(subject, predicate, (thing,), (thing,))


SEEN_DOING = tuple(
    verb
    for verb in (*TRANSITIVE, *INTRANSITIVE)
    if not verb.stative and not verb.traits & {"brief", "chance", "years", "definite"}
)
TRAITS = tuple(ADJECTIVE[word] for word in ("kind", "smart", "happy", "famous", "healthy"))
PEOPLE_SEEN = tuple(noun for noun in NOUNS["folk"] if noun.english != "customer")


def subject_relative(writer: PhraseWriter) -> Fragment:
    """The subject is somebody who is doing something: 책을 읽고 있는 여자는 의사예요."""
    verb = writer.pick(SEEN_DOING)
    while not writer.allows(verb, "progressive"):
        verb = writer.pick(SEEN_DOING)
    grown = tuple(noun for noun in PEOPLE_SEEN if noun.english in ("woman", "man"))
    working = writer.chance(0.5)
    noun = writer.pick(grown if working or "adult" in verb.traits else PEOPLE_SEEN)
    who = NounPhrase(EMPTY, Person.SHE, False, noun.again)
    event = writer.event(verb, who, lasts=False)
    doing = verb_predicate(verb, "progressive", Inflection(Person.SHE, "-는")).whole
    head = _head(noun, "topic")
    whole = join((head, WHO, doing, *event.english), (*event.korean, doing, WHO, head))
    subject = NounPhrase(whole, Person.SHE, False, noun.again)
    inflection = Inflection(Person.SHE, STATEMENT[writer.register])
    if working:
        work = writer.pick(NOUNS["job"])
        while not set(work.again) & set(noun.again):
            work = writer.pick(NOUNS["job"])
        return ordered(subject, noun_predicate(work, False, inflection), (), ())
    adjective = writer.pick(TRAITS)
    degree = degree_of(writer, adjective)
    return ordered(subject, adjective_predicate(adjective, degree, False, inflection), (), ())


PASTIMES = tuple(
    verb
    for verb in (*TRANSITIVE, *INTRANSITIVE)
    if "tried" in verb.traits and not verb.stative and not verb.traits & {"chance"}
)
SKILLS = tuple(verb for verb in (*TRANSITIVE, *INTRANSITIVE) if "skill" in verb.traits)


def liking(writer: PhraseWriter) -> Fragment:
    """Somebody likes doing something: 책을 읽는 것을 좋아해요."""
    verb = writer.pick(PASTIMES)
    subject = writer.person("topic", "adult" in verb.traits)
    room, writer.room = writer.room, 0
    event = writer.event(verb, subject, habit=True, lasts=False)
    writer.room = room
    past = writer.chance(0.3)
    inflection = Inflection(
        subject.person, STATEMENT[writer.register], past, honoured=subject.honoured
    )
    predicate = verb_predicate(LIKE, "simple", inflection)
    korean = f"{attach(event.verb.stem, '-는')} 것을"
    doing = infinite(event, event.verb.english.gerund, korean)
    return ordered(subject, predicate, (doing,), (doing,))


def skill(writer: PhraseWriter) -> Fragment:
    """Somebody knows how to do something: 피아노를 연주할 줄 알아요."""
    verb = writer.pick(SKILLS)
    subject = writer.person("topic", "adult" in verb.traits)
    room, writer.room = writer.room, 0
    event = writer.event(verb, subject, habit=True, lasts=False)
    writer.room = room
    inflection = Inflection(
        subject.person, STATEMENT[writer.register], False, honoured=subject.honoured
    )
    predicate = verb_predicate(KNOW, "simple", inflection)
    how = fragment("how", "줄")
    to_do = infinite(event, f"to {event.verb.english.base}", attach(event.verb.stem, "-(으)ㄹ"))
    return ordered(subject, predicate, (how, to_do), (to_do, how))
