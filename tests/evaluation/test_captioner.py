"""Where a captioner's looks are read: at the head that points best."""

from dataclasses import replace

import pytest

from jumok.alignment.setting import AlignmentSetting
from jumok.bundle.reading import read_bundle
from jumok.data.captions.boxes import Boxes, GroundedNoun
from jumok.data.captions.corpus import Captioned
from jumok.evaluation.captioner import Pointed, choose_pointing_setting
from jumok.evaluation.pointing import Gold
from jumok.systems.captioner import Captioner
from jumok.systems.loading import reading_of
from tests.systems.pictures import write_captioner, write_pictures

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
