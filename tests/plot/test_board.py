"""The numbers of maps, by hand: words from pieces, and rows at the step that writes or reads."""

from dataclasses import replace

import numpy as np
import pytest

from jumok.alignment.setting import AlignmentSetting
from jumok.errors import ModelError
from jumok.inspection.trace import Axis
from jumok.plot.board import board, chosen_site, matrix
from tests.inspection.traces import found, trace


def test_words_are_looked_at_by_all_their_pieces_and_look_as_these_do_on_average():
    recorded = trace(source=("a", "b"), target=("c", "d", "e"), layers=1, heads=1)
    site = chosen_site(recorded, "cross", None)
    source = Axis(("a", "b", "</s>"), (0, 0, None), ("ab",))
    target = Axis(("<s>", "c", "d", "e"), (None, 0, 0, 1), ("cd", "e"))
    words = replace(recorded, axes={"source": source, "target": target})
    values = np.array(
        [[0.1, 0.2, 0.7], [0.3, 0.1, 0.6], [0.5, 0.5, 0.0], [0.0, 0.25, 0.75]], dtype=np.float32
    )
    written = board(words, site, values, reading="writes")
    assert (written.rows, written.columns) == (("cd", "e"), ("ab",))
    np.testing.assert_allclose(written.values, [[(0.3 + 0.4) / 2], [1.0]], atol=1e-6)
    read = board(words, site, values, reading="reads")
    np.testing.assert_allclose(read.values, [[(0.4 + 1.0) / 2], [0.25]], atol=1e-6)
    pieces = board(words, site, values, "pieces", "writes")
    assert pieces.rows == ("c", "d", "e", "⏎")
    np.testing.assert_array_equal(pieces.values, values)


def test_reading_is_that_of_the_models_alignments_where_nobody_says():
    recorded = trace()
    site = chosen_site(recorded, None, None)
    assert (site.part, site.layer) == ("cross", 0), "where alignments are read"
    values = matrix(site, "mean")
    at_input = found(recorded, setting=AlignmentSetting(0, at_input=True))
    for each, name in ((recorded, "writes"), (at_input, "reads")):
        left = board(each, site, values).values
        np.testing.assert_array_equal(left, board(each, site, values, reading=name).values)


def test_an_encoder_has_no_step_that_writes():
    recorded = trace()
    site = chosen_site(recorded, "encoder", 1)
    for name in ("writes", "reads"):
        found = board(recorded, site, site.weights[0], "words", name)
        np.testing.assert_allclose(found.values, site.weights[0, :3, :3], atol=1e-7)


def test_norms_are_shares_of_their_row():
    site = chosen_site(trace(), "cross", 1)
    shares = matrix(site, "mean", "norms")
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-6)
    np.testing.assert_allclose(shares * site.norms.sum(1, keepdims=True), site.norms, atol=1e-6)


def test_what_is_not_there_is_said():
    recorded = trace()
    with pytest.raises(ModelError, match=r"no such layer\.\n  expected: one of 1, 2\n"):
        chosen_site(recorded, "cross", 3)
    with pytest.raises(ModelError, match=r"no such attention\.\n  expected: cross or enc"):
        chosen_site(recorded, "image", None)
    with pytest.raises(ModelError, match=r"no such head\.\n  expected: 1 to 3\n  got:      4"):
        matrix(chosen_site(recorded, "cross", 0), 3)
    with pytest.raises(ModelError, match="no norms were recorded"):
        matrix(replace(chosen_site(recorded, "cross", 0), norms=None), "mean", "norms")
    with pytest.raises(ModelError, match="expected: a model that has attention"):
        chosen_site(replace(recorded, sites=()), None, None)
