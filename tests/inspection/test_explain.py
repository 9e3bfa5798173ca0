"""A row redone is the row that was recorded."""

from dataclasses import replace

import numpy as np
import pytest

from jumok.alignment.setting import AlignmentSetting
from jumok.errors import DataError, ModelError
from jumok.inspection.explain import choose, explain, row_name, rows_of
from jumok.inspection.trace_file import load_trace
from tests.inspection.traces import found, trace


def test_a_row_adds_up():
    recorded = trace()
    for site in recorded.sites:
        for row in range(site.weights.shape[1]):
            found = explain(recorded, site, row, head=1)
            assert sum(look.weight for look in found.looks) == pytest.approx(1.0)
            assert found.recorded < 1e-6
            expected = site.query[1, row] @ site.key[1].T
            np.testing.assert_allclose([look.product for look in found.looks], expected, rtol=1e-5)


def test_what_is_given_is_weight_times_the_length_of_the_value():
    recorded = trace()
    site = recorded.sites[0]
    (look, *_) = explain(recorded, site, 0, head=0).looks
    assert look.given == pytest.approx(look.weight * np.linalg.norm(site.value[0, 0]), rel=1e-5)


def test_the_sharpest_head_is_taken_where_none_is_named():
    recorded = trace()
    site = recorded.sites[0]
    assert explain(recorded, site, 2).head == site.weights[:, 2].max(axis=1).argmax()


@pytest.mark.parametrize(
    ("word", "part", "expected"),
    [
        ("cat", None, ("encoder", 1)),
        ("뛰었다", None, ("cross", 1)),  # the step that writes it, where this model is read
        ("뛰었다", "decoder", ("decoder", 1)),
        ("3", "encoder", ("encoder", 2)),
    ],
)
def test_a_row_is_found_by_its_word_or_number(word, part, expected):
    site, row = choose(trace(), word, part, layer=0)
    assert ((site.part, row), site.layer) == (expected, 0)


def test_a_written_word_is_read_where_the_alignments_are_read():
    recorded = trace()
    assert choose(recorded, "뛰었다", "cross", None, at_input=True)[1] == 2
    at_input = found(recorded, setting=AlignmentSetting(1, at_input=True))
    site, row = choose(at_input, "뛰었다", "cross", None)
    assert (site.layer, row) == (1, 2)
    assert row_name(at_input, site, 1) == "step 2: has read 고양이가, writes 뛰었다"
    assert row_name(at_input, site, 2) == "step 3: has read 뛰었다, writes </s>"
    assert row_name(recorded, recorded.sites[0], 1) == "row 2: cat"


def test_the_row_of_a_word_in_pieces_is_the_strongest_and_no_mark_of_a_space():
    recorded = trace(source=("▁", "c", "at", "ran"))
    source = recorded.axes["source"]
    whole = replace(source, words=(0, 0, 0, 1, None), texts=("cat", "ran"))
    pieces = replace(recorded, axes={**recorded.axes, "source": whole})
    site, row = choose(pieces, "cat", None, layer=0)
    assert rows_of(pieces, site, "cat") == [1, 2]
    assert row == 1 + site.weights[:, 1:3].max(axis=(0, 2)).argmax()
    assert choose(pieces, "c", None, layer=0)[1] == 1


def test_a_word_is_found_without_its_punctuation_which_is_no_row_of_it():
    recorded = trace(source=("▁", "(", "c", "at", '".', "?!"))
    axis = recorded.axes["source"]
    words = replace(axis, words=(0, 0, 0, 0, 0, 1), texts=('(cat".', "?!"))
    pieces = replace(recorded, axes=recorded.axes | {"source": words})
    (site,) = (each for each in pieces.sites if each.part == "encoder" and each.layer == 0)
    assert rows_of(pieces, site, "cat") == rows_of(pieces, site, '(cat".') == [2, 3]
    assert rows_of(pieces, site, "?!") == [5]
    assert rows_of(pieces, site, "ca") == []


def test_a_word_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(DataError) as caught:
        choose(trace(), "dog", None, None)
    assert "source: a cat ran </s>" in str(caught.value)
    assert "'dog'" in str(caught.value)


def test_heads_and_layers_that_do_not_exist_are_refused():
    recorded = trace()
    with pytest.raises(ModelError, match="no such head"):
        explain(recorded, recorded.sites[0], 0, head=3)
    with pytest.raises(ModelError, match=r"no such layer.*\n.*1 to \d; in Python from 0"):
        choose(recorded, "cat", None, layer=2)


def test_scores_that_are_neither_products_nor_additive_are_not_explained():
    recorded = trace()
    site = replace(recorded.sites[0], kind="distance", scale=None)
    with pytest.raises(ModelError, match="cannot be recomputed from the vectors") as caught:
        explain(recorded, site, 0)
    assert "got:      the attention 'distance'" in str(caught.value)


def test_a_score_without_a_scale_is_saved_and_read(tmp_path):
    recorded = trace()
    site = replace(recorded.sites[0], kind="distance", scale=None)
    replace(recorded, sites=(site,)).save(tmp_path / "t.trace")
    (found,) = load_trace(tmp_path / "t.trace").sites
    assert (found.kind, found.scale) == ("distance", None)
