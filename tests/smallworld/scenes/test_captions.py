"""Captions against sentences written by hand, and against where things really are."""

import re
from collections import Counter
from itertools import islice

import pytest

from smallworld.scenes.captions import SceneCaption, captions
from smallworld.scenes.drawing import box
from smallworld.scenes.scene import scenes
from smallworld.scenes.world import COLOURS, KINDS, Background, Group, Scene

PLAIN = Background("plain", (255, 255, 255), (255, 255, 255), 9)
STAR = Group(1, "small", "blue", "star")
CIRCLE = Group(1, "big", "red", "circle", STAR)
TREES = Group(3, "", "green", "tree")
HOUSE = Group(1, "", "orange", "house")
FISH = Group(2, "small", "yellow", "fish")


def said(layout: str, language: str, *groups: Group) -> list[str]:
    return [each.text for each in captions(Scene(layout, groups, (), PLAIN), language)]


def test_two_groups_side_by_side_are_said_in_five_ways() -> None:
    assert said("left and right", "en", HOUSE, TREES) == [
        "An orange house is to the left of three green trees.",
        "Three green trees are to the right of an orange house.",
        "The picture shows an orange house to the left of three green trees.",
        "There is an orange house on the left and three green trees on the right.",
        "On the left is an orange house, and on the right are three green trees.",
    ]
    assert said("left and right", "ko", HOUSE, TREES) == [
        "초록색 나무 세 그루 왼쪽에 주황색 집이 있습니다.",
        "주황색 집 오른쪽에 초록색 나무 세 그루가 있습니다.",
        "왼쪽에는 주황색 집이, 오른쪽에는 초록색 나무 세 그루가 있습니다.",
        "왼쪽에 주황색 집을, 오른쪽에 초록색 나무 세 그루를 그린 그림입니다.",
        "왼쪽에 주황색 집이 있고 오른쪽에 초록색 나무 세 그루가 있습니다.",
    ]


def test_two_groups_one_above_the_other_are_said_in_five_ways() -> None:
    assert said("above and below", "en", FISH, CIRCLE) == [
        "Two small yellow fish are above a big red circle with a small blue star in it.",
        "A big red circle with a small blue star in it is below two small yellow fish.",
        "The picture shows two small yellow fish above a big red circle with a small blue star "
        "in it.",
        "There are two small yellow fish at the top and a big red circle with a small blue star "
        "in it at the bottom.",
        "At the top are two small yellow fish, and at the bottom is a big red circle with a small "
        "blue star in it.",
    ]
    assert said("above and below", "ko", FISH, CIRCLE) == [
        "작은 파란 별이 든 큰 빨간 원 위에 작은 노란 물고기 두 마리가 있습니다.",
        "작은 노란 물고기 두 마리 아래에 작은 파란 별이 든 큰 빨간 원이 있습니다.",
        "위에는 작은 노란 물고기 두 마리가, 아래에는 작은 파란 별이 든 큰 빨간 원이 있습니다.",
        "위에 작은 노란 물고기 두 마리를, 아래에 작은 파란 별이 든 큰 빨간 원을 그린 그림입니다.",
        "위에 작은 노란 물고기 두 마리가 있고 아래에 작은 파란 별이 든 큰 빨간 원이 있습니다.",
    ]


def test_one_thing_inside_another_is_said_in_five_ways() -> None:
    assert said("inside", "en", CIRCLE) == [
        "A small blue star is inside a big red circle.",
        "A big red circle has a small blue star in it.",
        "There is a small blue star inside a big red circle.",
        "The picture shows a small blue star inside a big red circle.",
        "Inside a big red circle is a small blue star.",
    ]
    assert said("inside", "ko", CIRCLE) == [
        "큰 빨간 원 안에 작은 파란 별이 있습니다.",
        "작은 파란 별이 큰 빨간 원 안에 있습니다.",
        "큰 빨간 원에 작은 파란 별이 들어 있습니다.",
        "큰 빨간 원이 작은 파란 별을 둘러싸고 있습니다.",
        "큰 빨간 원 안에 작은 파란 별을 그린 그림입니다.",
    ]


