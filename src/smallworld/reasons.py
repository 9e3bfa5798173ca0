"""Why somebody does something or leaves it: by a mood, by how a thing is, by the weather.

A pronoun in the reason takes up the one who acts ("because it was too tired") or the thing
("because it was too wide"). Korean does not say the first, and names the thing where English has
the pronoun:

    동물은 너무 피곤해서 길을 건너지 않았어요.
    동물은 길이 너무 넓어서 건너지 않았어요.
"""

from typing import NamedTuple

from smallworld import phrases
from smallworld.choices import KNOWN, OBJECTS_OF, PREDICATES_OF, PREY_OF, Choices
from smallworld.clauses import FUTURE, PAST, Tense, degree_of
from smallworld.fragment import Fragment, join, unspoken
from smallworld.lexicon import ADJECTIVE, ALL_NOUNS, Adjective
from smallworld.phrases import NounPhrase
from smallworld.predicates import (
    STATEMENT,
    Inflection,
    Predicate,
    adjective_predicate,
    verb_predicate,
)
from smallworld.verbs import PERSON, VERB, Verb
from smallworld.writer import Event, PhraseWriter

# Mood -> what it makes one do; and what it makes one leave.
BRINGS = {
    "hungry": "eat",
    "thirsty": "drink",
    "tired": "sleep rest",
    "sleepy": "sleep rest",
    "sick": "sleep rest",
    "sad": "cry",
    "happy": "laugh dance sing",
    "scared": "cry shout",
}
KEEPS_FROM = {
    "tired": (
        "cross cross cross cross work run walk swim dance exercise travel study read sweep carry"
    ),
    "sick": "cross cross work run walk swim dance exercise travel study eat play sing go",
    "sleepy": "study read work play draw",
    "busy": "travel sleep rest exercise read swim play dance eat go talk",
    "hungry": "sleep run exercise study cross cross",
    "full": "eat drink",
    "scared": "cross cross touch swim",
    "lazy": "work study exercise sweep wash",
}
HUMAN_ONLY = ("busy", "sad", "happy", "lazy")

# Verb -> how a thing is that it is done to; and that it is not done to.
INVITES = {
    "eat": "delicious sweet",
    "drink": "delicious warm",
    "read": "interesting easy",
    "buy": "cheap pretty good light",
    "wear": "warm clean pretty",
    "see": "interesting famous",
    "ride": "fast",
    "sing": "easy beautiful",
    "listen": "beautiful",
    "study": "interesting important",
    "learn": "interesting important",
    "visit": "famous beautiful",
    "choose": "pretty cheap light warm",
    "cross": "safe",
}
PUTS_OFF = {
    "eat": "hot spicy salty expensive",
    "drink": "hot expensive",
    "read": "difficult boring long",
    "buy": "expensive heavy old dirty big small",
    "wear": "dirty small big long short old",
    "carry": "heavy big",
    "push": "heavy big",
    "pull": "heavy big",
    "see": "boring long sad",
    "drive": "old slow big",
    "ride": "old slow",
    "sing": "difficult sad",
    "study": "difficult",
    "learn": "difficult",
    "visit": "noisy",
    "cross": "wide wide narrow dangerous dark",
    "touch": "dirty strange",
    "open": "heavy",
    "close": "heavy",
    "choose": "expensive old big small",
}


class Mood(NamedTuple):
    """A verb, a mood, and whether the verb is left or done in it."""

    verb: Verb
    adjective: Adjective
    leaves: bool


class Worth(NamedTuple):
    """A verb, the adjectives that may be why, and the objects that some of them describe."""

    verb: Verb
    adjectives: frozenset[Adjective]
    objects: Choices
    prey: Choices
    leaves: bool


def _moods() -> tuple[Mood, ...]:
    return tuple(
        Mood(VERB[base], ADJECTIVE[mood], leaves)
        for table, leaves in ((BRINGS, False), (KEEPS_FROM, True))
        for mood, bases in table.items()
        for base in bases.split()
    )


def _described(choices: Choices | None, adjectives: frozenset[Adjective]) -> Choices:
    if choices is None:
        return Choices((), ())
    kept = (
        tuple(
            lemma for lemma in lemmas if lemma != PERSON and adjectives & set(PREDICATES_OF[lemma])
        )
        for lemmas in choices
    )
    return Choices(*kept)


def _worths() -> tuple[Worth, ...]:
    made = []
    for table, leaves in ((PUTS_OFF, True), (PUTS_OFF, True), (INVITES, False)):
        for base, words in table.items():
            verb = VERB[base]
            adjectives = frozenset(ADJECTIVE[word] for word in words.split())
            objects = _described(OBJECTS_OF[verb], adjectives)
            prey = _described(PREY_OF.get(verb), adjectives)
            if objects.familiar:
                made.append(Worth(verb, adjectives, objects, prey, leaves))
    crossing = [worth for worth in made if worth.verb.base == "cross" and worth.leaves]
    return (*made, *crossing * 6)


MOODS, WORTHS = _moods(), _worths()
BY_MOOD = {mood.adjective: [each for each in MOODS if each.adjective is mood.adjective]
           for mood in MOODS}  # fmt: skip
BECAUSE, SO = unspoken("because"), unspoken("so")
ABILITY = Tense("could not", "could not", True, ())


def _mood_of(writer: PhraseWriter) -> tuple[Mood, NounPhrase]:
    """A mood that follows, and who is in it."""
    mood = writer.pick(BY_MOOD[writer.pick(tuple(BY_MOOD))])
    subject = writer.subject_of(mood.verb, "topic")
    human = mood.adjective.english.positive in HUMAN_ONLY
    while (human and subject.again == ("it",)) or is_new(subject):
        subject = writer.subject_of(mood.verb, "topic")
    return mood, subject


