"""The IDX format of MNIST: arrays of bytes after a header with their sizes.

Source: LeCun, Cortes and Burges, "The MNIST database": two zero bytes, a type (8: unsigned byte),
the number of axes, each axis as a big-endian 32-bit number, then the values row by row.
"""

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jumok.data.files.reading import open_bytes
from jumok.errors import DataError, Location

UNSIGNED_BYTE = 8

Bytes = npt.NDArray[np.uint8]


def read_idx(path: Path, axes: int) -> Bytes:
    """The array in an IDX file of unsigned bytes (also .gz).

    Args:
        axes: the expected number: 1 for labels, 3 for greyscale images.

    Raises:
        DataError: it is not one, has a different number of axes, or is truncated.
    """
    with open_bytes(path) as stream:
        content = stream.read()
    header = 4 + 4 * axes
    start = content[:4]
    if len(content) < header or start[:2] != b"\0\0" or start[2] != UNSIGNED_BYTE:
        raise DataError(
            "this is not an IDX file of unsigned bytes.",
            expected="bytes that begin with 00 00 08",
            got=f"{len(content):,} bytes that begin with {start.hex(' ') or 'nothing'}",
            place=Location(path),
        )
    if start[3] != axes:
        raise DataError(
            "the IDX file has a different number of axes.",
            expected=f"{axes}: 3 for images, 1 for labels",
            got=str(start[3]),
            do="check that `images` and `labels` are not swapped",
            place=Location(path),
        )
    shape = tuple(np.frombuffer(content, ">u4", axes, offset=4).tolist())
    if len(content) - header != math.prod(shape):
        raise DataError(
            "the IDX file's length does not match its header.",
            expected=f"{' x '.join(map(str, shape))} = {math.prod(shape):,} values",
            got=f"{len(content) - header:,}",
            do="download it again",
            place=Location(path),
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
