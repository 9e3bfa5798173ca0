"""Constructions of one clause that state something."""

from jumok.smallworld import phrases
from jumok.smallworld.clauses import ANY_TIME, PAST_TIMES, action, ordered, quality
from jumok.smallworld.fragment import EMPTY, Fragment, fragment, join, unspoken
from jumok.smallworld.korean import with_particle
from jumok.smallworld.lexicon import (
    ADJECTIVES,
    BECOME,
    INTRANSITIVE,
    MOTION,
    NAMES,
    NOUNS,
    TRANSITIVE,
)
from jumok.smallworld.phrases import NounPhrase, together
from jumok.smallworld.predicates import (
    HAVING,
    LACKING,
    STATEMENT,
    STAYING,
    Manner,
    Person,
    Predicate,
    adjective_predicate,
    be,
    finish,
    noun_predicate,
    verb_predicate,
)
from jumok.smallworld.writer import ADJECTIVES_OF, PhraseWriter, spread


def simple(writer: PhraseWriter) -> Fragment:
    """Somebody does something."""
    return action(writer, STATEMENT[writer.register])


def description(writer: PhraseWriter) -> Fragment:
    """Something is somehow."""
    return quality(writer, STATEMENT[writer.register])


def identity(writer: PhraseWriter) -> Fragment:
    """Somebody is (not) a doctor."""
    subject = writer.person("topic")
    while subject.person in (Person.WE, Person.THEY):
        subject = writer.person("topic")
    noun = writer.pick(NOUNS["job"])
    past, negation = writer.chance(0.35), "not" if writer.chance(0.25) else ""
    ending = STATEMENT[writer.register]
    manner = Manner(subject.person, ending, past, negation, False, subject.honoured)
    return ordered(subject, noun_predicate(noun, False, manner), (), ())


def _there(person: Person, past: bool, ending: str, honoured: bool = False) -> Predicate:
    """be or there be as 있다: the English form of be alone."""
    stem = STAYING if honoured else HAVING
    said = finish(stem.past() if past else stem, ending)
    whole = fragment(be(person, past), said)
    return Predicate(EMPTY, whole, whole)


FOUND = ("thing", "tool", "book", "container", "animal", "fruit", "sheet", "flower")
HOW_FOUND = spread(counted=8, a=6, described=3, many=2, no=2)


def existence(writer: PhraseWriter) -> Fragment:
    """There is something somewhere: the place comes first in Korean, and 이/가 marks what is."""
    noun = writer.pick(NOUNS[writer.pick(FOUND)])
    kind = writer.pick(HOW_FOUND)
    if kind == "counted":
        what = writer.counted(noun, "subject")
    elif kind == "described" and ADJECTIVES_OF[noun.category]:
        what = writer.described(noun, "subject", ("a",))
    else:
        determiner = {"many": "many", "no": ""}.get(kind, "a")
        what = phrases.common(noun, determiner, "subject", writer.humble, kind == "many")
    where = writer.pick(phrases.PLACED if writer.chance(0.7) else phrases.BEING_AT)
    past = writer.chance(0.3)
    stem = LACKING if kind == "no" else HAVING
    said = finish(stem.past() if past else stem, STATEMENT[writer.register])
    english = f"there {be(what.person, past)}"
    there = fragment(english + " no" if kind == "no" else english, said)
    return join((there, what.fragment, where), (where, what.fragment, there))


def location(writer: PhraseWriter) -> Fragment:
    """Something or somebody is somewhere: it is known, so 은/는 marks it and it comes first."""
    if writer.chance(0.5):
        subject, where = writer.person("topic"), writer.pick(phrases.BEING_AT)
    else:
        kind = writer.pick(("thing", "tool", "book", "container", "animal", "sheet"))
        noun = writer.pick(NOUNS[kind])
        determiner = writer.pick(("the", "this", "my", "our"))
        subject = phrases.common(noun, determiner, "topic", writer.humble)
        where = writer.pick(phrases.PLACED)
    past = writer.chance(0.4)
    predicate = _there(subject.person, past, STATEMENT[writer.register], subject.honoured)
    time = writer.pick(PAST_TIMES) if past and writer.affords(2) else EMPTY
    return ordered(subject, predicate, (where,), (where,), time)


def possession(writer: PhraseWriter) -> Fragment:
    """Somebody has something: 저는 공책이 세 권 있어요, the counter after the particle."""
    subject = writer.person("topic")
    noun = writer.pick(NOUNS[writer.pick(("thing", "tool", "book", "vehicle", "clothes", "kin"))])
    past = writer.chance(0.3)
    stem = HAVING.honorific() if subject.honoured else HAVING
    said = finish(stem.past() if past else stem, STATEMENT[writer.register])
    english = "had" if past else "has" if subject.person is Person.SHE else "have"
    have = fragment(english, said)
    predicate = Predicate(EMPTY, have, have)
    if writer.chance(0.5):
        writer.used.append("numeral and counter")
        number = writer.small_number()
        counted = phrases.counted(noun, number, "bare").fragment
        one, *count = counted.korean.split()
        what = counted._replace(korean=" ".join((with_particle(one, "subject"), *count)))
    else:
        what = phrases.common(noun, "a", "subject", writer.humble).fragment
    return ordered(subject, predicate, (what,), (what,))


THAN = unspoken("than")
# Adjectives with nouns of one category, so that what is compared can be compared.
COMPARABLE = tuple(
    (adjective, NOUNS[category])
    for adjective in ADJECTIVES
    for category in adjective.categories
    if len(NOUNS.get(category, ())) > 1
)