def is_new(subject: NounPhrase) -> bool:
    """Whether the listener does not know yet who it is."""
    return subject.fragment.english.startswith(("a ", "an "))


def again(writer: PhraseWriter, subject: NounPhrase) -> Fragment:
    """The English pronoun that takes the subject up; Korean says nothing."""
    return unspoken(writer.pick(subject.again))


def _does(
    writer: PhraseWriter, verb: Verb, subject: NounPhrase, leaves: bool, tense: Tense
) -> Predicate:
    """The verb as what somebody does, or does not do or cannot do."""
    negation = ""
    if leaves and tense is PAST and writer.chance(0.25) and writer.allows(verb, "could not"):
        writer.used.append("could not")
        tense = ABILITY
    elif leaves:
        negation = "not" if verb.splits or writer.chance(0.5) else "n't"
        writer.used.append("negation" if negation == "not" else "short negation")
    ending = STATEMENT[writer.register]
    inflection = Inflection(subject.person, ending, tense.past, negation, False, subject.honoured)
    return verb_predicate(verb, tense.frame, inflection)


def _so_much(
    writer: PhraseWriter, adjective: Adjective, who: NounPhrase, leaves: bool, past: bool
) -> Predicate:
    """The state that is the reason, with -아서."""
    degree = "too 너무" if leaves and writer.chance(0.6) else degree_of(writer, adjective)
    inflection = Inflection(who.person, "-아서", past, honoured=who.honoured)
    return adjective_predicate(adjective, degree, False, inflection)


def _plain_event(writer: PhraseWriter, mood: Mood, subject: NounPhrase) -> Event:
    """What the mood makes one do; or leave, and then without a place and a manner."""
    room = writer.room
    if mood.leaves:
        writer.room = 0
    event = writer.event(mood.verb, subject, habit=mood.leaves, lasts=False)
    writer.room = min(writer.room, room) if not mood.leaves else room
    return event


def own_mood(writer: PhraseWriter) -> Fragment:
    """By the mood of who acts: 민수는 피곤해서 쉬었어요."""
    mood, subject = _mood_of(writer)
    tense = PAST if "chance" in mood.verb.traits else writer.pick((PAST, PAST, PAST, FUTURE))
    why = _so_much(writer, mood.adjective, subject, mood.leaves, tense.past).whole
    event = _plain_event(writer, mood, subject)
    does = _does(writer, mood.verb, subject, mood.leaves, tense).whole
    pronoun = again(writer, subject)
    who = subject.fragment
    if writer.chance(0.75):
        writer.used.append("because")
        return join(
            (who, does, *event.english, BECAUSE, pronoun, why),
            (who, why, pronoun, BECAUSE, *event.korean, does),
        )
    why = comma(why)
    return join(
        (who, why, SO, pronoun, does, *event.english),
        (who, why, SO, *event.korean, does, pronoun),
    )


def its_worth(writer: PhraseWriter) -> Fragment:
    """By how the thing is that something is done to: 민수는 길이 너무 넓어서 건너지 않았어요."""
    worth = writer.pick(WORTHS)
    verb = worth.verb
    subject = writer.subject_of(verb, "topic")
    choices = worth.objects
    while is_new(subject) or (subject.again == ("it",) and not worth.prey.familiar):
        subject = writer.subject_of(verb, "topic")
    if subject.again == ("it",):
        choices = worth.prey
    noun = ALL_NOUNS[writer.combine(choices)]
    fitting = tuple(each for each in PREDICATES_OF[noun.english] if each in worth.adjectives)
    adjective = writer.pick(fitting)
    determiner = "" if noun.category == "studies" else writer.pick(KNOWN[noun.english])
    if noun.measure or "gains" in verb.traits:
        determiner = "" if noun.category == "studies" else writer.pick(("the", "the", "that"))
    thing = phrases.common(noun, determiner, "subject", writer.humble)
    why = _so_much(writer, adjective, thing, worth.leaves, True).whole
    does = _does(writer, verb, subject, worth.leaves, PAST).whole
    pronoun, who, what = unspoken("it"), subject.fragment, thing.fragment
    if writer.chance(0.75):
        writer.used.append("because")
        return join(
            (who, does, what, BECAUSE, pronoun, why),
            (who, what, pronoun, why, BECAUSE, does),
        )
    why = comma(why)
    return join((what, why, SO, who, does, pronoun), (what, pronoun, why, SO, who, does))


def moody(writer: PhraseWriter, ending: str, word: str, against: bool) -> Fragment:
    """ "If Minsu is tired, he will rest": what follows a mood, or `against` it nevertheless."""
    mood, subject = _mood_of(writer)
    while (against and not mood.leaves) or "chance" in mood.verb.traits:
        mood, subject = _mood_of(writer)
    inflection = Inflection(subject.person, ending, False, honoured=subject.honoured)
    is_so = adjective_predicate(mood.adjective, "", False, inflection).whole
    event = _plain_event(writer, mood, subject)
    does = _does(writer, mood.verb, subject, mood.leaves and not against, FUTURE).whole
    pronoun, link, who = again(writer, subject), unspoken(word), subject.fragment
    if writer.chance(0.5):
        is_so = comma(is_so)
        return join(
            (link, who, is_so, pronoun, does, *event.english),
            (who, is_so, link, *event.korean, does, pronoun),
        )
    return join(
        (who, does, *event.english, link, pronoun, is_so),
        (who, is_so, pronoun, link, *event.korean, does),
    )


def comma(clause: Fragment) -> Fragment:
    """The clause with a comma after the English."""
    return clause._replace(english=clause.english + ",")
