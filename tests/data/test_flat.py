"""Lengths on disk: two bytes each, or four where one needs them."""

from pathlib import Path

import numpy as np
import pytest

from jumok.data import flat
from jumok.data.flat import FlatWriter, map_flat
from jumok.errors import DataError

KIND = np.dtype(np.uint16)


def write(folder: Path, *appended: list[int]) -> flat.Flat:
    with FlatWriter(folder, "a", KIND) as writer:
        for lengths in appended:
            values = np.arange(sum(lengths)) % 60_000
            writer.append(values.astype(KIND), np.array(lengths, np.int64))
    return map_flat(folder, "a", KIND, 60_000)


def test_lengths_are_mapped_and_take_two_bytes(tmp_path: Path):
    stored = write(tmp_path, [3, 0, 65_535], [2])
    assert isinstance(stored.lengths, np.memmap)
    assert stored.lengths.dtype == np.uint16
    assert stored.lengths.tolist() == [3, 0, 65_535, 2]
    assert stored[3].tolist() == [0, 1]
    assert len(stored) == 4


@pytest.mark.parametrize("chunk", [1, 2, 1 << 20])
def test_a_longer_sequence_widens_the_lengths_of_all(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(flat, "CHECKED", chunk)
    stored = write(tmp_path, [3, 7, 65_535], [65_536, 2], [], [70_001])
    assert stored.lengths.dtype == np.uint32
    assert stored.lengths.tolist() == [3, 7, 65_535, 65_536, 2, 70_001]
    assert stored.ends.tolist() == np.cumsum(stored.lengths).tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ends", "a.lengths", "a.values"]


def test_a_sequence_that_no_plan_could_hold_is_refused(tmp_path: Path):
    with (
        FlatWriter(tmp_path, "a", KIND) as writer,
        pytest.raises(DataError, match=r"a text is too long to be stored\.[^$]*2,147,483,648 tok"),
    ):
        writer.append(np.zeros(0, KIND), np.array([2**31]))


@pytest.mark.parametrize("cut", [1, 3, 8])
def test_lengths_that_were_cut_are_refused(cut: int, tmp_path: Path):
    write(tmp_path, [3, 1, 5])
    with (tmp_path / "a.lengths").open("r+b") as file:
        file.truncate(6 - cut % 6)
    with pytest.raises(ValueError, match=r"a\.lengths holds \d bytes, not 2 or 4 for each of 3"):
        map_flat(tmp_path, "a", KIND, 60_000)


def test_lengths_that_are_not_those_of_the_ends_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(flat, "CHECKED", 2)
    write(tmp_path, [3, 1, 5, 2])
    np.array([3, 1, 4, 3], np.uint16).tofile(tmp_path / "a.lengths")
    with pytest.raises(ValueError, match=r"a\.ends: the ends are not those of a\.lengths"):
        map_flat(tmp_path, "a", KIND, 60_000)
