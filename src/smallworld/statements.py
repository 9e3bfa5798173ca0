"""Constructions of one clause that state something."""

from smallworld import circumstances, phrases
from smallworld.choices import ADJECTIVES_OF, KNOWN, OBJECTS_OF, OWNABLE, PREDICATES_OF, spread
from smallworld.circumstances import FOUND_AT, PEOPLES
from smallworld.clauses import (
    FUTURE,
    LONG_FUTURE,
    LONG_PAST,
    PAST,
    PAST_TIMES,
    PRESENT,
    Tense,
    action,
    clause_of,
    ordered,
    quality,
)
from smallworld.fragment import EMPTY, Fragment, fragment, join, unspoken
from smallworld.korean import with_particle
from smallworld.lexicon import (
    ADJECTIVE,
    ADJECTIVES,
    ALL_NOUNS,
    HOME_CITIES,
    NAMES,
    NOUNS,
    Noun,
    nouns_of,
)
from smallworld.phrases import NounPhrase, together
from smallworld.predicates import (
    HAVING,
    LACKING,
    STATEMENT,
    STAYING,
    Inflection,
    Person,
    Predicate,
    adjective_predicate,
    be,
    finish,
    noun_predicate,
    verb_predicate,
)
from smallworld.verbs import BECOME, MOTION, PERSON, TRANSITIVE, VERB
from smallworld.writer import PhraseWriter


def simple(writer: PhraseWriter) -> Fragment:
    """Somebody does something."""
    return action(writer, STATEMENT[writer.register])


def description(writer: PhraseWriter) -> Fragment:
    """Something is somehow."""
    return quality(writer, STATEMENT[writer.register])


SOMEBODY = spread(name=4, pronoun=3, kin=3, relative=1, friend=2)


def _one(writer: PhraseWriter) -> NounPhrase:
    """One person of whom one may say what they are."""
    kind = writer.pick(SOMEBODY)
    if kind == "name":
        return writer.name("topic")
    if kind == "pronoun":
        return phrases.pronoun(writer.pick(("I", "I", "he", "she")), "topic", writer.humble)
    return writer.doer(writer.pick(NOUNS[kind]), "topic")


def _work_of(writer: PhraseWriter, subject: NounPhrase) -> str:
    """What the person may be: a fisherman is a man."""
    noun = writer.pick(NOUNS["job"])
    while subject.again not in (("I",), noun.again) and not set(subject.again) & set(noun.again):
        noun = writer.pick(NOUNS["job"])
    return noun.english


def identity(writer: PhraseWriter) -> Fragment:
    """Somebody is (not) a doctor."""
    subject = _one(writer)
    noun = ALL_NOUNS[_work_of(writer, subject)]
    past, negation = writer.chance(0.3), "not" if writer.chance(0.25) else ""
    ending = STATEMENT[writer.register]
    inflection = Inflection(subject.person, ending, past, negation, False, subject.honoured)
    return ordered(subject, noun_predicate(noun, False, inflection), (), ())


def _there(person: Person, past: bool, ending: str, honoured: bool = False) -> Predicate:
    """be or there be as 있다: the English form of be alone."""
    stem = STAYING if honoured else HAVING
    said = finish(stem.past() if past else stem, ending)
    whole = fragment(be(person, past), said)
    return Predicate(EMPTY, whole, whole)


FOUND = spread(
    thing=3, trifle=1, tool=2, book=3, container=1, animal=4, bird=1, fruit=3, snack=1, sheet=2,
    flower=2, vehicle=2, job=2, folk=2,
)  # fmt: skip
HOW_FOUND = spread(counted=8, a=6, described=3, many=2, no=2)


