"""Columns on disk: any reader of safetensors reads them, none is read as a whole into memory."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from jumok.data import store as store_module
from jumok.data.store import Ragged, Store, StoreWriter, read_store, write_store
from jumok.errors import DataError


def sequences(file: Path, *appended: list[int]) -> Ragged:
    def fill(writer: StoreWriter) -> dict[str, object]:
        for lengths in appended:
            values = np.arange(sum(lengths)) % 60_000
            writer.add_sequences("a", values.astype(np.uint16), np.array(lengths, np.int64))
        return {}

    write_store(file, fill)
    return read_store(file).sequences("a", 60_000)


def mixed(file: Path) -> Store:
    """Columns of every width, in an order that would not be aligned."""

    def fill(writer: StoreWriter) -> dict[str, object]:
        for row in range(3):
            writer.add("bytes", np.full((1, 5), row, np.uint8))
            writer.add("floats", np.full((2, 3), row, np.float32))
            writer.add("numbers", np.full(1, row, np.int64))
            writer.add_sequences("texts", np.full(row, 7, np.uint16), np.array([row]))
        return {"title": "뜰"}

    write_store(file, fill)
    return read_store(file)


def test_another_reader_of_safetensors_reads_the_columns(tmp_path: Path):
    file = tmp_path / "a.safetensors"
    store = mixed(file)
    tensors = load_file(file)
    assert tensors.keys() == store.tensors.keys()
    for name, tensor in tensors.items():
        assert tensor.dtype == store.tensors[name].dtype
        assert tensor.tolist() == store.tensors[name].tolist()
    assert tensors["floats"].tolist() == [[row] * 3 for row in (0, 0, 1, 1, 2, 2)]
    assert tensors["texts.offsets"].tolist() == [0, 0, 1, 3]
    with safe_open(file, "np") as other:
        assert json.loads(other.metadata()["about"]) == store.about == {"title": "뜰"}


def test_columns_are_views_of_the_file_on_their_own_boundaries(tmp_path: Path):
    for tensor in mixed(tmp_path / "a.safetensors").tensors.values():
        assert not tensor.flags.writeable
        assert not tensor.flags.owndata
        assert tensor.flags.aligned


def test_sequences_of_any_length_come_back(tmp_path: Path):
    stored = sequences(tmp_path / "a.safetensors", [3, 7, 65_535], [65_536, 2], [], [0])
    assert [len(stored[row]) for row in range(len(stored))] == [3, 7, 65_535, 65_536, 2, 0]
    assert stored.lengths().tolist() == [3, 7, 65_535, 65_536, 2, 0]
    assert stored.lengths(1, 3).tolist() == [7, 65_535]
    assert stored.lengths_of(np.array([4, 0, 4])).tolist() == [2, 3, 2]
    assert stored.longest == 65_536
    assert stored[1].tolist() == [3, 4, 5, 6, 7, 8, 9]


def test_the_longest_is_found_in_any_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    stored = sequences(tmp_path / "a.safetensors", [1, 2, 3, 9, 4])
    monkeypatch.setattr(store_module, "BLOCK", 2)
    assert stored.longest == 9


def test_a_sequence_that_no_plan_could_hold_is_refused(tmp_path: Path):
    writer = StoreWriter(tmp_path)
    with pytest.raises(DataError, match=r"a text is too long to be stored\.[^$]*2,147,483,648 tok"):
        writer.add_sequences("a", np.zeros(0, np.uint16), np.array([2**31]))


@pytest.mark.parametrize("offsets", [[0, 3, 1, 9], [0, 3, 4, 8], [1, 3, 4, 9], [0, -1, 4, 9], []])
def test_offsets_that_are_not_those_of_the_values_are_refused(
    offsets: list[int], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(store_module, "BLOCK", 2)
    tensors = {"a": np.zeros(9, np.uint16), "a.offsets": np.array(offsets, np.int64)}
    with pytest.raises(ValueError, match=r"^a(\.offsets: | does not hold sequences)"):
        Store(Path("a"), {}, tensors).sequences("a", 9)


@pytest.mark.parametrize(
    "tensors",
    [
        {},
        {"a": np.zeros(9, np.uint16)},
        {"a.offsets": np.array([0, 9])},
        {"a": np.zeros((9, 1), np.uint16), "a.offsets": np.array([0, 9])},
        {"a": np.zeros(9, np.int64), "a.offsets": np.array([0, 9])},
        {"a": np.zeros(9, np.uint16), "a.offsets": np.array([0, 9], np.int32)},
        {"a": np.zeros(9, np.uint16), "a.offsets": np.array([[0, 9]])},
        {"a": np.zeros(9, np.uint16), "a.offsets": np.array(0)},
    ],
)
def test_other_columns_are_no_sequences(tensors: dict[str, np.ndarray]):
    with pytest.raises(ValueError, match=r"^a(\.offsets)? does not hold"):
        Store(Path("a"), {}, tensors).sequences("a", 9)


def test_a_large_store_is_written_and_read_in_little_memory(tmp_path: Path):
    file, ids = tmp_path / "a.safetensors", np.arange(1_000_000, dtype=np.uint16)

    def fill(writer: StoreWriter) -> dict[str, object]:
        for _ in range(20):
            for side in ("source", "target"):
                writer.add_sequences(side, ids, np.full(100_000, 10))
        return {}

    tracemalloc.start()
    write_store(file, fill)
    store = read_store(file)
    for side in ("source", "target"):
        assert store.sequences(side, 65_536).longest == 10
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert file.stat().st_size > 110_000_000
    assert peak < 25_000_000
    assert list(tmp_path.iterdir()) == [file]