def comparison(writer: PhraseWriter) -> Fragment:
    """Something is more so than something else: 개는 고양이보다 더 커요."""
    adjective, nouns = writer.pick(COMPARABLE)
    one, other = writer.pick(nouns), writer.pick(nouns)
    while other is one:
        other = writer.pick(nouns)
    first = writer.pick(("the", "this", "my") if not one.measure else ("the", "this"))
    subject = phrases.common(one, first, "topic", writer.humble)
    second = writer.pick(("the", "that", "his") if not other.measure else ("the", "that"))
    standard = phrases.common(other, second, "than", writer.humble).fragment
    manner = Manner(subject.person, STATEMENT[writer.register], writer.chance(0.3))
    predicate = adjective_predicate(adjective, "comparative", False, manner)
    return ordered(subject, predicate, (THAN, standard), (standard, THAN))


def superlative(writer: PhraseWriter) -> Fragment:
    """Something is the most so in a place: 민수는 학교에서 가장 똑똑해요."""
    writer_adjectives = ADJECTIVES_OF["job"] if writer.chance(0.5) else ADJECTIVES_OF["building"]
    adjective = writer.pick(writer_adjectives)
    if adjective in ADJECTIVES_OF["job"]:
        subject = phrases.name(writer.new_name(), "topic")
    else:
        determiner = writer.pick(("this", "that", "our", "his"))
        subject = phrases.common(writer.pick(NOUNS["building"]), determiner, "topic", writer.humble)
    manner = Manner(subject.person, STATEMENT[writer.register], writer.chance(0.3))
    predicate = adjective_predicate(adjective, "superlative", False, manner)
    place = writer.pick(phrases.REGIONS)
    return ordered(subject, predicate, (place,), (place,))


def company(writer: PhraseWriter) -> Fragment:
    """Two subjects joined by and: 민수와 유나는 ..."""
    first = phrases.name(writer.new_name(), "and")
    both = together(first, phrases.name(writer.new_name(), "topic").fragment, "and")
    return _done_by(writer, both)


def alternatives(writer: PhraseWriter) -> Fragment:
    """Two objects joined by and or or: 사과와 빵을, 커피나 차를."""
    verb = writer.pick(TRANSITIVE)
    word, case = ("and", "and") if writer.chance(0.5) else ("or", "or")
    first, second = writer.object_of(verb, case), writer.object_of(verb)
    while first.fragment.english == second.fragment.english:
        second = writer.object_of(verb)
    both = together(first, second.fragment, word).fragment
    subject = writer.person("topic")
    past = writer.settled(verb, subject.person, writer.chance(0.6))
    writer.used.append("noun and" if word == "and" else "noun or")
    manner = Manner(subject.person, STATEMENT[writer.register], past, "", False, subject.honoured)
    predicate = verb_predicate(verb, "simple", manner)
    return ordered(subject, predicate, (both,), (both,))


def _done_by(writer: PhraseWriter, subject: NounPhrase) -> Fragment:
    event = writer.event("tttim")
    past = writer.settled(event.verb, subject.person, writer.chance(0.6))
    manner = Manner(subject.person, STATEMENT[writer.register], past)
    predicate = verb_predicate(event.verb, "simple", manner)
    time = writer.pick(PAST_TIMES) if past and writer.affords(2) else EMPTY
    return ordered(subject, predicate, event.english, event.korean, time)


def focus(writer: PhraseWriter) -> Fragment:
    """Only Minsu (민수만), or Minsu also (민수도)."""
    english = writer.new_name()
    if writer.chance(0.5):
        subject = fragment(f"only {english}", with_particle(NAMES[english], "only"))
        return _done_by(writer, NounPhrase(subject, Person.SHE, False))
    also = fragment(f"{english} also", with_particle(NAMES[english], "also"))
    return _done_by(writer, NounPhrase(also, Person.SHE, False))


def becoming(writer: PhraseWriter) -> Fragment:
    """Somebody became a doctor: 의사가 됐어요."""
    subject = writer.person("topic")
    while subject.person in (Person.WE, Person.THEY):
        subject = writer.person("topic")
    noun = phrases.common(writer.pick(NOUNS["job"]), "a", "subject", writer.humble).fragment
    frame, past = writer.pick((("simple", True), ("will", False), ("want", False)))
    manner = Manner(subject.person, STATEMENT[writer.register], past, "", False, subject.honoured)
    predicate = verb_predicate(BECOME, frame, manner)
    times = PAST_TIMES if past else phrases.FUTURE_TIMES
    time = writer.pick(times) if frame != "want" and writer.affords(2) else EMPTY
    return ordered(subject, predicate, (noun,), (noun,), time)


def journey(writer: PhraseWriter) -> Fragment:
    """From a place to a place: 서울에서 부산까지 걸었어요."""
    subject = writer.person("topic")
    start, goal = writer.pick(phrases.COMING_FROM), writer.pick(phrases.UP_TO)
    verb = writer.pick(WALKERS)
    manner = Manner(subject.person, STATEMENT[writer.register], True, "", False, subject.honoured)
    predicate = verb_predicate(verb, "simple", manner)
    time = writer.pick(ANY_TIME) if writer.affords(3) else EMPTY
    return ordered(subject, predicate, (start, goal), (start, goal), time)


WALKERS = tuple(
    verb for verb in (*INTRANSITIVE, *MOTION) if verb.english.base in ("walk", "run", "go", "come")
)