def existence(writer: PhraseWriter) -> Fragment:
    """There is something somewhere: the place comes first in Korean, and 이/가 marks what is."""
    noun = writer.pick(NOUNS[writer.pick(FOUND)])
    kind = writer.pick(HOW_FOUND)
    if kind == "counted":
        what = writer.counted(noun, "subject")
    elif kind == "described" and ADJECTIVES_OF[noun.english]:
        what = writer.described(noun, "subject", ("a",))
    else:
        determiner = {"many": "many", "no": ""}.get(kind, "a")
        what = phrases.common(noun, determiner, "subject", writer.humble, kind == "many")
    where = writer.pick(FOUND_AT[noun.category])
    while noun.english in where.english.split():
        where = writer.pick(FOUND_AT[noun.category])
    past = writer.chance(0.3)
    stem = LACKING if kind == "no" else HAVING
    said = finish(stem.past() if past else stem, STATEMENT[writer.register])
    english = f"there {be(what.person, past)}"
    there = fragment(english + " no" if kind == "no" else english, said)
    return join((there, what.fragment, where), (where, what.fragment, there))


def location(writer: PhraseWriter) -> Fragment:
    """Something or somebody is somewhere: it is known, so 은/는 marks it and it comes first."""
    if writer.chance(0.5):
        subject, where = writer.person("topic"), writer.pick(PEOPLES)
        if writer.chance(0.2):
            where = writer.pick(circumstances.REGIONS_AT)
    else:
        noun = writer.pick(
            NOUNS[writer.pick(("thing", "trifle", "tool", "book", "animal", "sheet"))]
        )
        determiner = writer.pick(KNOWN[noun.english])
        subject = phrases.common(noun, determiner, "topic", writer.humble)
        where = writer.pick(FOUND_AT[noun.category])
    past = writer.chance(0.4)
    predicate = _there(subject.person, past, STATEMENT[writer.register], subject.honoured)
    time = writer.pick(PAST_TIMES) if past and writer.affords(2) else EMPTY
    return ordered(subject, predicate, (where,), (where,), time)


OWNED = spread(
    thing=3, tool=2, book=3, clothes=3, instrument=1, camera=1, pet=2, kin=4, car=1, bicycle=1
)


def possession(writer: PhraseWriter) -> Fragment:
    """Somebody has something: 저는 공책이 세 권 있어요, the counter after the particle."""
    subject = writer.person("topic")
    noun = writer.pick(nouns_of(writer.pick(OWNED)))
    past = writer.chance(0.3)
    stem = HAVING.honorific() if subject.honoured else HAVING
    said = finish(stem.past() if past else stem, STATEMENT[writer.register])
    english = "had" if past else "has" if subject.person is Person.SHE else "have"
    have = fragment(english, said)
    predicate = Predicate(EMPTY, have, have)
    if writer.chance(0.5):
        writer.used.append("numeral and counter")
        number = writer.pick((2, 2, 2, 3, 3, 4))
        counted = phrases.counted(noun, number, "bare").fragment
        one, *count = counted.korean.split()
        what = counted._replace(korean=" ".join((with_particle(one, "subject"), *count)))
    else:
        what = phrases.common(noun, "a", "subject", writer.humble).fragment
    return ordered(subject, predicate, (what,), (what,))


THAN = unspoken("than")
VIRTUES = tuple(
    ADJECTIVE[word] for word in ("kind", "smart", "busy", "brave", "lazy", "healthy", "rich")
)
MEASURED = ("size", "length", "height", "width", "speed", "courage", "mind")
PASSING = ("health", "hunger", "thirst")
"""Scales on which some kinds stand by nature, so that only things of one kind are compared."""
# Adjectives with nouns of one category, so that what is compared can be compared.
COMPARABLE = tuple(
    (adjective, nouns)
    for adjective in ADJECTIVES
    if not adjective.attributive and adjective.scale not in (*MEASURED, *PASSING)
    for nouns in (
        tuple(noun for noun in group if adjective in ADJECTIVES_OF[noun.english])
        for group in NOUNS.values()
    )
    if len(nouns) > 1
)
OF_ONE_KIND = tuple(
    (adjective, noun)
    for adjective in ADJECTIVES
    if not adjective.attributive and adjective.scale not in PASSING
    for noun in ALL_NOUNS.values()
    if adjective in ADJECTIVES_OF[noun.english] and noun.measure is None
    and noun.category not in ("studies", "job")
)  # fmt: skip
BOTH_OWNED = (("this", "that"), ("my", "his"), ("his", "my"), ("my", "her"))


