"""The format of MNIST."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from jumok.data.pictures.idx import read_idx
from jumok.errors import DataError
from tests.data.painted import write_idx


def test_the_header_is_as_lecun_describes_it(tmp_path: Path) -> None:
    file = tmp_path / "by-hand"
    file.write_bytes(bytes.fromhex("00000803 00000001 00000002 00000003 0102030405FF"))
    assert read_idx(file, 3).tolist() == [[[1, 2, 3], [4, 5, 255]]]


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    values = np.arange(7, dtype=np.uint8)
    assert read_idx(write_idx(tmp_path / "labels.gz", values), 1).tolist() == values.tolist()


@pytest.mark.parametrize(
    ("content", "axes", "said"),
    [
        (b"\x89PNG....", 3, "not an IDX file of unsigned bytes"),
        (b"\0\0", 1, "not an IDX file of unsigned bytes"),
        (bytes.fromhex("00000D01 00000000"), 1, "begin with 00 00 0d 01"),
        (bytes.fromhex("00000801 00000001 05") + b"\0" * 9, 3, "images` and `labels` are not swap"),
        (bytes.fromhex("00000801 00000003 0506"), 1, "expected: 3 = 3 values\n  got:      2"),
    ],
)
def test_what_is_no_idx_file_is_refused(
    tmp_path: Path, content: bytes, axes: int, said: str
) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_idx(tmp_path / "file", axes)


def test_a_file_cut_short_inside_its_compression_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(bytes.fromhex("00000801 00000003 050607"))
    (tmp_path / "labels.gz").write_bytes(whole[:-9])
    with pytest.raises(DataError, match="damaged or truncated"):
        read_idx(tmp_path / "labels.gz", 1)
