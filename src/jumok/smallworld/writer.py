"""Draws words and phrases for one sentence after another, by one stream of random numbers."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from random import Random
from typing import NamedTuple, TypeVar

from jumok.smallworld import phrases
from jumok.smallworld.fragment import EMPTY, Fragment, unspoken
from jumok.smallworld.lexicon import (
    ADJECTIVES,
    GIVING,
    INTRANSITIVE,
    MOTION,
    NAMES,
    NOUNS,
    TRANSITIVE,
    Adjective,
    Noun,
    Verb,
)
from jumok.smallworld.phrases import NounPhrase
from jumok.smallworld.predicates import FRAMES, Person, Register

Item = TypeVar("Item")

NAME_LIST = tuple(NAMES)
MOST_NAMED = len(NAMES) // 2  # names of one line before the first may come again
ALL_NOUNS = {noun.english: noun for nouns in NOUNS.values() for noun in nouns}
ADJECTIVES_OF: dict[str, tuple[Adjective, ...]] = {
    category: tuple(each for each in ADJECTIVES if category in each.categories)
    for category in NOUNS
}


def spread(**weights: int) -> tuple[str, ...]:
    """Each name as often as it weighs, to pick from."""
    return tuple(name for name, weight in weights.items() for _ in range(weight))


PERSONS = spread(name=7, pronoun=7, elder=2, kin=2, master=1, job=5)
SOMEONE = spread(elder=2, kin=2, master=1, job=5)
SPEAKERS = spread(I=4, we=1, he=1, she=1, they=1)
BEFORE_COUNT = spread(pointer=10, adjective=4, counted=3, many=1) + ("the many",) * 2
BEFORE_MASS = spread(pointer=13, adjective=4, counted=3)
POINTERS = spread(the=3, a=2, this=1, that=1, my=1, our=1)
# Categories that take no adjective and no number, and the determiners that they take.
DETERMINERS_OF = {
    "elder": ("my",),
    "kin": ("my", "my", "his", "her"),
    "master": ("the", "the", "this"),
    "studies": ("",),
}
OTHERS = ("he", "she", "they")
TO = unspoken("to")
PERSON = "person's name"  # what an object category "name" stands for among the nouns


# Frames that some construction asks of every verb.
ALWAYS_SEEN = ("simple", "will")


def held_out(*words: str) -> bool:
    """Whether a combination of words is kept for the split of unseen combinations (1 in 8).

    A stable hash decides, so the answer is the same in every process and on every machine.
    """
    return blake2b("+".join(words).encode(), digest_size=1).digest()[0] % 8 == 0


class Choices(NamedTuple):
    """What a verb may be combined with: in every split, and in "unseen combination" alone."""

    familiar: tuple[str, ...]
    novel: tuple[str, ...]

    @classmethod
    def of(cls, verb: Verb, others: Sequence[str]) -> "Choices":
        """Splits the combinations; a verb with fewer than 5 keeps all of them familiar."""
        novel = tuple(
            each for each in others if each not in ALWAYS_SEEN and held_out(verb.english.base, each)
        )
        if len(others) < 5 or len(novel) == len(others):
            novel = ()
        return cls(tuple(each for each in others if each not in novel), novel)


def _objects(verb: Verb) -> Choices:
    lemmas: list[str] = []
    for wanted in verb.objects:
        if wanted == "name":
            lemmas += [PERSON] * 5
        elif wanted in NOUNS:
            lemmas += [noun.english for noun in NOUNS[wanted]]
        else:
            lemmas.append(wanted)
    return Choices.of(verb, lemmas)


def _frames(verb: Verb) -> tuple[str, ...]:
    return ("simple",) if verb.stative else tuple(FRAMES)


GIVING_VERBS = tuple(verb for twins in GIVING for verb in twins)
VERBS = (*TRANSITIVE, *INTRANSITIVE, *GIVING_VERBS, *MOTION)
OBJECTS_OF = {verb: _objects(verb) for verb in VERBS if verb.objects}
DOABLE = tuple(
    verb for verb in TRANSITIVE if not verb.stative and verb.english.base not in ("lose", "break")
)
FRAMES_OF = {verb: Choices.of(verb, _frames(verb)) for verb in VERBS}


def objects_where(fits: Callable[[Noun], bool]) -> dict[Verb, Choices]:
    """For every transitive verb that has some, the objects that fit."""
    fitting = {}
    for verb in TRANSITIVE:
        familiar, novel = (
            tuple(lemma for lemma in each if lemma != PERSON and fits(ALL_NOUNS[lemma]))
            for each in OBJECTS_OF[verb]
        )
        if familiar:
            fitting[verb] = Choices(familiar, novel)
    return fitting


class Event(NamedTuple):
    """What happens, without who does it and when: a verb and its phrases in both orders.

    lasting: whether one of the phrases says how long; then nothing says when.
    """

    verb: Verb
    english: tuple[Fragment, ...]
    korean: tuple[Fragment, ...]
    lasting: bool = False


class PhraseWriter:
    """Draws phrases; one Writer writes one stream.

    novel: whether combinations that `held_out` keeps back may be drawn.
    """

    def __init__(self, seed: str, novel: bool) -> None:
        self.random: Callable[[], float] = Random(seed).random
        self.novel = novel
        self.begin()
        self.speak(Register.POLITE)

    def begin(self) -> None:
        """Starts a line.

        room: about how many English words a sentence may still take on.
        used: the names of constructions that the line has.
        """
        self.room = 0
        self.used: list[str] = []
        self.met_novel = False
        self.named: list[str] = []

    def speak(self, register: Register) -> None:
        """Chooses how the line addresses its listener, and how its speaker says I."""
        self.register = register
        self.humble = register in (Register.POLITE, Register.FORMAL)

    def new_name(self) -> str:
        """A person's name that this line has not said yet, so that nobody meets himself."""
        name = self.pick(NAME_LIST)
        while name in self.named[-MOST_NAMED:]:
            name = self.pick(NAME_LIST)
        self.named.append(name)
        return name

    def pick(self, items: Sequence[Item]) -> Item:
        return items[int(self.random() * len(items))]

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def affords(self, words: int) -> bool:
        """Whether to add a phrase of so many words: half the time, if there is room for it."""
        if self.room < words or self.random() < 0.45:
            return False
        self.room -= words
        return True

    def combine(self, choices: Choices) -> str:
        """One of the choices, and if it is an unseen one, notes that the line has one."""
        if self.novel and choices.novel and self.chance(0.5):
            self.met_novel = True
            return self.pick(choices.novel)
        return self.pick(choices.familiar)

    def settled(self, verb: Verb, person: Person, past: bool) -> bool:
        """Whether a bare simple verb is past: it is, where English does not show ("I read")."""
        return past or (verb.unmarked and person is not Person.SHE)

    def allows(self, verb: Verb, frame: str) -> bool:
        """Whether the verb may stand in the frame here; notes an unseen combination."""
        choices = FRAMES_OF[verb]
        if frame in choices.familiar:
            return True
        if frame in choices.novel and self.novel:
            self.met_novel = True
            return True
        return False

    def person(self, case: str) -> NounPhrase:
        """Somebody who can act: a name, a pronoun, "my mother", "a doctor", "the kind nurse"."""
        kind = self.pick(PERSONS)
        if kind == "name":
            return phrases.name(self.new_name(), case)
        if kind == "pronoun":
            return phrases.pronoun(self.pick(SPEAKERS), case, self.humble)
        return self.thing(self.pick(NOUNS[kind]), case)

    def someone(self, case: str) -> NounPhrase:
        """A person who is neither a name nor a pronoun."""
        return self.thing(self.pick(NOUNS[self.pick(SOMEONE)]), case)

    def thing(self, noun: Noun, case: str) -> NounPhrase:
        """The noun with what may stand before it."""
        if noun.category in DETERMINERS_OF:
            determiner = self.pick(DETERMINERS_OF[noun.category])
            return phrases.common(noun, determiner, case, self.humble)
        kind = self.pick(BEFORE_MASS if noun.measure else BEFORE_COUNT)
        if kind == "adjective" and ADJECTIVES_OF[noun.category] and self.room > 0:
            self.room -= 1
            return self.described(noun, case)
        if kind == "counted" and noun.measure != "bit":
            return self.counted(noun, case)
        if kind in ("many", "the many"):
            determiner = "many" if kind == "many" else "the"
            return phrases.common(noun, determiner, case, self.humble, plural=True)
        determiner = self.pick(("", "", "", "the") if noun.measure else POINTERS)
        return phrases.common(noun, determiner, case, self.humble)

    def described(self, noun: Noun, case: str, determiners: Sequence[str] = ()) -> NounPhrase:
        """The noun after an adjective; determiners: to draw from, () for all."""
        self.used.append("adjective")
        adjective = self.pick(ADJECTIVES_OF[noun.category])
        every = ("the", "the", "this", "that") if noun.measure else POINTERS
        determiner = self.pick(determiners or every)
        return phrases.modified(noun, adjective, determiner, case, self.humble)

    def counted(self, noun: Noun, case: str) -> NounPhrase:
        """A number of the noun's things."""
        self.used.append("numeral and counter")
        return phrases.counted(noun, self.small_number(), case)

    def small_number(self) -> int:
        """2 to 11, the small ones more often; 20 now and then, whose Korean form is its own."""
        draw = self.random()
        return 20 if draw > 0.97 else 2 + int(draw * draw * 10)

    def animal(self, case: str) -> NounPhrase:
        return self.thing(self.pick(NOUNS["animal"]), case)

    def subject_of(self, verb: Verb, case: str) -> NounPhrase:
        """Somebody, or an animal, that can do what the verb says."""
        if verb.subjects == "animal" and self.chance(0.35):
            return self.animal(case)
        return self.person(case)

    def object_lemma(self, verb: Verb) -> str:
        """The English lemma of such a thing, or PERSON."""
        return self.combine(OBJECTS_OF[verb])

    def object_of(self, verb: Verb, case: str = "object") -> NounPhrase:
        """Something that the verb can be done to."""
        lemma = self.object_lemma(verb)
        if lemma == PERSON:
            if self.chance(0.3):
                return phrases.pronoun(self.pick(OTHERS), case, self.humble)
            return phrases.name(self.new_name(), case)
        return self.thing(ALL_NOUNS[lemma], case)

    def event(self, kinds: str = "tttttiimg") -> Event:
        """Something that happens; kinds: letters to draw from, t(ransitive), i(ntransitive),
        m(otion), g(iving)."""
        kind = self.pick(kinds)
        if kind == "t":
            return self.transitive(self.pick(TRANSITIVE))
        if kind == "i":
            return self.intransitive(self.pick(INTRANSITIVE))
        if kind == "m":
            return self.motion(self.pick(MOTION))
        return self.giving(self.pick(GIVING))

    def activity(self, kinds: str = "ttti") -> Event:
        """Something that one does on purpose, and can be asked to do."""
        kind = self.pick(kinds)
        if kind == "t":
            return self.transitive(self.pick(DOABLE))
        if kind == "i":
            return self.intransitive(self.pick(INTRANSITIVE))
        return self.motion(MOTION[0])

    def _circumstances(self, manners: Sequence[Fragment]) -> tuple[Fragment, Fragment]:
        """A manner and a place, or EMPTY."""
        manner = self.pick(manners) if self.affords(1) else EMPTY
        place = self.pick(phrases.ACTING_AT) if self.affords(3) else EMPTY
        return manner, place

    def transitive(self, verb: Verb) -> Event:
        manner, place = EMPTY, EMPTY
        thing = self.object_of(verb).fragment
        if not verb.stative:
            manner, place = self._circumstances(phrases.MANNERS)
        return Event(verb, (thing, manner, place), (place, thing, manner))

    def intransitive(self, verb: Verb) -> Event:
        """Something done without an object, for a while if there is room to say so."""
        manner, place = self._circumstances(phrases.STATES)
        span = EMPTY
        if self.affords(3):
            self.used.append("duration")
            span = self.duration(ago=False)
        return Event(verb, (manner, place, span), (place, span, manner), span is not EMPTY)

    def motion(self, verb: Verb) -> Event:
        to, way = self.pick(phrases.GOING_TO), EMPTY
        self.used.append("motion")
        if self.affords(2):
            way = self.pick(phrases.BY_VEHICLE if self.chance(0.6) else phrases.WITH_FRIEND)
        return Event(verb, (to, way), (way, to))

    def giving(self, twins: tuple[Verb, Verb]) -> Event:
        """Something that somebody receives."""
        self.used.append("giving")
        thing = self.object_of(twins[0]).fragment
        kind = self.pick(("pronoun", "name", "kin", "elder", "job", "job", "master"))
        if kind == "pronoun":
            receiver = phrases.pronoun(self.pick(OTHERS), "to", self.humble)
        elif kind == "name":
            receiver = phrases.name(self.new_name(), "to")
        else:
            determiner = "my" if kind in ("kin", "elder") else "the"
            receiver = phrases.common(self.pick(NOUNS[kind]), determiner, "to", self.humble)
        verb = twins[receiver.honoured]
        return Event(verb, (thing, TO, receiver.fragment), (receiver.fragment, TO, thing))

    def duration(self, ago: bool) -> Fragment:
        """A span of time, from two to the largest number said of its unit."""
        unit = int(self.random() * len(phrases.UNITS_OF_TIME))
        largest = phrases.UNITS_OF_TIME[unit][3]
        number = 2 + int(self.random() ** 2 * (largest - 1))
        return phrases.span(unit, number, ago)
