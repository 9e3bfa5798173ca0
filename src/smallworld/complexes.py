"""Constructions of more than one clause."""

from collections.abc import Sequence

from smallworld import circumstances
from smallworld.choices import DOABLE, HABITUAL, OBJECTS_OF, PREDICATES_OF, Choices
from smallworld.clauses import (
    FUTURE,
    PAST,
    PRESENT,
    PROGRESSIVE,
    WAS_DOING,
    Tense,
    action,
    clause_of,
    known,
    ordered,
    quality,
)
from smallworld.fragment import EMPTY, Fragment, fragment, join, unspoken
from smallworld.korean import attach
from smallworld.lexicon import ALL_NOUNS, Adjective, Noun
from smallworld.phrases import NounPhrase
from smallworld.predicates import STATEMENT, Inflection, adjective_predicate, verb_predicate
from smallworld.reasons import again, comma, is_new, its_worth, moody, own_mood
from smallworld.verbs import INTRANSITIVE, MOTION, SAY, THINK, TRANSITIVE, VERB, Verb
from smallworld.weather import by_weather
from smallworld.writer import PLACES_OF, Event, PhraseWriter

AND, BUT = unspoken("and"), unspoken("but")


def _pairs(opposed: bool) -> tuple[tuple[Noun, Adjective, Adjective], ...]:
    """Two adjectives that one noun may have: of like worth, or of opposed worth."""
    return tuple(
        (noun, one, other)
        for noun in ALL_NOUNS.values()
        if noun.measure != "bit"
        for one in PREDICATES_OF[noun.english]
        for other in PREDICATES_OF[noun.english]
        if one.scale != other.scale and one.worth * other.worth == (-1 if opposed else 1)
    )


ALIKE, OPPOSED = _pairs(False), _pairs(True)


def _both_qualities(writer: PhraseWriter, ending: str, word: Fragment) -> Fragment:
    """ "The room is small, but it is clean": 방은 작지만 깨끗해요."""
    noun, one, other = writer.pick(OPPOSED if word is BUT else ALIKE)
    subject = known(writer, noun, "topic")
    past = not (one.resultant or other.resultant) and writer.chance(0.3)
    first, second = (
        adjective_predicate(
            each, "", False, Inflection(subject.person, said, past, honoured=subject.honoured)
        ).whole
        for each, said in ((one, ending), (other, STATEMENT[writer.register]))
    )
    first, pronoun = comma(first), again(writer, subject)
    return join(
        (subject.fragment, first, word, pronoun, second),
        (subject.fragment, first, word, second, pronoun),
    )


SIDE_BY_SIDE = (PAST, PAST, PAST, PROGRESSIVE)


def _side_by_side(writer: PhraseWriter, ending: str, word: Fragment) -> Fragment:
    """Two people do something of one kind at one time: 민수는 달렸고 유나는 걸었어요."""
    tense, parts = writer.pick(SIDE_BY_SIDE), []
    first_verb = _doing(writer, COMPARED, tense)
    other_verb = first_verb
    if writer.chance(0.4):
        group = BODILY if word is BUT else COMPARED
        first_verb = other_verb = _doing(writer, group, tense)
        while other_verb is first_verb:
            other_verb = _doing(writer, group, tense)
    for verb, said in ((first_verb, ending), (other_verb, STATEMENT[writer.register])):
        bare = tense._replace(times=())
        subject = _other_person(writer, "adult" in verb.traits)
        parts.append(clause_of(writer, verb, bare, subject, said, free=False))
    first = comma(parts[0])
    return join((first, word, parts[1]), (first, word, parts[1]))


def _doing(writer: PhraseWriter, verbs: Sequence[Verb], tense: Tense) -> Verb:
    verb = writer.pick(verbs)
    while not writer.allows(verb, tense.frame):
        verb = writer.pick(verbs)
    return verb


# What people do beside each other: different things of one verb, or two of these.
COMPARED = tuple(
    verb
    for verb in HABITUAL
    if len(OBJECTS_OF[verb].familiar) >= len(SIDE_BY_SIDE) and verb.base != "listen"
)
BODILY = tuple(VERB[base] for base in ("run", "walk", "sleep", "rest", "work", "dance", "swim"))


def _other_person(writer: PhraseWriter, adult: bool = False) -> NounPhrase:
    """A person whom a line may name beside another: no pronoun."""
    return writer.name("topic") if writer.chance(0.6) else _no_pronoun(writer, "topic", adult)


def _no_pronoun(writer: PhraseWriter, case: str, adult: bool = False) -> NounPhrase:
    subject = writer.person(case, adult)
    while subject.again[0].lower() == subject.fragment.english.lower() or is_new(subject):
        subject = writer.person(case, adult)
    return subject


