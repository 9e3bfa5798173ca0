"""A trace as a table: one row for each head, query and key."""

import sys

import numpy as np
import pandas
import pytest

import jumok
from jumok.errors import MissingExtraError

COLUMNS = [*("part", "layer", "head", "query", "query_token", "key", "key_token", "weight", "norm")]


@pytest.fixture(scope="module")
def trace(tiny_bundle) -> jumok.Trace:
    return jumok.trace(jumok.load(tiny_bundle, device="cpu"), "the cat sat", "고양이가 앉았다")


def test_every_weight_has_one_row_where_it_was_recorded(trace):
    frame = trace.to_frame()
    assert list(frame.columns) == COLUMNS
    count = sum(
        site.weights.size if site.allowed is None else len(site.weights) * site.allowed.sum()
        for site in trace.sites
    )
    assert len(frame) == count
    assert {"cross", "encoder", "decoder"} == set(frame.part)
    for site in trace.sites:
        rows = frame[(frame.part == site.part) & (frame.layer == site.layer)]
        found = site.weights[rows["head"], rows["query"], rows["key"]]
        assert (rows.weight.to_numpy() == found).all()
        assert np.allclose(rows.norm, site.norms[rows["query"], rows["key"]])
        tokens = np.array(trace.axes[site.queries].tokens)[rows["query"]]
        assert (rows.query_token == tokens).all()
        tokens = np.array(trace.axes[site.keys].tokens)[rows["key"]]
        assert (rows.key_token == tokens).all()


def test_groups_of_the_table_are_the_rows_of_attention(trace):
    frame = trace.to_frame()
    sums = frame.groupby(["part", "layer", "head", "query"]).weight.sum()
    assert np.allclose(sums, 1, atol=1e-5)


def test_rows_without_pandas_are_those_of_the_frame(trace, monkeypatch):
    frame = trace.to_frame()
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pandas", None)
        rows = list(trace.to_rows())
        with pytest.raises(MissingExtraError) as error:
            trace.to_frame()
    assert list(rows[0]) == COLUMNS
    assert type(rows[0]["weight"]) is float
    assert type(rows[0]["query"]) is int
    pandas.testing.assert_frame_equal(
        pandas.DataFrame(rows), frame, check_dtype=False, check_exact=False
    )
    assert str(error.value) == (
        "a trace as a table of pandas needs the extra 'research', which is not installed.\n"
        '  do:       pip install "jumok[research]"'
    )


def test_weights_without_norms_have_none_in_the_table():
    frame = jumok.trace_of(np.full((1, 1, 2, 2), 0.5, np.float32), ["a", "b"]).to_frame()
    assert frame.norm.isna().all()
    assert len(frame) == 4
