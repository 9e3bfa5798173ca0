"""Draws words and phrases for one sentence after another, by one stream of random numbers."""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, TypeVar

from smallworld import circumstances, phrases
from smallworld.choices import (
    ADJECTIVES_OF,
    DETERMINERS,
    DETERMINERS_OF,
    DOABLE,
    FRAMES_OF,
    KNOWN,
    OBJECTS_OF,
    PREY_OF,
    UNOWNED,
    Choices,
    spread,
)
from smallworld.circumstances import ACTING_AT, COLLECTIVE, GOING_TO, MANNERS, RETURNING_TO
from smallworld.fragment import EMPTY, Fragment, unspoken
from smallworld.lexicon import (
    ALL_NOUNS,
    FAR_CITIES,
    HOME_CITIES,
    MINORS,
    NAMES,
    NOUNS,
    PEOPLE,
    Noun,
)
from smallworld.phrases import YOU, NounPhrase
from smallworld.predicates import Person, Register
from smallworld.verbs import GIVING, INTRANSITIVE, MOTION, PERSON, TRANSITIVE, Verb

Item = TypeVar("Item")

NAME_LIST = tuple(NAMES)
MOST_NAMED = len(NAMES) // 2  # names of one line before the first may come again

PERSONS = spread(
    name=14, pronoun=12, elder=4, kin=3, relative=1, master=3, friend=2, job=9, folk=4, court=1
)
SPEAKERS = spread(I=6, we=1, he=2, she=2, they=1)
FIRST = (Person.I, Person.WE)
BEFORE_COUNT = spread(pointer=12, adjective=4, counted=3, many=1)
BEFORE_SUBJECT = spread(pointer=12, adjective=2, plural=2)
BEFORE_MASS = spread(pointer=13, adjective=4, counted=3)
OTHERS = ("he", "she", "they")
WHOM = ("I", "I", "he", "she", "they")
TO = unspoken("to")
# Where one goes on any day, and where one travels.
HAUNTS = (*circumstances.HAUNTS, *circumstances.HAUNTS[:8], "home", "home", "home", "office")
TOWNS = (*HOME_CITIES, *HOME_CITIES, *FAR_CITIES)
MANNERS_OF = {
    verb: tuple(MANNERS[word] for word in verb.manners) for verb in (*TRANSITIVE, *INTRANSITIVE)
}
PLACES_OF = {verb: circumstances.some(ACTING_AT, verb.places) for verb in MANNERS_OF}
TWINS = {twins[0]: twins for twins in GIVING}


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
        self.casual = register is Register.CASUAL

    def new_name(self) -> str:
        """A person's name that this line has not said yet, so that nobody meets himself."""
        name = self.pick(NAME_LIST)
        while name in self.named[-MOST_NAMED:]:
            name = self.pick(NAME_LIST)
        self.named.append(name)
        return name

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items, all equally likely."""
        return items[int(self.random() * len(items))]

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def affords(self, words: int) -> bool:
        """Whether a phrase of so many words is drawn; it takes their room if it is."""
        if self.room < words or self.random() < 0.5:
            return False
        self.room -= words
        return True

    def combine(self, choices: Choices) -> str:
        """One of the choices; a combination that is kept back only where it may be, often then."""
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

    def name(self, case: str) -> NounPhrase:
        return phrases.name(self.new_name(), case, self.casual)

    def person(self, case: str, adult: bool = False) -> NounPhrase:
        """Somebody who can act: a name, a pronoun, "my mother", "a doctor", "the kind nurse"."""
        kind = self.pick(PERSONS)
        if kind == "name":
            return self.name(case)
        if kind == "pronoun":
            return phrases.pronoun(self.pick(SPEAKERS), case, self.humble)
        return self._one_of(kind, case, adult)

    def _one_of(self, category: str, case: str, adult: bool) -> NounPhrase:
        noun = self.pick(NOUNS[category])
        while adult and noun.english in MINORS:
            noun = self.pick(NOUNS[category])
        return self.doer(noun, case)

    def doer(self, noun: Noun, case: str) -> NounPhrase:
        """The noun as one who acts: mostly known, seldom described, never counted."""
        if noun.category in DETERMINERS_OF:
            determiner = self.pick(DETERMINERS_OF[noun.category])
            return phrases.common(noun, determiner, case, self.humble)
        kind = self.pick(BEFORE_SUBJECT)
        if kind == "adjective" and ADJECTIVES_OF[noun.english] and self.room > 0:
            self.room -= 1
            return self.described(noun, case, KNOWN[noun.english])
        if kind == "plural" and noun.category in PEOPLE:
            return phrases.common(noun, "the", case, self.humble, plural=True)
        kinds = (DETERMINERS if self.chance(0.4) else KNOWN)[noun.english]
        return phrases.common(noun, self.pick(kinds), case, self.humble)

    def beast(self, verb: Verb, case: str) -> NounPhrase:
        """An animal that does what the verb says."""
        lemma = "animal" if self.chance(0.2) else self.pick(verb.beasts)
        return self.doer(ALL_NOUNS[lemma if lemma in verb.beasts else verb.beasts[0]], case)

    def thing(self, noun: Noun, case: str, verb: Verb, habit: bool = False) -> NounPhrase:
        """The noun, as what the verb is done to, with what may stand before it.

        habit: whether it is done every day, so not to one known thing.
        """
        if noun.category in DETERMINERS_OF:
            determiner = self.pick(DETERMINERS_OF[noun.category])
            return phrases.common(noun, determiner, case, self.humble)
        traits = verb.traits
        general = (habit and "definite" not in traits) or "generic" in traits
        own = UNOWNED if "gains" in traits else DETERMINERS
        own = KNOWN if "definite" in traits else own
        kind = self.pick(BEFORE_MASS if noun.measure else BEFORE_COUNT)
        if kind == "adjective" and ADJECTIVES_OF[noun.english] and self.room > 0:
            self.room -= 1
            if general:
                adjective = self.pick(ADJECTIVES_OF[noun.english])
                return phrases.modified(
                    noun, adjective, "", case, self.humble, plural=not noun.measure
                )
            kinds = ("the", "the", "this", "that") if noun.measure else own[noun.english]
            return self.described(noun, case, kinds)
        if kind == "counted" and "many" in traits and not general and noun.measure != "bit":
            return self.counted(noun, case)
        if general and noun.category == "instrument":  # "plays the piano", of any
            return phrases.common(noun, "the", case, self.humble)
        if general:
            return phrases.common(noun, "", case, self.humble, plural=not noun.measure)
        if kind == "many" and "many" in traits:
            return phrases.common(noun, "many", case, self.humble, plural=True)
        return phrases.common(noun, self.pick(own[noun.english]), case, self.humble)

    def described(self, noun: Noun, case: str, determiners: Sequence[str]) -> NounPhrase:
        """The noun after a determiner and an adjective."""
        self.used.append("adjective")
        adjective = self.pick(ADJECTIVES_OF[noun.english])
        determiner = self.pick(determiners)
        return phrases.modified(noun, adjective, determiner, case, self.humble)

    def counted(self, noun: Noun, case: str) -> NounPhrase:
        """A number of the noun's things."""
        self.used.append("numeral and counter")
        return phrases.counted(noun, self.small_number(), case)

    def small_number(self) -> int:
        """2 to 7, the small ones more often; 10 and 20 now and then."""
        draw = self.random()
        if draw > 0.96:
            return 20 if draw > 0.98 else 10
        return 2 + int(draw * draw * 6)

    def subject_of(self, verb: Verb, case: str) -> NounPhrase:
        """Somebody, or an animal, that can do what the verb says."""
        if verb.beasts and self.chance(0.6 if "definite" in verb.traits else 0.35):
            return self.beast(verb, case)
        return self.person(case, "adult" in verb.traits)

    def object_of(
        self, verb: Verb, case: str = "object", doer: NounPhrase = YOU, habit: bool = False
    ) -> NounPhrase:
        """Something that the doer can do the verb to."""
        by_beast = verb in PREY_OF and doer.again == ("it",)
        lemma = self.combine((PREY_OF if by_beast else OBJECTS_OF)[verb])
        if lemma != PERSON:
            return self.thing(ALL_NOUNS[lemma], case, verb, habit)
        if self.chance(0.4):
            others = OTHERS if doer.person in FIRST or doer is YOU else WHOM
            other = self.pick(others)
            while other in doer.again:
                other = self.pick(others)
            return phrases.pronoun(other, case, self.humble)
        return self.name(case)

    def verb(self, kinds: str = "tttttiimg") -> Verb:
        """What happens; kinds: letters to draw from, t(ransitive), i(ntransitive), m(otion),
        g(iving)."""
        kind = self.pick(kinds)
        if kind == "t":
            return self.pick(TRANSITIVE)
        if kind == "i":
            return self.pick(INTRANSITIVE)
        return self.pick(MOTION) if kind == "m" else self.pick(GIVING)[0]

    def doable(self, kinds: str = "ttti") -> Verb:
        """What one does on purpose, and can be asked to do."""
        kind = self.pick(kinds)
        if kind == "m":
            return MOTION[0]
        verb = self.pick(DOABLE if kind == "t" else INTRANSITIVE)
        while "chance" in verb.traits:
            verb = self.pick(INTRANSITIVE)
        return verb

    def event(
        self, verb: Verb, doer: NounPhrase = YOU, habit: bool = False, lasts: bool = True
    ) -> Event:
        """The verb with its phrases.

        doer: who does it.
        habit: whether it is done every day.
        lasts: whether it may be said how long.
        """
        if verb in TWINS:
            return self._giving(TWINS[verb], doer)
        if verb in MOTION:
            return self._motion(verb, doer)
        thing = self.object_of(verb, "object", doer, habit).fragment if verb.objects else EMPTY
        manner = place = span = tool = EMPTY
        if MANNERS_OF[verb] and self.affords(1):
            manner = self._manner(verb, doer)
        if verb.tools and self.room >= 3 and self.chance(0.5) and doer.again != ("it",):
            self.room -= 3
            self.used.append("means")
            tool = circumstances.with_tool(self.pick(verb.tools))
        elif PLACES_OF[verb] and doer.again != ("it",) and self.affords(3):
            place = self.pick(PLACES_OF[verb])
        if lasts and verb.spans and self.affords(3):
            self.used.append("duration")
            span = self.duration(verb.spans, ago=False)
        return Event(
            verb,
            (thing, manner, tool, place, span),
            (place, span, tool, thing, manner),
            span is not EMPTY,
        )

    def _manner(self, verb: Verb, doer: NounPhrase) -> Fragment:
        """A manner; several do it together, one alone; animals do not do it "alone"."""
        manner = self.pick(MANNERS_OF[verb])
        several = doer.person in (Person.WE, Person.THEY)
        if manner.english == COLLECTIVE and not several:
            return EMPTY
        return EMPTY if manner.english == "alone" and several else manner

    def _motion(self, verb: Verb, doer: NounPhrase) -> Event:
        self.used.append("motion")
        if verb is MOTION[2]:
            to = RETURNING_TO[self.pick(circumstances.BASES)]
            return Event(verb, (to,), (to,))
        beast = doer.again == ("it",)
        far = verb is MOTION[0] and not beast and self.chance(0.25)
        lemma = self.pick(TOWNS if far else HAUNTS)
        to, way = GOING_TO[lemma], EMPTY
        if self.affords(2) and not beast:
            ways = circumstances.means(lemma)
            way = self.pick(ways if self.chance(0.6) else circumstances.WITH_FRIEND)
            if way.korean_words == 2 and way.english.split()[1] in self.named:
                way = EMPTY
        return Event(verb, (to, way), (way, to))

    def _giving(self, twins: tuple[Verb, Verb], doer: NounPhrase) -> Event:
        """Something that somebody receives."""
        self.used.append("giving")
        thing = self.object_of(twins[0], "object", doer).fragment
        kind = self.pick(("pronoun", "pronoun", "name", "name", "kin", "elder", "friend", "master"))
        if kind == "pronoun":
            receiver = self.pick(OTHERS if doer.person in FIRST or doer is YOU else WHOM)
            while receiver in doer.again:
                receiver = self.pick(OTHERS)
            to = phrases.pronoun(receiver, "to", self.humble)
        elif kind == "name":
            to = self.name("to")
        else:
            determiner = "the" if kind == "master" else "my"
            noun = self.pick(NOUNS[kind])
            to = phrases.common(noun, determiner, "to", self.humble)
        verb = twins[to.honoured]
        return Event(verb, (thing, TO, to.fragment), (to.fragment, TO, thing))

    def duration(self, units: Sequence[str], ago: bool) -> Fragment:
        """A span of time in one of the units."""
        unit = self.pick(units)
        return circumstances.span(unit, self.pick(circumstances.UNITS_OF_TIME[unit][2]), ago)