def addition(writer: PhraseWriter) -> Fragment:
    """One thing, and another: -고."""
    draw = _both_qualities if writer.chance(0.35) else _side_by_side
    return draw(writer, "-고", AND)


def contrast(writer: PhraseWriter) -> Fragment:
    """One thing, but another: -지만."""
    draw = writer.pick((_both_qualities, _side_by_side, _not_the_other))
    return draw(writer, "-지만", BUT)


def _not_the_other(writer: PhraseWriter, ending: str, word: Fragment) -> Fragment:
    """ "Minsu bought a car, but Yuna did not": 민수는 자동차를 샀지만 유나는 사지 않았어요."""
    verb = writer.pick(DOABLE)
    subject = writer.person("topic", "adult" in verb.traits)
    first = comma(clause_of(writer, verb, PAST._replace(times=()), subject, ending, free=False))
    other = writer.name("topic")
    inflection = Inflection(other.person, STATEMENT[writer.register], PAST.past, "not")
    denied = fragment("did not", verb_predicate(verb, PAST.frame, inflection).whole.korean)
    return join((first, word, other.fragment, denied), (first, word, other.fragment, denied))


def consequence(writer: PhraseWriter) -> Fragment:
    """Because of a mood, or of how a thing is: -아서."""
    return own_mood(writer) if writer.chance(0.5) else its_worth(writer)


def reason(writer: PhraseWriter) -> Fragment:
    """Because of the weather: -기 때문에."""
    return by_weather(writer, "-기 때문에", "because", past=writer.chance(0.8))


def condition(writer: PhraseWriter) -> Fragment:
    """If: -(으)면."""
    if writer.chance(0.5):
        return by_weather(writer, "-(으)면", "if", past=False)
    return moody(writer, "-(으)면", "if", against=False)


def concession(writer: PhraseWriter) -> Fragment:
    """Even if: -아도."""
    if writer.chance(0.5):
        return by_weather(writer, "-아도", "even if", past=False, against=True)
    return moody(writer, "-아도", "even if", against=True)


def _subordinate(writer: PhraseWriter, word: str, clause: Fragment, main: Fragment) -> Fragment:
    """The clause before or after the main one in English; always before it in Korean."""
    linked = unspoken(word)
    if writer.chance(0.5):
        clause = comma(clause)
        return join((linked, clause, main), (clause, linked, main))
    return join((main, linked, clause), (clause, linked, main))


COMING = (*MOTION, MOTION[1])
DOING = tuple(
    verb
    for verb in (*TRANSITIVE, *INTRANSITIVE)
    if not verb.stative and not verb.traits & {"brief", "chance", "years", "definite"}
)
WAS = WAS_DOING._replace(times=())


def occasion(writer: PhraseWriter) -> Fragment:
    """When somebody came, another was doing something: -(으)ㄹ 때."""
    comer = _no_pronoun(writer, "subject")
    move = writer.event(writer.pick(COMING), comer)
    inflection = Inflection(comer.person, "-(으)ㄹ 때", True, honoured=comer.honoured)
    came = verb_predicate(move.verb, "simple", inflection)
    when = ordered(comer, came, move.english[:1], move.korean[-1:])
    verb = writer.pick(DOING)
    while not writer.allows(verb, "progressive"):
        verb = writer.pick(DOING)
    subject = writer.person("topic", "adult" in verb.traits)
    while subject.again == comer.again and len(subject.again) == 1:
        subject = writer.person("topic", "adult" in verb.traits)
    writer.room = min(writer.room, 1)
    main = clause_of(writer, verb, WAS, subject, STATEMENT[writer.register], free=False)
    return _subordinate(writer, "when", when, main)


def sequence(writer: PhraseWriter) -> Fragment:
    """Somebody does one thing before (-기 전에) or after (-(으)ㄴ 후에) another."""
    word, ending = writer.pick((("before", "-기 전에"), ("after", "-(으)ㄴ 후에")))
    writer.used.append(word)
    verb, other = writer.doable("tttim"), writer.doable("tttim")
    while other is verb or "years" in verb.traits | other.traits:
        verb, other = writer.doable("tttim"), writer.doable("tttim")
    subject = writer.person("topic", "adult" in verb.traits or "adult" in other.traits)
    room, writer.room = writer.room, 0
    aside = writer.event(other, subject, lasts=False)
    writer.room = room
    event = writer.event(verb, subject, lasts=False)
    inner = Inflection(subject.person, ending, True, honoured=subject.honoured)
    outer = inner._replace(ending=STATEMENT[writer.register])
    does = verb_predicate(event.verb, "simple", outer).whole
    when = verb_predicate(aside.verb, "simple", inner).whole
    link, pronoun, who = unspoken(word), again(writer, subject), subject.fragment
    return join(
        (who, does, *event.english, link, pronoun, when, *aside.english),
        (who, *aside.korean, when, pronoun, link, *event.korean, does),
    )


