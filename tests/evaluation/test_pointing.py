"""Pointing on grids small enough to see."""

from dataclasses import replace

import numpy as np
import pytest

from jumok.alignment.setting import AlignmentSetting
from jumok.bundle.reading import read_bundle
from jumok.data.captions.boxes import Boxes, GroundedNoun
from jumok.data.captions.corpus import Captioned
from jumok.errors import DataError
from jumok.evaluation.captioner import Pointed, choose_pointing_setting
from jumok.evaluation.pointing import Gold, NamedBoxes, NounAttention, cover, points, score_pointing
from jumok.systems.captioner import Captioner
from jumok.systems.loading import reading_of
from tests.systems.pictures import write_captioner, write_pictures

# A grid of 2 rows and 3 columns over 20 x 60 pixels: cells of 10 x 20.
HERE = np.array([[0.1, 0.0, 0.2], [0.1, 0.5, 0.1]])


def look(*boxes: tuple[int, int, int, int]) -> NounAttention:
    return NounAttention(HERE, boxes, height=20, width=60)


def test_points_asks_for_the_middle_of_the_highest_cell() -> None:
    """The highest cell is row 1, column 1; its middle is x = 30, y = 15."""
    assert points(look((30, 15, 31, 16)))
    assert points(look((0, 0, 5, 5), (25, 12, 35, 18)))
    assert not points(look((20, 10, 30, 20)))  # ends before 30: the right side is excluded
    assert points(look((20, 10, 30, 20)), tolerance=1.0)
    assert not points(look((0, 0, 60, 15)))
    assert not points(look())


def test_cover_is_the_share_of_each_cell_inside_the_boxes() -> None:
    assert cover(look((10, 5, 40, 20))).tolist() == [[0.25, 0.5, 0.0], [0.5, 1.0, 0.0]]
    twice = cover(look((0, 0, 20, 10), (10, 0, 20, 10)))  # where boxes overlap they count once
    assert twice.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_cover_splits_pixels_that_cells_share() -> None:
    """Two columns over 3 pixels: the box is the middle pixel, half of it in either column."""
    shares = cover(NounAttention(np.ones((1, 2)), [(1, 0, 2, 1)], height=1, width=3))
    assert shares == pytest.approx(np.array([[1 / 3, 1 / 3]]))


def test_score_pointing_counts_nouns_and_the_attention_inside() -> None:
    accuracy, inside, even = score_pointing([look((20, 10, 40, 20)), look((0, 0, 20, 10)), look()])
    assert accuracy.value == pytest.approx(100 / 3)
    assert inside.value == pytest.approx(100 * (0.5 + 0.1 + 0) / 3)
    assert even.value == pytest.approx(100 * (1 / 6 + 1 / 6) / 3)
    assert accuracy.signature == "nouns:3|cell:highest|tolerance:0px"


def test_score_pointing_does_not_mind_the_sum_of_the_attention() -> None:
    doubled = NounAttention(2 * HERE, [(20, 10, 40, 20)], 20, 60)
    assert score_pointing([doubled])[1].value == pytest.approx(50)
    nothing = NounAttention(np.zeros((2, 3)), [(20, 10, 40, 20)], 20, 60)
    assert score_pointing([nothing])[1].value == 0


def test_score_pointing_wants_a_noun() -> None:
    with pytest.raises(DataError, match="no noun to score"):
        score_pointing([])


CIRCLE, STAR, OTHER = (0, 0, 5, 5), (5, 5, 9, 9), (9, 0, 12, 3)
BOXES = {
    "a.png": Boxes(
        ("circle", "star", "circle"),
        (CIRCLE, STAR, OTHER),
        ((GroundedNoun(2, (0,)), GroundedNoun(5, (1,))),),
    ),
    "b.png": Boxes(("star",), (STAR,), ((GroundedNoun(1, (0,)),),)),
}
WRITTEN = [
    Captioned("a.png", ("A red circle with a star.",), 1),
    Captioned("b.png", ("A star,",), 2),
]


def test_gold_nouns_of_a_persons_caption_are_its_own() -> None:
    gold = Gold(BOXES, WRITTEN)
    assert gold.nouns("a.png", "A red circle with a star.") == [
        NamedBoxes(2, (CIRCLE,)),
        NamedBoxes(5, (STAR,)),
    ]


def test_gold_nouns_of_another_caption_mean_all_things_of_their_kind() -> None:
    gold = Gold(BOXES, WRITTEN)
    assert gold.nouns("a.png", "Circle and star") == [
        NamedBoxes(0, (CIRCLE, OTHER)),
        NamedBoxes(2, (STAR,)),
    ]
    assert gold.nouns("b.png", "a circle.") == [NamedBoxes(1, ())]
    with pytest.raises(DataError, match="no boxes for this image"):
        gold.nouns("c.png", "a circle")


@pytest.mark.parametrize(
    ("nouns", "message"),
    [
        (((GroundedNoun(2, (0,)),), ()), "belong to other captions"),
        (((GroundedNoun(6, (0,)),),), "a word that its caption lacks"),
    ],
)
def test_boxes_of_other_captions_are_refused(
    nouns: tuple[tuple[GroundedNoun, ...], ...], message: str
) -> None:
    boxes = {"a.png": Boxes(("circle",), (CIRCLE,), nouns)}
    with pytest.raises(DataError, match=message):
        Gold(boxes, WRITTEN[:1])


TEXT = "the cat sat on the mat"
SIDE = 8  # pixels; the grid has 4 x 4 cells


@pytest.mark.parametrize(
    "reading",
    [
        AlignmentSetting(1, at_input=False, head=2),
        AlignmentSetting(0, at_input=True),
        AlignmentSetting(1, True, 0),
    ],
)
def test_the_head_that_points_best_is_chosen(tmp_path, reading):
    """Each noun's box is the cell that this reading looks at most."""
    captioner = Captioner.load(write_captioner(tmp_path / "model"), device="cpu")
    files = write_pictures(tmp_path / "pictures", 3)
    pictures = [captioner.read(file) for file in files]
    (looks,) = captioner.look_at([reading], pictures, [TEXT] * 3)
    known = {}
    for file, seen in zip(files, looks, strict=True):
        cells = [divmod(int(weights.argmax()), 4) for weights in seen.weights]
        boxes = tuple((2 * x, 2 * y, 2 * x + 2, 2 * y + 2) for y, x in cells)
        nouns = tuple(GroundedNoun(word, (word,)) for word in range(len(cells)))
        known[file.name] = Boxes(("thing",) * len(cells), boxes, (nouns,))
    names = [file.name for file in files]
    written = [Captioned(name, (TEXT,), 1) for name in names]
    pointed = Pointed(names, [(SIDE, SIDE)] * 3, Gold(known, written))
    assert choose_pointing_setting(captioner, pictures, [TEXT] * 3, pointed) == reading


def test_a_bundle_says_where_it_is_read(tmp_path):
    config = read_bundle(write_captioner(tmp_path / "model")).config
    assert reading_of(config) == AlignmentSetting(0, at_input=False)
    told = replace(config, alignment_layer=1, alignment_at_input=True, alignment_head=2)
    assert reading_of(told) == AlignmentSetting(1, at_input=True, head=2)
    assert reading_of(replace(config, alignment_layer=None)) is None
