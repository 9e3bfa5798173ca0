"""Sentences whose "it" is one of two nouns, as their last word decides, in English and Korean."""

import itertools
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import MappingProxyType

from jumok_lectures.written import Splits, written

KOREAN = {
    "animal": "동물",
    "dog": "개",
    "horse": "말",
    "child": "아이",
    "cat": "고양이",
    "mouse": "쥐",
    "bird": "새",
    "cow": "소",
    "street": "길",
    "river": "강",
    "bridge": "다리",
    "field": "들",
    "wall": "벽",
    "road": "도로",
    "garden": "정원",
    "lake": "호수",
    "tired": "피곤했",
    "hungry": "배고팠",
    "scared": "겁났",
    "sick": "아팠",
    "lazy": "게을렀",
    "sleepy": "졸렸",
    "wide": "넓었",
    "long": "길었",
    "steep": "가팔랐",
    "icy": "미끄러웠",
    "muddy": "질었",
    "narrow": "좁았",
}
KOREAN_FRAMES = (
    "{living:은} {thing:을} 건너지 않았다",
    "{living:은} {thing:을} 보았다",
    "{thing:은} {living:을} 막았다",
    "{living:이} {thing:을} 떠났다",
)
LIVING = ("animal", "dog", "horse", "child", "cat", "mouse", "bird", "cow")
THINGS = ("street", "river", "bridge", "field", "wall", "road", "garden", "lake")
OF_LIVING = ("tired", "hungry", "scared", "sick", "lazy", "sleepy")
OF_THINGS = ("wide", "long", "steep", "icy", "muddy", "narrow")
# Living first, and thing first: "because it was too ..." follows.
FRAMES = (
    "the {living} did not cross the {thing}",
    "the {living} saw the {thing}",
    "the {thing} stopped the {living}",
    "the {thing} was left by the {living}",
)
ENDING = "because it was too {quality}"
HELD_OUT = 0.2  # of all sentences
SEED = 1


@dataclass(frozen=True)
class Sentence:
    """A sentence, the noun that "it" is, the other noun, and the sentence in Korean."""

    text: str
    right: str
    wrong: str
    korean: str = ""


class KoreanNoun(str):
    """A Korean noun: formatted with "은", "이" or "을" it has that particle, in its right form."""

    AFTER_VOWEL = MappingProxyType({"은": "는", "이": "가", "을": "를"})

    def __format__(self, particle: str) -> str:
        consonant = (ord(self[-1]) - ord("가")) % 28
        return f"{self!s}{particle if consonant else self.AFTER_VOWEL[particle]}"


def sentences() -> tuple[list[Sentence], list[Sentence]]:
    """All of them: to train on, and held out."""
    every = []
    nouns = itertools.product(zip(FRAMES, KOREAN_FRAMES, strict=True), LIVING, THINGS)
    for (frames, living, thing), quality in itertools.product(nouns, OF_LIVING + OF_THINGS):
        frame, korean_frame = frames
        text = f"{frame} {ENDING}".format(living=living, thing=thing, quality=quality)
        of_living = quality in OF_LIVING
        right, wrong = (living, thing) if of_living else (thing, living)
        main = korean_frame.format(
            living=KoreanNoun(KOREAN[living]), thing=KoreanNoun(KOREAN[thing])
        )
        reason = f"{KoreanNoun(KOREAN[right]):이} 너무 {KOREAN[quality]}기 때문이다"
        every.append(Sentence(text, right, wrong, f"{main} {reason}"))
    Random(SEED).shuffle(every)
    held = round(len(every) * HELD_OUT)
    return every[held:], every[:held]


def write(folder: Path) -> Path:
    """Writes the sentences and their answers as a corpus, unless it is there."""
    return written(folder / "pronouns", lambda: _splits("right"))


def write_translations(folder: Path) -> Path:
    """Writes the sentences and their translations as a corpus, unless they are there."""
    return written(folder / "pronouns-ko", lambda: _splits("korean"))


def _splits(target: str) -> Splits:
    return {
        split: {"en": [each.text for each in chosen], "ko": [vars(each)[target] for each in chosen]}
        for split, chosen in zip(("train", "validation"), sentences(), strict=True)
    }
