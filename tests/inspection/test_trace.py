"""A trace and its file."""

import dataclasses
import json
import zipfile

import numpy as np
import pytest

from jumok.errors import BundleError, DataError
from jumok.inspection.trace import FORMAT, HEAD
from jumok.inspection.trace_file import load_trace
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
    newer = broken(tmp_path, lambda file: rewritten(file, format=FORMAT + 1))
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
