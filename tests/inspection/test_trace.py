"""A trace, its file and its table; a trace of one model is not used with another."""

import dataclasses
import json
import shutil
import sys
import zipfile

import numpy as np
import pandas
import pytest
from safetensors.torch import load_file, save_file

import jumok
from jumok.bundle.fingerprint import fingerprint_in
from jumok.bundle.reading import WEIGHTS
from jumok.errors import BundleError, DataError, MissingExtraError
from jumok.inspection.trace import HEAD, TRACE_FORMAT
from jumok.inspection.trace_file import load_trace, same_model
from jumok.tracing.comparison import context_similarity
from tests.bundle.conftest import sign
from tests.inspection.traces import HOSTILE, trace


def test_saved_trace_comes_back_as_it_was(tmp_path):
    recorded = trace(source=HOSTILE)
    recorded.save(tmp_path / "t.npz")
    loaded = load_trace(tmp_path / "t.npz")
    assert loaded.head() == recorded.head()
    for ours, theirs in zip(loaded.sites, recorded.sites, strict=True):
        for name in ("weights", "norms", "query", "key", "value"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_level_weights_holds_no_vectors(tmp_path):
    full = trace()
    bare = [dataclasses.replace(s, query=None, key=None, value=None) for s in full.sites]
    dataclasses.replace(full, level="weights", sites=tuple(bare)).save(tmp_path / "t.npz")
    assert load_trace(tmp_path / "t.npz").sites[0].query is None


def broken(tmp_path, change) -> str:
    file = tmp_path / "t.npz"
    trace().save(file)
    change(file)
    with pytest.raises(BundleError) as caught:
        load_trace(file)
    return str(caught.value)


def test_a_trace_that_is_cut_off_is_refused(tmp_path):
    message = broken(tmp_path, lambda file: file.write_bytes(file.read_bytes()[:900]))
    assert "not a trace, or it is truncated or edited" in message


def rewritten(file, **changes) -> None:
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(parts[HEAD]) | changes
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in (parts | {HEAD: json.dumps(head).encode()}).items():
            archive.writestr(name, part)


def test_an_edited_trace_is_refused(tmp_path):
    def edit(file):
        axes = {"source": {"tokens": ["x"], "words": [0], "texts": ["x"]}}
        rewritten(file, axes=axes | {"target": axes["source"]})

    assert "do not fit its tokens" in broken(tmp_path, edit)


def test_numbers_that_were_edited_are_noticed(tmp_path):
    def edit(file):
        with zipfile.ZipFile(file) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        parts["0.weights.npy"] = parts["1.weights.npy"]
        with zipfile.ZipFile(file, "w") as archive:
            for name, part in parts.items():
                archive.writestr(name, part)

    assert "its digest is not that of what is in it" in broken(tmp_path, edit)
    assert "its digest is not" in broken(tmp_path, lambda file: rewritten(file, model="other"))


def test_a_file_of_another_kind_is_refused(tmp_path):
    def replace_by_arrays(file):
        np.savez(file.with_suffix(""), np.zeros(3))

    assert "not a trace" in broken(tmp_path, replace_by_arrays)


def test_a_trace_of_another_format_is_refused(tmp_path):
    newer = broken(tmp_path, lambda file: rewritten(file, format=TRACE_FORMAT + 1))
    assert "another format" in newer
    assert "pip install --upgrade jumok" in newer
    older = broken(tmp_path, lambda file: rewritten(file, format=3))
    assert "got:      format 3" in older
    assert "record it again with this jumok" in older


def test_a_trace_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BundleError, match="no such trace"):
        load_trace(tmp_path / "none.npz")


def test_numbers_that_cannot_be_unpacked_are_no_trace(tmp_path):
    def flip(file):
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 0xFF
        file.write_bytes(content)

    assert "not a trace" in broken(tmp_path, flip)
    with pytest.raises(BundleError, match="not a trace"):
        load_trace(tmp_path)


def test_a_trace_is_there_whole_or_not_at_all(tmp_path):
    with pytest.raises(DataError, match="cannot be written"):
        trace().save(tmp_path / "nowhere" / "t.npz")
    trace().save(tmp_path / "t.npz")
    assert [each.name for each in tmp_path.iterdir()] == ["t.npz"]


@pytest.fixture(scope="module")
def other(tiny_bundle, tmp_path_factory):
    """The bundle with one number changed."""
    folder = shutil.copytree(tiny_bundle, tmp_path_factory.mktemp("other") / "model")
    tensors = load_file(folder / WEIGHTS)
    next(iter(tensors.values())).view(-1)[0] += 1e-3
    save_file(tensors, folder / WEIGHTS)
    sign(folder)
    return folder


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("ab-1", "ab-1", True),
        ("ab-1", "ab-2", False),
        ("ab-1", "ac-1", False),
        ("ab-1", "ab", True),
        ("ab-1+cd-2", "ab-1+cd-2", True),
        ("ab-1+cd-2", "cd-2+ab-1", False),
        ("ab-1+cd-2", "ab-1", False),
        ("", "ab-1", False),
    ],
)
def test_fingerprints_are_compared_as_far_as_both_are_known(one, two, same):
    assert same_model(one, two) == same_model(two, one) == same