def comparison(writer: PhraseWriter) -> Fragment:
    """Something is more so than something else: 이 집은 그 집보다 더 커요."""
    kind = writer.pick(("names", "one kind", "one kind", "two kinds"))
    if kind == "names":
        adjective, subject = writer.pick(VIRTUES), writer.name("topic")
        standard = writer.name("than").fragment
    elif kind == "one kind":
        adjective, noun = writer.pick(OF_ONE_KIND)
        here, there = writer.pick(BOTH_OWNED) if noun.category in OWNABLE else BOTH_OWNED[0]
        subject = phrases.common(noun, here, "topic", writer.humble)
        standard = phrases.common(noun, there, "than", writer.humble).fragment
    else:
        adjective, nouns = writer.pick(COMPARABLE)
        one, other = writer.pick(nouns), writer.pick(nouns)
        while other is one:
            other = writer.pick(nouns)
        determiner = "" if one.category == "studies" else "the"
        subject = phrases.common(one, determiner, "topic", writer.humble)
        standard = phrases.common(other, determiner, "than", writer.humble).fragment
    past = not adjective.resultant and writer.chance(0.3)
    inflection = Inflection(subject.person, STATEMENT[writer.register], past)
    predicate = adjective_predicate(adjective, "comparative", False, inflection)
    return ordered(subject, predicate, (THAN, standard), (standard, THAN))


SCOPES = tuple(
    fragment(f"{at} our {lemma}", f"우리 {korean}에서", (0, 1), (1, 0), (2, 1))
    for at, lemma, korean in (
        ("at", "school", "학교"),
        ("at", "company", "회사"),
        ("in", "village", "마을"),
    )
)
SIGHTS = tuple(
    (noun, adjective)
    for noun in nouns_of("tower park museum library market palace restaurant hotel")
    for adjective in PREDICATES_OF[noun.english]
    if adjective.scale not in ("width", "noise")
)


def superlative(writer: PhraseWriter) -> Fragment:
    """Something is the most so in a place: 민수는 우리 학교에서 가장 똑똑해요."""
    if writer.chance(0.5):
        adjective, subject, place = writer.pick(VIRTUES), writer.name("topic"), writer.pick(SCOPES)
    else:
        noun, adjective = writer.pick(SIGHTS)
        determiner = writer.pick(("this", "that"))
        subject = phrases.common(noun, determiner, "topic", writer.humble)
        place = writer.pick(circumstances.REGIONS)
    past = not adjective.resultant and writer.chance(0.2)
    inflection = Inflection(subject.person, STATEMENT[writer.register], past)
    predicate = adjective_predicate(adjective, "superlative", False, inflection)
    return ordered(subject, predicate, (place,), (place,))


FEW_OBJECTS = 5  # that two different ones are drawn soon


def company(writer: PhraseWriter) -> Fragment:
    """Two subjects joined by and: 민수와 유나는 ..."""
    first = writer.name("and")
    return _done_by(writer, together(first, writer.name("topic").fragment, "and"))


PATIENCE = 12  # draws until the two need not be of one kind
BY_FORM = {form: noun for noun in ALL_NOUNS.values() for form in (noun.plural, noun.english)}


def _last_noun(phrase: NounPhrase) -> Noun:
    return BY_FORM[phrase.fragment.english.split()[-1]]


JOINED = tuple(
    verb
    for verb in TRANSITIVE
    if "many" in verb.traits
    and PERSON not in verb.objects
    and len(OBJECTS_OF[verb].familiar) >= FEW_OBJECTS
)
WILLING = (FUTURE, FUTURE, Tense("want", "want", False, FUTURE.times))