def test_four_corners_are_said_in_five_ways() -> None:
    heart = Group(1, "", "pink", "heart")
    assert said("corners", "en", HOUSE, heart, FISH, STAR) == [
        "An orange house is to the left of a pink heart, and below them two small yellow fish are "
        "to the left of a small blue star.",
        "There is an orange house at the top left, a pink heart at the top right, two small "
        "yellow fish at the bottom left and a small blue star at the bottom right.",
        "The picture shows an orange house at the top left, a pink heart at the top right, two "
        "small yellow fish at the bottom left and a small blue star at the bottom right.",
        "An orange house is at the top left, a pink heart is at the top right, two small yellow "
        "fish are at the bottom left, and a small blue star is at the bottom right.",
        "At the top left is an orange house, at the top right is a pink heart, at the bottom left "
        "are two small yellow fish, and at the bottom right is a small blue star.",
    ]
    assert said("corners", "ko", HOUSE, heart, FISH, STAR) == [
        "위에는 주황색 집과 분홍색 하트가, 아래에는 작은 노란 물고기 두 마리와 작은 파란 별이 "
        "왼쪽부터 차례로 있습니다.",
        "왼쪽 위에는 주황색 집이, 오른쪽 위에는 분홍색 하트가, 왼쪽 아래에는 작은 노란 물고기 두 "
        "마리가, 오른쪽 아래에는 작은 파란 별이 있습니다.",
        "왼쪽 위에 주황색 집을, 오른쪽 위에 분홍색 하트를, 왼쪽 아래에 작은 노란 물고기 두 "
        "마리를, 오른쪽 아래에 작은 파란 별을 그린 그림입니다.",
        "왼쪽 위에 주황색 집이 있고 오른쪽 위에 분홍색 하트가 있으며 왼쪽 아래에 작은 노란 물고기 "
        "두 마리가 있고 오른쪽 아래에 작은 파란 별이 있습니다.",
        "주황색 집은 왼쪽 위에, 분홍색 하트는 오른쪽 위에, 작은 노란 물고기 두 마리는 왼쪽 아래에, "
        "작은 파란 별은 오른쪽 아래에 있습니다.",
    ]


@pytest.mark.parametrize(
    ("layout", "english", "korean"),
    [
        (
            "row",
            "Three green trees are between an orange house and two small yellow fish.",
            "주황색 집과 작은 노란 물고기 두 마리 사이에 초록색 나무 세 그루가 있습니다.",
        ),
        (
            "column",
            "From top to bottom there is an orange house, three green trees and two small yellow "
            "fish.",
            "위에서부터 주황색 집, 초록색 나무 세 그루, 작은 노란 물고기 두 마리가 차례로 "
            "있습니다.",
        ),
        (
            "one above two",
            "Below an orange house, three green trees are to the left of two small yellow fish.",
            "주황색 집 아래에 초록색 나무 세 그루와 작은 노란 물고기 두 마리가 왼쪽부터 차례로 "
            "있습니다.",
        ),
        (
            "two above one",
            "Above two small yellow fish, an orange house is to the left of three green trees.",
            "작은 노란 물고기 두 마리 위에 주황색 집과 초록색 나무 세 그루가 왼쪽부터 차례로 "
            "있습니다.",
        ),
    ],
)
def test_three_groups_stand_in_relations(layout: str, english: str, korean: str) -> None:
    assert said(layout, "en", HOUSE, TREES, FISH)[0] == english
    assert said(layout, "ko", HOUSE, TREES, FISH)[0] == korean


def test_what_is_inside_the_second_of_two_is_not_said_to_hold_the_first() -> None:
    """ "집과 별이 든 원" would be a circle that holds a house and a star."""
    assert said("row", "ko", HOUSE, TREES, CIRCLE)[0] == (
        "주황색 집과 안에 작은 파란 별이 있는 큰 빨간 원 사이에 초록색 나무 세 그루가 있습니다."
    )


