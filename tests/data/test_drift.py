from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.data.files.reading import read_lines
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.drift import first_drift
from jumok.errors import DataError

# Lengths that differ from line to line, as sentences do; target lines are half as long.
LENGTHS = np.array([10 + 7 * number % 90 for number in range(101)], dtype=np.float64)


@pytest.mark.parametrize("place", [0, 3, 50, 97])
def test_first_drift_finds_one_extra_line(place: int) -> None:
    extra = np.insert(LENGTHS, place, 45.0)
    assert first_drift(extra, LENGTHS / 2) == place
    assert first_drift(LENGTHS / 2, extra) == place


def test_first_drift_finds_the_first_of_several_extra_lines() -> None:
    extra = np.insert(LENGTHS, [23, 51, 79], [61.0, 7.0, 33.0])
    assert first_drift(extra, LENGTHS / 2) == 23


def test_first_drift_finds_a_block_of_many_extra_lines() -> None:
    extra = np.insert(LENGTHS, 31, LENGTHS[:29])
    assert first_drift(extra, LENGTHS) == 31


def test_first_drift_of_a_file_that_goes_on_is_the_end_of_the_shorter() -> None:
    assert first_drift(LENGTHS, LENGTHS[:67] / 2) == 67


@settings(max_examples=50)
@given(st.lists(st.integers(0, 200), max_size=30), st.lists(st.integers(0, 200), max_size=30))
def test_first_drift_is_a_line_of_the_longer_file(first: list[int], second: list[int]) -> None:
    if len(first) != len(second):
        lengths = [np.array(side, dtype=np.float64) for side in (first, second)]
        assert 0 <= first_drift(*lengths) <= min(len(first), len(second))


def test_read_pairs_names_the_line_two_files_drift_at(tmp_path: Path) -> None:
    source, target = tmp_path / "a.en", tmp_path / "a.ko"
    lines = ["x" * int(length) for length in LENGTHS]
    source.write_text("\n".join(lines) + "\n")
    target.write_text("\n".join([*lines[:40], "an extra line " * 5, *lines[40:]]) + "\n")
    with pytest.raises(DataError) as caught:
        list(read_pairs(Corpus(source, target)))
    assert str(caught.value) == (
        f"{target}, line 41: the two sides do not have the same number of lines.\n"
        "  expected: one translation per line\n"
        f"  got:      101 lines in {source}, 102 in {target};"
        " judging by their lengths, they seem to be misaligned from line 41\n"
        "  do:       check line 41 of both files"
    )


def test_read_pairs_says_when_one_file_just_goes_on(tmp_path: Path) -> None:
    source, target = tmp_path / "a.en", tmp_path / "a.ko"
    lines = ["x" * int(length) for length in LENGTHS]
    source.write_text("\n".join(lines))
    target.write_text("\n".join(lines[:90]))
    with pytest.raises(DataError, match=r"aligned until the end of a\.ko, and a\.en continues"):
        list(read_pairs(Corpus(source, target)))


def test_first_drift_is_close_in_real_text(multi30k: Path) -> None:
    sides = [list(read_lines(multi30k / f"train.{code}.gz")) for code in ("en", "de")]
    source, target = (np.array(list(map(len, side)), dtype=np.float64) for side in sides)
    places = [1009, 10007, 19997, 28001]
    found = [first_drift(source, np.delete(target, place)) for place in places]
    assert np.abs(np.array(found) - places).max() <= 10
