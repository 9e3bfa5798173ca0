"""Five true captions of a scene in English and in Korean, and what each of their nouns means.

What is said follows from the image alone: places are named in reading order, and every layout has
five fixed patterns. So a model that sees the image can say one of the five word for word, and one
that does not cannot.

A noun is written as "@LABEL:noun" until a caption is finished; the label says whose things it
names. Korean particles look at a word's last syllable, so the mark does not disturb them.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from smallworld.english import article, number_name
from smallworld.korean import native_number, with_particle
from smallworld.scenes.world import COLOURS, KINDS, SIZES_KOREAN, Group, Scene

MARK, END = "@", ":"
LANGUAGES = ("en", "ko")


class CaptionNoun(NamedTuple):
    """A noun of a caption: its index among the words between spaces, and the label of the things
    that it names."""

    word: int
    label: str


class SceneCaption(NamedTuple):
    """A sentence and its nouns in order."""

    text: str
    nouns: tuple[CaptionNoun, ...]


def captions(scene: Scene, language: str) -> tuple[SceneCaption, ...]:
    """The scene's five captions in "en" or "ko"."""
    if language == "en":
        phrases = [English(_english(group, str(i)), group) for i, group in enumerate(scene.groups)]
        return tuple(_finished(text) for text in _english_texts(scene, phrases))
    return tuple(_finished(text) for text in _korean_texts(scene))


def _finished(text: str) -> SceneCaption:
    words, nouns = [], []
    for index, word in enumerate(text.split(" ")):
        if word.startswith(MARK):
            label, word = word[len(MARK) :].split(END, 1)
            nouns.append(CaptionNoun(index, label))
        words.append(word)
    sentence = " ".join(words)
    return SceneCaption(sentence[0].upper() + sentence[1:] + ".", tuple(nouns))


# English


class English(NamedTuple):
    """A noun phrase and the group it names, which its verb agrees with."""

    text: str
    group: Group

    @property
    def be(self) -> str:
        return "is" if self.group.count == 1 else "are"


def _english(group: Group, label: str) -> str:
    """ "a big red circle with a small blue star in it", "three green trees"."""
    noun = KINDS[group.kind]
    described = " ".join(filter(None, (group.size, group.colour)))
    if group.count > 1:
        return f"{number_name(group.count)} {described} {MARK}{label}{END}{noun.plural}"
    phrase = f"{article(described)} {described} {MARK}{label}{END}{noun.english}"
    if group.inner is None:
        return phrase
    return f"{phrase} with {_english(group.inner, label + 'i')} in it"


ENGLISH_PLACES = {
    "left and right": ("on the left", "on the right"),
    "above and below": ("at the top", "at the bottom"),
    "row": ("on the left", "in the middle", "on the right"),
    "column": ("at the top", "in the middle", "at the bottom"),
    "one above two": ("at the top", "at the bottom left", "at the bottom right"),
    "two above one": ("at the top left", "at the top right", "at the bottom"),
    "corners": ("at the top left", "at the top right", "at the bottom left", "at the bottom right"),
}


def _english_texts(scene: Scene, phrases: Sequence[English]) -> list[str]:
    if scene.layout == "inside":
        return _english_inside(scene.groups[0])
    places = ENGLISH_PLACES[scene.layout]
    listed = [f"{each.text} {place}" for each, place in zip(phrases, places, strict=True)]
    there = f"there {phrases[0].be} {_list(listed)}"
    fronted = [
        f"{place} {each.be} {each.text}" for each, place in zip(phrases, places, strict=True)
    ]
    if len(phrases) == 2:
        first, second = phrases
        before, after = (
            ("to the left of", "to the right of")
            if scene.layout == "left and right"
            else ("above", "below")
        )
        return [
            f"{first.text} {first.be} {before} {second.text}",
            f"{second.text} {second.be} {after} {first.text}",
            f"the picture shows {first.text} {before} {second.text}",
            there,
            _clauses(fronted),
        ]
    stated = [f"{each.text} {each.be} {place}" for each, place in zip(phrases, places, strict=True)]
    return [
        ENGLISH_RELATIONS[scene.layout](phrases),
        there,
        f"the picture shows {_list(listed)}",
        _clauses(stated),
        _clauses(fronted),
    ]


def _english_inside(group: Group) -> list[str]:
    assert group.inner is not None
    outer, inner = _english(group.emptied, "0"), _english(group.inner, "0i")
    return [
        f"{inner} is inside {outer}",
        f"{outer} has {inner} in it",
        f"there is {inner} inside {outer}",
        f"the picture shows {inner} inside {outer}",
        f"inside {outer} is {inner}",
    ]


def _between(phrases: Sequence[English]) -> str:
    first, second, third = phrases
    return f"{second.text} {second.be} between {first.text} and {third.text}"


def _downwards(phrases: Sequence[English]) -> str:
    return f"from top to bottom there {phrases[0].be} {_list([each.text for each in phrases])}"


def _one_above_two(phrases: Sequence[English]) -> str:
    top, left, right = phrases
    return f"below {top.text}, {left.text} {left.be} to the left of {right.text}"


def _two_above_one(phrases: Sequence[English]) -> str:
    left, right, bottom = phrases
    return f"above {bottom.text}, {left.text} {left.be} to the left of {right.text}"


def _corners(phrases: Sequence[English]) -> str:
    a, b, c, d = phrases
    upper = f"{a.text} {a.be} to the left of {b.text}"
    return f"{upper}, and below them {c.text} {c.be} to the left of {d.text}"


