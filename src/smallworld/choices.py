"""What may be combined with what: verbs with objects and frames, nouns with words before them."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import NamedTuple

from smallworld.lexicon import ADJECTIVES, ALL_NOUNS, NOUNS, Adjective, Noun, lemmas_of
from smallworld.predicates import FRAMES
from smallworld.verbs import GIVING, INTRANSITIVE, MOTION, PERSON, TRANSITIVE, Verb

ADJECTIVES_OF: dict[str, tuple[Adjective, ...]] = {
    lemma: tuple(each for each in ADJECTIVES if lemma in lemmas_of(" ".join(each.categories)))
    for lemma in ALL_NOUNS
}
PREDICATES_OF = {
    lemma: tuple(each for each in adjectives if not each.attributive)
    for lemma, adjectives in ADJECTIVES_OF.items()
}


def spread(**weights: int) -> tuple[str, ...]:
    """Each name as often as it weighs, to pick from."""
    return tuple(name for name, weight in weights.items() for _ in range(weight))


# Determiners of a count noun: of any, and of what somebody owns or nobody owns.
ANYTHING = spread(the=4, a=3, this=1, that=1)
OWNED = spread(the=4, a=3, this=1, that=1, my=2, his=1, her=1)
ANYBODY = spread(the=5, a=1, this=1, that=1)
SUBSTANCE = ("", "", "", "the")
OWNABLE = (
    *("book", "volume", "text", "clothes", "container", "thing", "tool", "vehicle", "machine"),
    *("instrument", "building", "furniture"),
)
PETS = ("dog", "cat", "rabbit", "puppy")
KIN = ("my", "my", "my", "my", "his", "her")
# Categories that take no adjective and no number, and the determiners that they take.
DETERMINERS_OF = {
    "elder": ("my",),
    "kin": KIN,
    "relative": ("my",),
    "friend": KIN,
    "master": ("the", "the", "the", "this"),
    "studies": ("",),
    "court": ("the", "the", "that"),
}


def determiners(noun: Noun) -> tuple[str, ...]:
    """What may stand before the noun in the singular, as often as it should."""
    if noun.category in DETERMINERS_OF:
        return DETERMINERS_OF[noun.category]
    if noun.measure:
        return SUBSTANCE
    if noun.category in ("job", "folk"):
        return ANYBODY
    return OWNED if noun.category in OWNABLE or noun.english in PETS else ANYTHING


POSSESSIVES = ("my", "our", "his", "her")
DETERMINERS = {lemma: determiners(noun) for lemma, noun in ALL_NOUNS.items()}
UNOWNED = {
    lemma: tuple(each for each in kinds if each not in POSSESSIVES) or kinds
    for lemma, kinds in DETERMINERS.items()
}
KNOWN = {
    lemma: tuple(each for each in kinds if each != "a") or kinds
    for lemma, kinds in DETERMINERS.items()
}

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
            each for each in others if each not in ALWAYS_SEEN and held_out(verb.base, each)
        )
        if len(others) < 5 or len(novel) == len(others):
            novel = ()
        return cls(tuple(each for each in others if each not in novel), novel)


def _objects(verb: Verb) -> Choices:
    often = (PERSON,) * (4 if PERSON in verb.objects else 0)
    return Choices.of(verb, (*verb.objects, *often))


def _frames(verb: Verb) -> tuple[str, ...]:
    """The frames that suit the verb's traits."""
    if verb.stative or "chance" in verb.traits:
        return ("simple",)
    unfit: set[str] = set()
    if "brief" in verb.traits:
        unfit |= {"progressive", "begin"}
    if "tried" not in verb.traits:
        unfit |= {"try", "experience"}
    return tuple(name for name in FRAMES if name not in unfit)


GIVING_VERBS = tuple(verb for twins in GIVING for verb in twins)
VERBS = (*TRANSITIVE, *INTRANSITIVE, *GIVING_VERBS, *MOTION)
OBJECTS_OF = {verb: _objects(verb) for verb in VERBS if verb.objects}
PREY_OF = {verb: Choices.of(verb, verb.prey) for verb in VERBS if verb.prey}
FRAMES_OF = {verb: Choices.of(verb, _frames(verb)) for verb in VERBS}
DOABLE = tuple(
    verb
    for verb in TRANSITIVE
    if not verb.stative
    and not verb.traits & {"chance", "definite"}
    and verb.base not in ("see", "find")
)
HABITUAL = tuple(verb for verb in TRANSITIVE if "daily" in verb.traits)


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


DESCRIBED = tuple(
    noun
    for nouns in NOUNS.values()
    for noun in nouns
    if PREDICATES_OF[noun.english] and noun.measure != "bit"
)
