"""Drawn pictures, their captions, and who points where."""

from random import Random

import numpy as np
import torch

from jumok.data.tokenizer import END, PAD, START
from jumok_lectures.experiments import looking
from jumok_lectures.experiments.looking import CaptionScores, DrawnScene
from jumok_lectures.findings import Grid
from jumok_lectures.text import same

PICTURE = DrawnScene(
    np.zeros((3, 32, 32), dtype=np.uint8), (((8, 0), "red", "disc"), ((13, 9), "blue", "square"))
)


def test_a_picture_shows_its_things_in_their_boxes_and_nothing_elsewhere() -> None:
    picture = looking.draw(Random(3))
    coloured = (picture.pixels != picture.pixels[0]).any(0)  # the ground is grey
    assert len(picture.words) == 3 * len(picture.things) - 1
    for (left, top), _, _ in picture.things:
        assert coloured[top : top + 8, left : left + 8].any()
        coloured[top : top + 8, left : left + 8] = False
    assert not coloured.any()
    # Somewhere a thing lies across the border of two cells.
    corners = [corner for seed in range(20) for corner, *_ in looking.draw(Random(seed)).things]
    assert any(left % 8 or top % 8 for left, top in corners)


def test_shapes_differ_and_fit_into_a_cell() -> None:
    stencils = {shape: looking.stencil(shape) for shape in looking.SHAPES}
    assert stencils["square"].sum() == 36  # 6 x 6
    assert stencils["cross"].sum() == 2 * 2 * 8 - 4  # two bars of 2 x 8 share 2 x 2
    assert not np.array_equal(stencils["disc"], stencils["square"])


def test_a_batch_holds_captions_shifted_by_one() -> None:
    words = [looking.FIRST + looking.WORDS.index(word) for word in PICTURE.words]
    short = DrawnScene(PICTURE.pixels, PICTURE.things[:1])
    batch = looking.batch_of([PICTURE, short])
    assert batch.target_input[0].tolist() == [START, *words]
    assert batch.target_output[0].tolist() == [*words, END]
    assert batch.target_output[1].tolist() == [*words[:2], END, PAD, PAD, PAD]
    assert batch.targets == 6 + 3


def test_a_noun_points_at_the_thing_of_its_colour() -> None:
    weights = torch.zeros(5, 64)
    weights[1, 10] = weights[4, 10] = 1.0  # both nouns look at the disc's cell
    disc, square = looking.named(PICTURE, PICTURE.words, weights, colours=False)
    assert disc.boxes == [(8, 0, 16, 8)]
    assert square.boxes == [(13, 9, 21, 17)]
    assert looking.scored([disc, square])[0] == 50.0
    red, blue = looking.named(PICTURE, PICTURE.words, weights, colours=True)
    assert [red.boxes, blue.boxes] == [disc.boxes, square.boxes]
    # The square lies on nine cells: rows 3 to 5, columns 4 to 6.
    assert looking._cells((13, 9)) == [19, 20, 21, 27, 28, 29, 35, 36, 37]


def test_a_noun_that_names_nothing_there_is_a_miss() -> None:
    weights = torch.full((2, 64), 1 / 64)
    (look,) = looking.named(PICTURE, ["green", "disc"], weights, colours=False)
    assert look.boxes == []


def test_words_look_once_each_and_their_weights_sum_to_one() -> None:
    torch.manual_seed(1)
    model = looking.build("grid").eval()
    weights = looking.looks(model, PICTURE, PICTURE.words)
    assert weights.shape == (5, 64)
    torch.testing.assert_close(weights.sum(1), torch.ones(5))
    assert looking.build("one").cross_sites == ()


def test_the_claim_needs_pointing_and_better_captions() -> None:
    grid = Grid(same(""), ["a"], ["b"], [[1.0]], same(""), same(""))

    def written(right: float, pointing: float) -> list[CaptionScores]:
        return [CaptionScores(right + x, (pointing + x, 60.0, 6.0), 80.0, grid) for x in (0.0, 1.0)]

    one = [CaptionScores(20.0), CaptionScores(21.0)]
    assert looking.report(one, written(80.0, 90.0)).outcome == "holds"
    assert looking.report(one, written(80.0, 40.0)).outcome == "partly"
    assert looking.report(one, written(20.0, 40.0)).outcome == "fails"
