"""Boxes recomputed from the pixels, and colours read off them."""

from collections import Counter
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from jumok.errors import MissingExtraError
from smallworld.scenes.drawing import box, render
from smallworld.scenes.scene import scenes
from smallworld.scenes.world import CANVAS, KINDS, Scene
from tests.missing import uninstall


def test_the_same_scene_gives_the_same_pixels() -> None:
    scene = next(scenes("train", 5))
    assert render(scene).tobytes() == render(scene).tobytes()
    assert render(scene).size == (CANVAS, CANVAS)
    assert render(scene).mode == "RGB"


def without(scene: Scene, index: int) -> Scene:
    return replace(scene, things=scene.things[:index] + scene.things[index + 1 :])


def test_a_box_holds_all_pixels_of_its_thing_and_little_more() -> None:
    met: Counter[str] = Counter()
    for scene in islice(scenes("train", 2), 40):
        whole = np.asarray(render(scene)).astype(int)
        for index, thing in enumerate(scene.things):
            changed = np.abs(whole - np.asarray(render(without(scene, index)))).max(2) > 0
            rows, columns = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
            left, top, right, bottom = box(thing)
            assert left <= columns[0] <= left + 2, thing
            assert right - 3 <= columns[-1] < right, thing
            assert top <= rows[0] <= top + 2, thing
            assert bottom - 3 <= rows[-1] < bottom, thing
            met[thing.kind] += 1
    assert set(met) == set(KINDS)


def test_things_show_their_own_shade() -> None:
    for scene in islice(scenes("train", 4), 20):
        pixels = np.asarray(render(scene)).reshape(-1, 3).astype(int)
        for thing in scene.things:
            assert (np.abs(pixels - np.array(thing.rgb)).max(1) <= 1).sum() > 12, thing


def test_drawing_names_the_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = next(scenes())
    uninstall(monkeypatch, "PIL")
    with pytest.raises(MissingExtraError, match=r"jumok\[images\]"):
        render(scene)