ENGLISH_RELATIONS: dict[str, Callable[[Sequence[English]], str]] = {
    "row": _between,
    "column": _downwards,
    "one above two": _one_above_two,
    "two above one": _two_above_one,
    "corners": _corners,
}


def _list(parts: Sequence[str]) -> str:
    """ "a, b and c"."""
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _clauses(parts: Sequence[str]) -> str:
    """ "a, b, and c": whole clauses keep the comma before "and"."""
    return f"{', '.join(parts[:-1])}, and {parts[-1]}"


# Korean


def _korean(group: Group, label: str, after_and: bool = False) -> str:
    """ "작은 파란 별이 든 큰 빨간 원", "초록색 나무 세 그루".

    after_and: another noun and 와 stand before it. "나무와 별이 든 원" would put the tree into the
        circle, so this becomes "나무와 안에 별이 있는 원".
    """
    noun = KINDS[group.kind]
    words = [SIZES_KOREAN[group.size], COLOURS[group.colour].korean]
    words.append(f"{MARK}{label}{END}{noun.korean}")
    if group.count > 1:
        words.append(f"{native_number(group.count)} {noun.counter}")
    phrase = " ".join(filter(None, words))
    if group.inner is None:
        return phrase
    inside = with_particle(_korean(group.inner, label + "i"), "subject")
    return f"안에 {inside} 있는 {phrase}" if after_and else f"{inside} 든 {phrase}"


KOREAN_PLACES = {
    "left and right": ("왼쪽", "오른쪽"),
    "above and below": ("위", "아래"),
    "row": ("왼쪽", "가운데", "오른쪽"),
    "column": ("위", "가운데", "아래"),
    "one above two": ("위", "왼쪽 아래", "오른쪽 아래"),
    "two above one": ("왼쪽 위", "오른쪽 위", "아래"),
    "corners": ("왼쪽 위", "오른쪽 위", "왼쪽 아래", "오른쪽 아래"),
}


def _korean_texts(scene: Scene) -> list[str]:
    if scene.layout == "inside":
        return _korean_inside(scene.groups[0])
    phrases = [_korean(group, str(index)) for index, group in enumerate(scene.groups)]
    places = KOREAN_PLACES[scene.layout]
    pairs = list(zip(places, phrases, strict=True))
    contrast = [f"{place}에는 {with_particle(each, 'subject')}" for place, each in pairs]
    depicted = [f"{place}에 {with_particle(each, 'object')}" for place, each in pairs]
    existing = [f"{place}에 {with_particle(each, 'subject')}" for place, each in pairs]
    usual = [
        f"{', '.join(contrast)} 있습니다",
        f"{', '.join(depicted)} 그린 그림입니다",
        _chained(existing),
    ]
    if len(phrases) == 2:
        (before, first), (after, second) = pairs
        return [
            f"{second} {before}에 {with_particle(first, 'subject')} 있습니다",
            f"{first} {after}에 {with_particle(second, 'subject')} 있습니다",
            *usual,
        ]
    topics = [f"{with_particle(each, 'topic')} {place}에" for place, each in pairs]
    return [_korean_relation(scene), *usual, f"{', '.join(topics)} 있습니다"]


def _korean_inside(group: Group) -> list[str]:
    assert group.inner is not None
    outer, inner = _korean(group.emptied, "0"), _korean(group.inner, "0i")
    subject = with_particle(inner, "subject")
    return [
        f"{outer} 안에 {subject} 있습니다",
        f"{subject} {outer} 안에 있습니다",
        f"{with_particle(outer, 'at')} {subject} 들어 있습니다",
        f"{with_particle(outer, 'subject')} {with_particle(inner, 'object')} 둘러싸고 있습니다",
        f"{outer} 안에 {with_particle(inner, 'object')} 그린 그림입니다",
    ]


def _chained(clauses: Sequence[str]) -> str:
    """ "... 있고 ... 있으며 ... 있습니다": the two links take turns."""
    endings = ["있습니다", *(("있고", "있으며", "있고")[: len(clauses) - 1])]
    links = [*endings[1:], endings[0]]
    return " ".join(f"{clause} {link}" for clause, link in zip(clauses, links, strict=True))


def _korean_relation(scene: Scene) -> str:
    """What three or four groups are to one another, without naming a place for each."""

    def both(first: int, second: int) -> str:
        """ "A와 B"."""
        other = _korean(scene.groups[second], str(second), after_and=True)
        return f"{with_particle(one(first), 'and')} {other}"

    def one(index: int) -> str:
        return _korean(scene.groups[index], str(index))

    def subject(phrase: str) -> str:
        return with_particle(phrase, "subject")

    if scene.layout == "row":
        return f"{both(0, 2)} 사이에 {subject(one(1))} 있습니다"
    if scene.layout == "column":
        return f"위에서부터 {one(0)}, {one(1)}, {subject(one(2))} 차례로 있습니다"
    if scene.layout == "one above two":
        return f"{one(0)} 아래에 {subject(both(1, 2))} 왼쪽부터 차례로 있습니다"
    if scene.layout == "two above one":
        return f"{one(2)} 위에 {subject(both(0, 1))} 왼쪽부터 차례로 있습니다"
    upper, lower = subject(both(0, 1)), subject(both(2, 3))
    return f"위에는 {upper}, 아래에는 {lower} 왼쪽부터 차례로 있습니다"
