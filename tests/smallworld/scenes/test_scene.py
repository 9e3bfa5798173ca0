"""Scenes: what they hold, which split they are in, and that nothing is left to chance."""

from itertools import combinations, islice

import pytest

from jumok.errors import ConfigError
from smallworld.scenes.drawing import box
from smallworld.scenes.layout import LAYOUTS
from smallworld.scenes.scene import SPLITS, scenes, split_of
from smallworld.scenes.shapes import SHAPES
from smallworld.scenes.world import CANVAS, COLOURS, CONTAINER, HELD_OUT, KINDS, SIZES, Thing

DRAWN = list(islice(scenes("train", 1), 250))


def test_scenes_are_a_function_of_their_arguments() -> None:
    assert list(islice(scenes("test", 7), 5)) == list(islice(scenes("test", 7), 5))
    assert list(islice(scenes("test", 7), 5)) != list(islice(scenes("test", 8), 5))


def test_scenes_hold_two_to_six_things_in_every_layout() -> None:
    assert {len(scene.things) for scene in DRAWN} == {2, 3, 4, 5, 6}
    assert {scene.layout for scene in DRAWN} == set(LAYOUTS)
    for scene in DRAWN:
        assert sum(group.things for group in scene.groups) == len(scene.things)


def test_sizes_are_told_apart_by_a_gap() -> None:
    assert SIZES["small"][1] + 5 < SIZES[""][0]
    assert SIZES[""][1] + 5 < SIZES["big"][0]
    for scene in DRAWN:
        for thing in scene.things:
            index = int(thing.label[0])
            holds = scene.groups[index].inner is not None and thing.label == str(index)
            least, most = CONTAINER if holds else SIZES[thing.size]
            assert least <= thing.side <= most


def inside(inner: Thing, outer: Thing) -> bool:
    return inner.label == outer.label + "i"


def test_things_stay_on_the_canvas_and_overlap_where_one_holds_the_other_alone() -> None:
    for scene in DRAWN:
        for thing in scene.things:
            left, top, right, bottom = box(thing)
            assert 0 <= left < right <= CANVAS
            assert 0 <= top < bottom <= CANVAS
        for first, second in combinations(scene.things, 2):
            a, b = box(first), box(second)
            apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
            if inside(second, first):
                assert a[0] <= b[0] < b[2] <= a[2]
                assert a[1] <= b[1] < b[3] <= a[3]
            else:
                assert apart


def test_splits_share_no_list_of_things() -> None:
    lists = {split: {scene.inventory for scene in islice(scenes(split, 2), 80)} for split in SPLITS}
    for first, second in combinations(SPLITS, 2):
        assert not lists[first] & lists[second]
    assert all(split_of(each) == "test" for each in lists["test"])


def test_unseen_combinations_join_colours_with_kinds_that_training_never_joins() -> None:
    def joined(split: str) -> list[set[tuple[str, str]]]:
        return [
            {(thing.colour, thing.kind) for thing in scene.things}
            for scene in islice(scenes(split, 1), 250)
        ]

    assert {kind for _, kind in HELD_OUT} == set(KINDS)
    assert {colour for colour, _ in HELD_OUT} == set(COLOURS)
    assert all(each & HELD_OUT for each in joined("unseen combination"))
    seen = set().union(*joined("train"))
    assert not seen & HELD_OUT
    assert {kind for _, kind in seen} == set(KINDS)
    assert {colour for colour, _ in seen} == set(COLOURS)


def test_every_kind_fits_its_square() -> None:
    assert set(SHAPES) == set(KINDS)
    for kind, parts in SHAPES.items():
        points = [point for part in parts for point in part.points]
        assert max(max(abs(x), abs(y)) for x, y in points) <= 1.02, kind
        assert max(x for x, _ in points) - min(x for x, _ in points) >= 1.1, kind


def test_a_split_that_is_not_is_named() -> None:
    with pytest.raises(ConfigError, match=r"no such split of scenes.*\n.*unseen combination"):
        scenes("dev")