def test_every_trace_carries_the_fingerprint_and_its_file_too(tiny_bundle, tmp_path):
    system = jumok.load(tiny_bundle, device="cpu")
    traced = jumok.trace(system, "the cat", "개가")
    with jumok.record(system) as recording:
        system.translate(["the cat", "the dog"], beam=2)
    with jumok.record(system.models[0]) as alone:
        system.translate(["the cat"], beam=1)
    heard, bare = recording.trace, alone.trace
    wanted = fingerprint_in(tiny_bundle)
    every = [traced, heard.tree, *recording.traces]
    assert len(every) == 4
    assert {each.fingerprint for each in every} == {wanted}
    assert bare.fingerprint == wanted.partition("-")[0], "nobody knows the config of a bare model"
    traced.save(tmp_path / "t.npz")
    for of in (None, tiny_bundle, str(tiny_bundle), system, heard):
        assert load_trace(tmp_path / "t.npz", of=of).fingerprint == wanted


def test_a_trace_of_another_model_is_refused(tiny_bundle, other, tmp_path):
    jumok.trace(jumok.load(tiny_bundle), "the cat", "개가").save(tmp_path / "t.npz")
    with pytest.raises(BundleError) as caught:
        load_trace(tmp_path / "t.npz", of=other)
    message = str(caught.value)
    assert f"{tmp_path / 't.npz'}: this trace is of another model." in message
    assert f"expected: the model in {other}, with the fingerprint {fingerprint_in(other)}" in (
        message
    )
    assert f"got:      a trace of 'model', with the fingerprint {fingerprint_in(tiny_bundle)}" in (
        message
    )
    assert "do:       give the model that it was recorded with, or record it again" in message


def test_a_trace_that_does_not_say_is_refused(tiny_bundle, tmp_path):
    trace().save(tmp_path / "t.npz")
    with pytest.raises(BundleError, match="with the fingerprint unknown"):
        load_trace(tmp_path / "t.npz", of=tiny_bundle)


def test_words_of_two_models_are_not_compared():
    one, two = (dataclasses.replace(trace(), fingerprint=each) for each in ("ab-1", "cd-1"))
    with pytest.raises(BundleError) as caught:
        context_similarity(one, two)
    assert "these traces are of two models, whose vectors cannot be compared." in str(caught.value)
    assert "got:      one of 'tiny', with the fingerprint cd-1" in str(caught.value)


COLUMNS = [*("part", "layer", "head", "query", "query_token", "key", "key_token", "weight", "norm")]


@pytest.fixture(scope="module")
def traced(tiny_bundle) -> jumok.Trace:
    return jumok.trace(jumok.load(tiny_bundle, device="cpu"), "the cat sat", "고양이가 앉았다")


def test_every_weight_has_one_row_where_it_was_recorded(traced):
    frame = traced.to_frame()
    assert list(frame.columns) == COLUMNS
    count = sum(
        site.weights.size if site.allowed is None else len(site.weights) * site.allowed.sum()
        for site in traced.sites
    )
    assert len(frame) == count
    assert {"cross", "encoder", "decoder"} == set(frame.part)
    for site in traced.sites:
        rows = frame[(frame.part == site.part) & (frame.layer == site.layer)]
        found = site.weights[rows["head"], rows["query"], rows["key"]]
        assert (rows.weight.to_numpy() == found).all()
        assert np.allclose(rows.norm, site.norms[rows["query"], rows["key"]])
        tokens = np.array(traced.axes[site.queries].tokens)[rows["query"]]
        assert (rows.query_token == tokens).all()
        tokens = np.array(traced.axes[site.keys].tokens)[rows["key"]]
        assert (rows.key_token == tokens).all()


def test_groups_of_the_table_are_the_rows_of_attention(traced):
    frame = traced.to_frame()
    sums = frame.groupby(["part", "layer", "head", "query"]).weight.sum()
    assert np.allclose(sums, 1, atol=1e-5)


def test_rows_without_pandas_are_those_of_the_frame(traced, monkeypatch):
    frame = traced.to_frame()
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pandas", None)
        rows = list(traced.to_rows())
        with pytest.raises(MissingExtraError) as error:
            traced.to_frame()
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


def test_what_is_printed_of_a_trace_is_short(tiny_bundle):
    model = jumok.load(tiny_bundle, kind=jumok.Translator)
    trace = jumok.trace(model, "the cat sat")
    assert repr(model).startswith("<Translator ")
    assert "'the cat sat' -> " in repr(trace)
    assert all(len(repr(one)) < 300 for one in (model, trace, *trace.sites))