def drawn(count: int = 200) -> list[Scene]:
    return [
        *islice(scenes("train", 3), count),
        *islice(scenes("unseen combination", 3), count // 4),
    ]


NUMBERS = {"a": 1, "an": 1, "two": 2, "three": 3, "four": 4}
PLURALS = {noun.plural: kind for kind, noun in KINDS.items()} | {kind: kind for kind in KINDS}
PHRASE = re.compile(
    rf"\b({'|'.join(NUMBERS)}) (?:(small|big) )?({'|'.join(COLOURS)}) ({'|'.join(PLURALS)})\b",
    re.IGNORECASE,
)


def test_every_caption_names_all_things_as_often_as_they_are_there() -> None:
    for scene in drawn():
        there = Counter((each.size, each.colour, each.kind) for each in scene.things)
        for caption in captions(scene, "en"):
            named: Counter[tuple[str, str, str]] = Counter()
            for number, size, colour, kind in PHRASE.findall(caption.text):
                named[size, colour, PLURALS[kind]] += NUMBERS[number.lower()]
            assert named == there, caption.text


def named_boxes(scene: Scene, caption: SceneCaption) -> list[list[tuple[int, int, int, int]]]:
    return [
        [box(thing) for thing in scene.things if thing.label == noun.label]
        for noun in caption.nouns
    ]


def test_relations_hold_in_the_picture() -> None:
    checked: Counter[str] = Counter()
    for scene in drawn():
        if any(group.inner for group in scene.groups):
            continue  # nouns come in another order
        for caption in captions(scene, "en"):
            boxes = named_boxes(scene, caption)
            left = [min(each[0] for each in group) for group in boxes]
            top = [min(each[1] for each in group) for group in boxes]
            right = [max(each[2] for each in group) for group in boxes]
            bottom = [max(each[3] for each in group) for group in boxes]
            text = caption.text
            if len(boxes) == 2:
                facts = {
                    " is to the left of ": right[0] < left[1],
                    " are to the left of ": right[0] < left[1],
                    " to the right of ": left[0] > right[1],
                    " above ": bottom[0] < top[1],
                    " below ": top[0] > bottom[1],
                }
            else:
                facts = {
                    " between ": right[1] < left[0] and right[0] < left[2],
                    "From top to bottom": bottom[0] < top[1] and bottom[1] < top[2],
                    "Below ": bottom[0] < min(top[1], top[2]) and right[1] < left[2],
                    "Above ": top[0] > max(bottom[1], bottom[2]) and right[1] < left[2],
                    " below them ": right[0] < left[1]
                    and right[2] < left[-1]
                    and max(bottom[:2]) < min(top[2:]),
                }
            for words, fact in facts.items():
                if words in text:
                    assert fact, text
                    checked[words] += 1
    assert len(checked) == 10
    assert min(checked.values()) > 2


PLACES = {"left": (0, 1), "right": (0, -1), "top": (1, 1), "bottom": (1, -1)}


def test_places_hold_in_the_picture() -> None:
    """Of all groups said to be at some left or top, each lies before all said to be at its other
    end; "in the middle" lies between."""
    for scene in drawn(150):
        for caption in captions(scene, "en")[3:4] if len(scene.groups) != 1 else ():
            boxes = [
                [box(each) for each in scene.things if each.label == str(index)]
                for index in range(len(scene.groups))
            ]
            places = re.findall(
                r"(?:on|at|in) the ((?:top|bottom) (?:left|right)|left|right|top|bottom|middle)",
                caption.text,
            )
            assert len(places) == len(boxes), caption.text
            for place, each in zip(places, boxes, strict=True):
                for other_place, other in zip(places, boxes, strict=True):
                    if "top" in place and "bottom" in other_place:
                        assert max(b[3] for b in each) < min(b[1] for b in other)
                    same_half = place.split()[0] == other_place.split()[0] or " " not in place
                    if "left" in place and "right" in other_place and same_half:
                        assert max(b[2] for b in each) < min(b[0] for b in other)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_nouns_are_the_words_they_are_said_to_be(language: str) -> None:
    for scene in drawn(100):
        for caption in captions(scene, language):
            words = caption.text.split(" ")
            labels = {thing.label: thing for thing in scene.things}
            assert {noun.label for noun in caption.nouns} == set(labels)
            for noun in caption.nouns:
                kind = KINDS[labels[noun.label].kind]
                word = words[noun.word]
                if language == "ko":
                    assert word.startswith(kind.korean)
                else:
                    assert word.rstrip(".,") in (kind.english, kind.plural)


def test_captions_of_a_scene_differ() -> None:
    for scene in drawn(60):
        for language in ("en", "ko"):
            assert len({each.text for each in captions(scene, language)}) == 5
