"""Constructions with a verb phrase inside a noun phrase: relative clauses, liking to do."""

from jumok.smallworld.clauses import PAST, ordered
from jumok.smallworld.complexes import infinite
from jumok.smallworld.fragment import EMPTY, Fragment, fragment, join, unspoken
from jumok.smallworld.korean import attach, with_particle
from jumok.smallworld.lexicon import KNOW, LIKE, NOUNS, TRANSITIVE, Noun, Verb
from jumok.smallworld.phrases import NounPhrase
from jumok.smallworld.predicates import (
    STATEMENT,
    Manner,
    Person,
    verb_predicate,
)
from jumok.smallworld.writer import ALL_NOUNS, OBJECTS_OF, PhraseWriter, objects_where

# Lemma -> the verbs that any split may combine it with.
DONE_TO: dict[str, tuple[Verb, ...]] = {
    lemma: tuple(
        verb for verb in TRANSITIVE if not verb.stative and lemma in OBJECTS_OF[verb].familiar
    )
    for lemma in ALL_NOUNS
}
THAT = unspoken("that")
WHO = unspoken("who")


def _head(noun: Noun, case: str) -> Fragment:
    return fragment(f"the {noun.english}", with_particle(noun.korean, case))


def _done_by_somebody(writer: PhraseWriter, noun: Noun, case: str) -> NounPhrase:
    """ "the book that Minsu bought": 민수가 산 책."""
    doer = writer.person("subject")
    verb = writer.pick(DONE_TO[noun.english])
    past = writer.settled(verb, doer.person, writer.chance(0.7))
    ending = "-(으)ㄴ" if past else "-는"
    manner = Manner(doer.person, ending, past, "", False, doer.honoured)
    predicate = verb_predicate(verb, "simple", manner).whole
    head = _head(noun, case)
    return NounPhrase(
        join((head, THAT, doer.fragment, predicate), (doer.fragment, predicate, THAT, head)),
        Person.SHE,
        False,
    )


WHICH = tuple(
    objects_where(lambda noun: bool(DONE_TO[noun.english]) and noun.category != "studies").items()
)


def object_relative(writer: PhraseWriter) -> Fragment:
    """The object is what somebody did something to: 저는 민수가 산 책을 읽었어요."""
    verb, choices = writer.pick(WHICH)
    lemma = writer.combine(choices)
    thing = _done_by_somebody(writer, ALL_NOUNS[lemma], "object").fragment
    subject = writer.person("topic")
    past = writer.settled(verb, subject.person, writer.chance(0.7))
    manner = Manner(subject.person, STATEMENT[writer.register], past, "", False, subject.honoured)
    predicate = verb_predicate(verb, "simple", manner)
    time = writer.pick(PAST.times) if past and writer.affords(2) else EMPTY
    return ordered(subject, predicate, (thing,), (thing,), time)


def subject_relative(writer: PhraseWriter) -> Fragment:
    """The subject is somebody who does something: 책을 읽는 학생은 ..."""
    event = writer.activity()
    past = writer.chance(0.5)
    manner = Manner(Person.SHE, "-(으)ㄴ" if past else "-는", past)
    frame = "simple" if past or writer.chance(0.5) else "progressive"
    doing = verb_predicate(event.verb, frame, manner).whole
    head = _head(writer.pick(NOUNS["job"]), "topic")
    who = join(
        (head, WHO, doing, *event.english),
        (*event.korean, doing, WHO, head),
    )
    then = writer.event("tim")
    later = writer.chance(0.7)
    manner = Manner(Person.SHE, STATEMENT[writer.register], later)
    predicate = verb_predicate(then.verb, "simple", manner)
    subject = NounPhrase(who, Person.SHE, False)
    return ordered(subject, predicate, then.english, then.korean)


def liking(writer: PhraseWriter) -> Fragment:
    """Somebody likes doing something: 책을 읽는 것을 좋아해요."""
    event = writer.activity()
    subject = writer.person("topic")
    past = writer.chance(0.3)
    manner = Manner(subject.person, STATEMENT[writer.register], past, "", False, subject.honoured)
    predicate = verb_predicate(LIKE, "simple", manner)
    korean = f"{attach(event.verb.stem, '-는')} 것을"
    doing = infinite(event, event.verb.english.gerund, korean)
    return ordered(subject, predicate, (doing,), (doing,))


def skill(writer: PhraseWriter) -> Fragment:
    """Somebody knows how to do something: 피아노를 연주할 줄 알아요."""
    event = writer.activity()
    subject = writer.person("topic")
    manner = Manner(subject.person, STATEMENT[writer.register], False, "", False, subject.honoured)
    predicate = verb_predicate(KNOW, "simple", manner)
    how = fragment("how", "줄")
    to_do = infinite(event, f"to {event.verb.english.base}", attach(event.verb.stem, "-(으)ㄹ"))
    return ordered(subject, predicate, (how, to_do), (to_do, how))