def saying(writer: PhraseWriter) -> Fragment:
    """Somebody says or thinks that: -다고."""
    verb, past = writer.pick(((SAY, True), (SAY, True), (THINK, False)))
    subject = _no_pronoun(writer, "topic")
    inflection = Inflection(
        subject.person, STATEMENT[writer.register], past, honoured=subject.honoured
    )
    predicate = verb_predicate(verb, "simple", inflection)
    that, ending = unspoken("that"), "-(느)ㄴ다고"
    if verb is THINK or writer.chance(0.4):
        said = quality(writer, ending, case="subject", future=False)
    else:
        said = action(writer, ending, case="subject", tense=writer.pick((PAST, PAST, FUTURE)))
    return ordered(subject, predicate, (that, said), (said, that))


def infinite(event: Event, english: str, korean: str) -> Fragment:
    """A verb without a subject and its phrases; the English words all link with the verb."""
    words = f"{english} {event.verb.after}".strip()
    verb = fragment(words, korean)
    return join((verb, *event.english), (*event.korean, verb))


# Where people go -> what they do there.
DONE_AT = {
    place: tuple(
        verb
        for verb, places in PLACES_OF.items()
        if circumstances.ACTING_AT[place] in places
        and not verb.traits & {"chance", "stative", "years"}
    )
    for place in ("library", "park", "school", "restaurant", "market", "beach", "garden", "office",
                  "kitchen", "church", "yard", "farm")
}  # fmt: skip
GOERS = (MOTION[0], MOTION[0], MOTION[1])


def purpose(writer: PhraseWriter) -> Fragment:
    """Somebody goes somewhere to do something: -(으)러."""
    place = writer.pick(tuple(DONE_AT))
    verb = writer.pick(DONE_AT[place])
    subject = writer.person("topic", "adult" in verb.traits)
    room, writer.room = writer.room, 0
    tense = writer.pick((PAST, PAST, PRESENT))
    aim = writer.event(verb, subject, habit=tense is PRESENT)
    writer.room = room
    move = writer.pick(GOERS)
    to = circumstances.GOING_TO[place]
    ending = STATEMENT[writer.register]
    inflection = Inflection(subject.person, ending, tense.past, honoured=subject.honoured)
    predicate = verb_predicate(move, "simple", inflection)
    to_do = infinite(aim, f"to {verb.base}", attach(verb.stem, "-(으)러"))
    when = writer.pick(tense.times) if writer.affords(2) else EMPTY
    return ordered(subject, predicate, (to, to_do), (to_do, to), when)


# What one does with half an ear or half a hand, and with what else.
ASIDE = {
    "listen": "study read work walk rest wait draw paint bake run exercise sweep drive wash boil",
    "drink": "study read work rest wait talk write",
    "sing": "walk wait sweep wash dance bake paint",
    "talk": "walk rest wait wash",
    "eat": "read rest wait talk",
    "walk": "talk laugh cry",
}
SIDES = tuple(VERB[base] for base in ASIDE)
WITH_SIDE = {
    VERB[base]: tuple(VERB[each] for each in mains.split()) for base, mains in ASIDE.items()
}
LIGHT = {
    VERB["eat"]: Choices(("cookie", "apple", "sandwich", "bread", "banana"), ()),
    VERB["drink"]: Choices(("coffee", "tea", "juice", "milk", "water"), ()),
}


def meanwhile(writer: PhraseWriter) -> Fragment:
    """Somebody does something while doing something else: -(으)면서."""
    side = writer.pick(SIDES)
    verb = writer.pick(WITH_SIDE[side])
    subject = writer.person("topic", "adult" in verb.traits)
    tense: Tense = PAST if writer.settled(verb, subject.person, writer.chance(0.8)) else PRESENT
    habit = tense is PRESENT
    event = writer.event(verb, subject, habit, lasts=False)
    room, writer.room = writer.room, 0
    if side in LIGHT:
        familiar = set(OBJECTS_OF[side].familiar)
        lemma = writer.pick([each for each in LIGHT[side].familiar if each in familiar])
        noun = ALL_NOUNS[lemma]
        thing = writer.thing(noun, "object", side, habit).fragment
        aside = Event(side, (thing,), (thing,))
    else:
        aside = writer.event(side, subject, habit, lasts=False)
    writer.room = room
    inflection = Inflection(
        subject.person, STATEMENT[writer.register], tense.past, honoured=subject.honoured
    )
    predicate = verb_predicate(event.verb, "simple", inflection)
    how = infinite(aside, f"while {side.english.gerund}", attach(side.stem, "-(으)면서"))
    return ordered(subject, predicate, (*event.english, how), (how, *event.korean))
