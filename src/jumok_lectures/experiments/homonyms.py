"""Sentences with homonyms, whose meaning the verb decides; with Korean.

Who hunted the bat hunted a 박쥐, who repaired it repaired a 방망이. Each meaning is of a kind,
whose verbs take other nouns, too, as in any language; so what decides a meaning can be learned of
all of them.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from jumok_lectures.pronouns import KoreanNoun
from jumok_lectures.written import Splits, written

# kind: its verbs, and its nouns; * is a homonym.
TABLE: Mapping[str, tuple[str, str]] = {
    "animal": (
        "sheltered 보호했다, chased 쫓았다, tamed 길들였다, petted 쓰다듬었다, "
        "startled 놀라게 했다, hunted 사냥했다",
        "*bat 박쥐, *seal 물개, *crane 두루미, dog 개, horse 말, rabbit 토끼, fox 여우",
    ),
    "tool": (
        "repaired 고쳤다, invented 발명했다, assembled 조립했다, polished 닦았다, "
        "lent 빌려주었다, replaced 교체했다",
        "*bat 방망이, *seal 도장, *crane 기중기, *spring 용수철, *nail 못, hammer 망치, "
        "clock 시계, pump 펌프",
    ),
    "season": (
        "awaited 기다렸다, missed 그리워했다, welcomed 맞이했다, remembered 기억했다, "
        "loved 사랑했다, described 묘사했다",
        "*spring 봄, summer 여름, winter 겨울, holiday 휴일",
    ),
    "body": (
        "hurt 다쳤다, washed 씻었다, scratched 긁었다, bandaged 붕대로 감았다, massaged 주물렀다, "
        "bared 드러냈다",
        "*nail 손톱, *palm 손바닥, knee 무릎, shoulder 어깨, finger 손가락",
    ),
    "plant": (
        "planted 심었다, pruned 다듬었다, uprooted 뽑았다, grew 길렀다, grafted 접붙였다, "
        "replanted 옮겨 심었다",
        "*palm 야자수, rose 장미, oak 참나무, bush 덤불",
    ),
    "company": (
        "founded 설립했다, sued 고소했다, managed 운영했다, trusted 믿었다, audited 조사했다, "
        "robbed 털었다",
        "*bank 은행, shop 가게, hotel 호텔, factory 공장",
    ),
    "land": (
        "climbed 올랐다, explored 탐험했다, crossed 건넜다, dug 팠다, flooded 물에 잠기게 했다, "
        "mapped 지도에 그렸다",
        "*bank 강둑, hill 언덕, field 들판, valley 계곡",
    ),
}
SUBJECTS = {
    "Mina": "미나는",
    "the teacher": "선생님은",
    "the boy": "소년은",
    "my uncle": "우리 삼촌은",
    "the nurse": "간호사는",
    "the artist": "화가는",
}
TIMES = {"again": "다시", "at last": "마침내", "alone": "혼자", "yesterday": "어제"}
HELD_OUT = 0.2  # of all sentences
SEED = 1


@dataclass(frozen=True)
class Use:
    """A noun as the object of a verb, in a sentence.

    Attributes:
        place: the number of the noun, from 0.
        meaning: the Korean noun.
    """

    text: str
    korean: str
    noun: str
    place: int
    verb: str
    meaning: str
    homonym: bool


def uses() -> tuple[list[Use], list[Use]]:
    """All of them: to train on, and held out."""
    every = [
        _use(*chosen)
        for verbs, nouns in TABLE.values()
        for chosen in itertools.product(verbs.split(", "), nouns.split(", "), SUBJECTS, TIMES)
    ]
    Random(SEED).shuffle(every)
    held = round(len(every) * HELD_OUT)
    return every[held:], every[:held]


def _use(verbs: str, nouns: str, subject: str, time: str) -> Use:
    verb, _, korean_verb = verbs.partition(" ")
    noun, _, meaning = nouns.removeprefix("*").partition(" ")
    text = f"{subject} {verb} the {noun} {time}"
    korean = f"{SUBJECTS[subject]} {TIMES[time]} {KoreanNoun(meaning):을} {korean_verb}"
    place = len(f"{subject} {verb} the".split())
    return Use(text, korean, noun, place, verb, meaning, homonym=nouns.startswith("*"))


def homonyms() -> tuple[str, ...]:
    """The words with two meanings."""
    return tuple(sorted({use.noun for use in uses()[1] if use.homonym}))


def write(folder: Path) -> Path:
    """Writes the sentences and their translations as a corpus, unless they are there."""
    return written(folder / "homonyms", _splits)


def _splits() -> Splits:
    return {
        split: {"en": [each.text for each in chosen], "ko": [each.korean for each in chosen]}
        for split, chosen in zip(("train", "validation"), uses(), strict=True)
    }
