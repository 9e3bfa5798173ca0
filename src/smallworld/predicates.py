"""Verbs, adjectives and nouns as finite predicates: "has been", "cannot read", 읽을 수 없어요.

A Korean predicate is a chain: each helping verb asks an ending of the stem before it and brings a
stem of its own (읽-을 수 있-), and the clause asks one ending of the last stem.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from smallworld.english import VerbForms, article
from smallworld.fragment import Fragment, links
from smallworld.korean import NOT_BEING, Stem, adnominal, attach, copula, with_particle
from smallworld.lexicon import Adjective, Noun
from smallworld.verbs import Verb


class Register(StrEnum):
    """How a sentence addresses its listener. The English shows it by what the sentence opens with.

    POLITE (해요체): nothing. FORMAL (합쇼체): "Sir,". CASUAL (해체): a friend's name.
    PLAIN (해라체, as diaries and stories are written): "Diary:" or "Story:".
    """

    POLITE = "polite"
    FORMAL = "formal"
    CASUAL = "casual"
    PLAIN = "plain"


class Person(StrEnum):
    """Whom the English verb agrees with. SHE stands for every singular, THEY for every plural."""

    I = "I"  # noqa: E741
    YOU = "you"
    SHE = "she"
    WE = "we"
    THEY = "they"


class Predicate(NamedTuple):
    """The English auxiliary, which a question puts first and an adverb follows, and the rest.

    `whole` is both in one. `auxiliary` has no Korean of its own: it links back into `rest`, so the
    Korean order puts it right after `rest`.
    """

    auxiliary: Fragment
    rest: Fragment
    whole: Fragment


@dataclass(frozen=True, eq=False)
class Frame:
    """A way to use a verb: "want to read", "can read", "is reading".

    auxiliary: the English auxiliary that takes no -s ("will"), "be" or "have", or "" for none.
    helper: the verb that takes the tense in place of the main verb ("want"), if there is one.
    form: the form of the main verb after them.
    ending, between, stem: the Korean chain: the ending of the stem before, the words between, the
        next stem.
    """

    auxiliary: str = ""
    helper: VerbForms | None = None
    form: str = "base"
    ending: str = ""
    between: tuple[str, ...] = ()
    stem: Stem | None = None


HAVING = Stem.of("있", "existence")
LACKING = Stem.of("없", "existence")
STAYING = Stem.of("계시", "honorific")
DOING = Stem.of("하")
BECOMING = Stem.of("되")
WISHING = Stem.of("싶", "adjective")
TRYING = Stem.of("보")
BEGINNING = Stem.of("시작하")
NOT_DOING = Stem.of("않")
NOT_SO = Stem.of("않", "adjective")
FAILING = Stem.of("못하")
FUTURE = copula("것")

FRAMES = {
    "simple": Frame(),
    "will": Frame("will", ending="-(으)ㄹ", stem=FUTURE),
    "going to": Frame("be", form="going", ending="-(으)려고", stem=DOING),
    "progressive": Frame("be", form="gerund", ending="-고", stem=HAVING),
    "want": Frame("", VerbForms.of("want"), "to", "-고", (), WISHING),
    "try": Frame("", VerbForms.of("try"), "gerund", "-아", (), TRYING),
    "begin": Frame("", VerbForms.of("begin/began/begun"), "to", "-기", (), BEGINNING),
    "can": Frame("can", ending="-(으)ㄹ", between=("수",), stem=HAVING),
    "cannot": Frame("cannot", ending="-(으)ㄹ", between=("수",), stem=LACKING),
    "could not": Frame("could", ending="-지", stem=FAILING),
    "must": Frame("must", ending="-아야", stem=DOING),
    "must not": Frame("must", ending="-(으)면", between=("안",), stem=BECOMING),
    "may": Frame("may", ending="-아도", stem=BECOMING),
    "experience": Frame(
        "have", form="participle", ending="-(으)ㄴ", between=("적이",), stem=HAVING
    ),
}

# Frames in which the main verb, and not the last stem, carries the -시- of an honoured subject.
HONOURED_WITHIN = ("will", "can", "cannot", "experience", "must", "must not", "may")

BE = {False: {Person.I: "am", Person.SHE: "is"}, True: {Person.I: "was", Person.SHE: "was"}}

STATEMENT = {
    Register.POLITE: "-아요",
    Register.FORMAL: "-(스)ㅂ니다",
    Register.CASUAL: "-아",
    Register.PLAIN: "-(느)ㄴ다",
}
QUESTION = STATEMENT | {Register.FORMAL: "-(스)ㅂ니까"}

# Endings that say nothing of the tense, or say it themselves (-(으)ㄴ).
TENSELESS = ("-아서", "-(으)ㄴ", "-(으)ㄴ 후에", "-기 전에")

# The forms of 이다 (after a consonant, after a vowel) that its letters do not tell.
COPULA_ENDINGS = {
    "-아요": ("이에요", "예요"),
    "-아": ("이야", "야"),
    "-(느)ㄴ다": ("이다", "다"),
    "-(느)ㄴ다고": ("이라고", "라고"),
    "-아서": ("이어서", "여서"),
}


def finish(stem: Stem, ending: str) -> str:
    """The last word of a predicate: the stem with the ending of its clause.

    "-는" asks for the form before a noun, whatever the kind of stem makes of it.
    """
    if ending == "-는":
        return adnominal(stem)
    if stem is FUTURE:
        return {"-아요": "거예요", "-아": "거야", "-(느)ㄴ다고": "거라고"}.get(ending) or attach(
            stem, ending
        )
    if stem is NOT_BEING:
        return {"-아요": "아니에요", "-아": "아니야", "-(느)ㄴ다고": "아니라고"}.get(
            ending
        ) or attach(stem, ending)
    if stem.kind == "copula" and ending in COPULA_ENDINGS:
        noun = stem.plain[:-1]
        return noun + COPULA_ENDINGS[ending][with_particle(noun, "topic").endswith("는")]
    if stem.kind.startswith("honorific") and ending == "-아요":
        return stem.plain[:-1] + "세요"
    return attach(stem, ending)


def be(person: Person, past: bool) -> str:
    """The form of be: am, is, are, was, were."""
    return BE[past].get(person, "were" if past else "are")


def finite(forms: VerbForms, person: Person, past: bool) -> str:
    """The finite form: reads, read."""
    if past:
        return forms.past
    return forms.third if person is Person.SHE else forms.base


# An English word and the indices of the Korean words that it is linked with.
Word = tuple[str, tuple[int, ...]]


def _predicate(auxiliary: list[Word], rest: list[Word], korean: list[str]) -> Predicate:
    spoken = " ".join(korean)
    depth = spoken.count(" ") + 1

    def built(words: list[Word], text: str, shift: int) -> Fragment:
        pairs = ((i, j - shift) for i, (_, linked) in enumerate(words) for j in linked)
        english = " ".join(word for word, _ in words)
        return Fragment(english, len(words), text, depth if text else 0, links(*pairs))

    return Predicate(
        built(auxiliary, "", depth), built(rest, spoken, 0), built(auxiliary + rest, spoken, 0)
    )


class Inflection(NamedTuple):
    """What a clause asks of its predicate.

    negation: "" (none), "not" (-지 않다) or "n't" (안, 못).
    question: whether the auxiliary must be there to come first.
    honoured: whether the subject takes -시-.
    ending: in the notation of `attach`; "-는" is the form before a noun. Words of its own may
        follow it ("-기 전에").
    """

    person: Person
    ending: str
    past: bool = False
    negation: str = ""
    question: bool = False
    honoured: bool = False


def _last(stem: Stem, inflection: Inflection, honoured: bool) -> str:
    if honoured and not stem.kind.startswith("honorific"):
        stem = STAYING if stem is HAVING else stem.honorific()
    shows_past = inflection.past and inflection.ending not in TENSELESS
    return finish(stem.past() if shows_past else stem, inflection.ending)


def _auxiliaries(
    frame: Frame, inflection: Inflection, helping: tuple[int, ...], last: int, has_short: bool
) -> list[Word]:
    """The English auxiliary and "not", each linked with its Korean."""
    linked = helping or (last,)
    if frame.auxiliary == "be":
        word = be(inflection.person, inflection.past)
    elif frame.auxiliary == "have":
        word = "has" if inflection.person is Person.SHE else "have"
    elif frame.auxiliary:
        word = "could" if frame.auxiliary == "can" and inflection.past else frame.auxiliary
    elif inflection.negation or inflection.question:
        word = "did" if inflection.past else "does" if inflection.person is Person.SHE else "do"
    else:
        return []
    if inflection.negation == "n't":
        contracted = {"will": "won't", "can": "can't"}.get(word, word + "n't")
        return [(contracted, (0, *helping) if has_short else linked)]
    if inflection.negation == "not":
        return [(word, linked), ("not", (last,))]
    return [(word, linked)]


@cache
def verb_predicate(verb: Verb, name: str, inflection: Inflection) -> Predicate:
    """A verb in one of FRAMES, with its English particle: "listens to"."""
    frame = FRAMES[name]
    stem, between, following = verb.stem, frame.between, frame.stem
    if inflection.honoured and verb.honoured:
        stem = verb.honoured
    elif inflection.honoured and name in HONOURED_WITHIN:
        stem = stem.honorific()
    if name == "want" and inflection.person in (Person.SHE, Person.THEY):
        between, following = ("싶어",), DOING  # of others one says that they act wanting
    korean = []
    if inflection.negation == "n't":
        korean.append("못" if name == "can" else "안")
    main = len(korean)
    if name == "can" and inflection.negation == "n't":
        following = None
    negated_within = inflection.negation == "not" and name == "will"
    if negated_within:
        korean.append(attach(stem, "-지"))
        stem = NOT_DOING
    helping: tuple[int, ...] = ()
    if following is not None:
        first = len(korean) + 1
        korean += [attach(stem, frame.ending), *between]
        helping = tuple(range(first, len(korean) + 1))
        stem = following
    denied = len(korean)
    if inflection.negation == "not" and not negated_within:
        korean.append(attach(stem, "-지"))
        stem = NOT_SO if stem is WISHING else NOT_DOING
        denied = len(korean)
    elif negated_within:
        denied = main + 1
    honoured = inflection.honoured and name not in HONOURED_WITHIN
    korean.append(_last(stem, inflection, honoured))
    auxiliary = _auxiliaries(frame, inflection, helping, denied, main > 0)
    rest: list[Word] = []
    if name in ("must not", "could not"):
        rest.append(("not", (main + 1,)))
    if name == "going to":
        rest.append(("going", helping))
    if frame.helper:
        form = (
            frame.helper.base
            if auxiliary
            else finite(frame.helper, inflection.person, inflection.past)
        )
        rest.append((form, helping))
    if frame.form in ("to", "going"):
        rest.append(("to", (main,)))
    rest.append((_main_form(verb.english, frame, inflection, bool(auxiliary)), (main,)))
    if verb.after:
        rest.append((verb.after, (main,)))
    return _predicate(auxiliary, rest, korean)


def _main_form(forms: VerbForms, frame: Frame, inflection: Inflection, has_auxiliary: bool) -> str:
    if frame.form == "gerund":
        return forms.gerund
    if frame.form == "participle":
        return forms.participle
    if frame.form in ("to", "going") or has_auxiliary:
        return forms.base
    return finite(forms, inflection.person, inflection.past)


@cache
def adjective_predicate(
    adjective: Adjective, degree: str, future: bool, inflection: Inflection
) -> Predicate:
    """An adjective with be. degree: "" or an adverb ("very", 아주, as "very 아주"), or
    "comparative" (더) or "superlative" (가장)."""
    grades, stem = adjective.english, adjective.stem
    korean: list[str] = []
    rest: list[Word] = []
    past = inflection.past
    if adjective.resultant and not inflection.negation:
        inflection = inflection._replace(past=True)
    if degree in ("comparative", "superlative"):
        korean.append("더" if degree == "comparative" else "가장")
        graded = grades.comparative if degree == "comparative" else "the " + grades.superlative
        *before, word = graded.split()
        linked = (0, 1) if not before or before == ["the"] else (1,)
        rest = [(each, (0,)) for each in before] + [(word, linked)]
    elif degree:
        english, said = degree.split()
        korean.append(said)
        rest = [(english, (0,)), (grades.positive, (1,))]
    else:
        rest = [(grades.positive, (0,))]
    main = len(korean)
    if inflection.negation:
        korean.append(attach(stem, "-지"))
        stem = NOT_SO
    last = len(korean)
    if future:
        korean.append(attach(stem.honorific() if inflection.honoured else stem, "-(으)ㄹ"))
        korean.append(finish(FUTURE, inflection.ending))
        return _predicate([("will", (last + 1,))], [("be", (main,)), *rest], korean)
    korean.append(_last(stem, inflection, inflection.honoured))
    auxiliary: list[Word] = [(be(inflection.person, past), (last,))]
    if inflection.negation:
        auxiliary.append(("not", (last,)))
    return _predicate(auxiliary, rest, korean)


@cache
def noun_predicate(noun: Noun, plural: bool, inflection: Inflection) -> Predicate:
    """A noun with be: "is a doctor" (의사예요), "is not a doctor" (의사가 아니에요)."""
    korean = [with_particle(noun.korean, "subject")] if inflection.negation else []
    stem = NOT_BEING if inflection.negation else copula(noun.korean)
    korean.append(_last(stem, inflection, inflection.honoured))
    last = len(korean) - 1
    auxiliary: list[Word] = [(be(inflection.person, inflection.past), (last,))]
    if inflection.negation:
        auxiliary.append(("not", (last,)))
    words = [noun.plural] if plural else [article(noun.english), noun.english]
    return _predicate(auxiliary, [(word, (0,)) for word in words], korean)