def alternatives(writer: PhraseWriter) -> Fragment:
    """Two objects joined by and or or: 사과와 빵을 먹었어요, 커피나 차를 마실 거예요."""
    verb = writer.pick(JOINED)
    subject = writer.person("topic", "adult" in verb.traits)
    word = writer.pick(("and", "and", "or"))
    tense = PAST if word == "and" else writer.pick(WILLING)
    tense = tense if writer.allows(verb, tense.frame) else FUTURE
    first = writer.object_of(verb, word, subject, habit=tense is not PAST)
    second = writer.object_of(verb, "object", subject, habit=tense is not PAST)
    tries = 0
    while _last_noun(first) is _last_noun(second) or (
        tries < PATIENCE and _last_noun(first).category != _last_noun(second).category
    ):
        tries += 1
        second = writer.object_of(verb, "object", subject, habit=tense is not PAST)
    both = together(first, second.fragment, word).fragment
    writer.used.append("noun and" if word == "and" else "noun or")
    ending = STATEMENT[writer.register]
    inflection = Inflection(subject.person, ending, tense.past, honoured=subject.honoured)
    predicate = verb_predicate(verb, tense.frame, inflection)
    return ordered(subject, predicate, (both,), (both,))


def _done_by(writer: PhraseWriter, subject: NounPhrase) -> Fragment:
    verb = writer.verb("tttiim")
    daily = "daily" in verb.traits or verb.stative
    tense = PRESENT if daily and writer.chance(0.4) else PAST
    return clause_of(writer, verb, tense, subject, STATEMENT[writer.register], free=False)


def focus(writer: PhraseWriter) -> Fragment:
    """Only Minsu (민수만), or Minsu also (민수도)."""
    english = writer.new_name()
    again = phrases.name(english, "topic").again
    word, case = writer.pick((("only {}", "only"), ("{} also", "also")))
    subject = fragment(word.format(english), with_particle(NAMES[english], case))
    return _done_by(writer, NounPhrase(subject, Person.SHE, False, again))


def becoming(writer: PhraseWriter) -> Fragment:
    """Somebody became a doctor: 의사가 됐어요."""
    subject = _one(writer)
    noun = ALL_NOUNS[_work_of(writer, subject)]
    what = phrases.common(noun, "a", "subject", writer.humble).fragment
    frame, past = writer.pick((("simple", True), ("will", False), ("want", False)))
    inflection = Inflection(
        subject.person, STATEMENT[writer.register], past, honoured=subject.honoured
    )
    predicate = verb_predicate(BECOME, frame, inflection)
    times = LONG_PAST if past else LONG_FUTURE
    time = writer.pick(times) if frame != "want" and writer.affords(2) else EMPTY
    return ordered(subject, predicate, (what,), (what,), time)


def journey(writer: PhraseWriter) -> Fragment:
    """From a place to a place: 서울에서 부산까지 갔어요, 역에서 공원까지 걸었어요."""
    subject = writer.person("topic")
    far = writer.chance(0.5)
    lemmas = tuple(HOME_CITIES if far else circumstances.HAUNTS)
    start = writer.pick(lemmas)
    goal = writer.pick(lemmas)
    while goal == start:
        goal = writer.pick(lemmas)
    verb = MOTION[0] if far else writer.pick(WALKERS)
    way = (circumstances.COMING_FROM[start], circumstances.UP_TO[goal])
    inflection = Inflection(
        subject.person, STATEMENT[writer.register], True, honoured=subject.honoured
    )
    predicate = verb_predicate(verb, "simple", inflection)
    by = writer.pick(circumstances.BY_LAND) if far and writer.affords(2) else EMPTY
    time = writer.pick(PAST_TIMES) if writer.affords(2) else EMPTY
    return ordered(subject, predicate, (*way, by), (*way, by), time)


WALKERS = (VERB["walk"], VERB["run"])
