"""numpy's archives (.npz) of arrays that are stored as they are: they cannot outgrow the file."""

import math
import zipfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from jumok.errors import BundleError

Load = Callable[[str], npt.NDArray[np.generic]]
Shapes = Mapping[str, tuple[int, ...]]
Damaged = Callable[[Path, str], BundleError]
"""The error for a file, and what is wrong with it."""

SUFFIX = ".npy"


@dataclass(frozen=True)
class Archive:
    """The arrays of floats in a file.

    Attributes:
        bytes: those of arrays that are texts.
        load: reads an array of floats.
    """

    shapes: Shapes
    bytes: Mapping[str, bytes]
    load: Load


def names_in(file: Path) -> Collection[str]:
    """The names of the arrays; none if this is no archive. An OSError if it cannot be read."""
    try:
        with zipfile.ZipFile(file) as archive:
            return [name.removesuffix(SUFFIX) for name in archive.namelist()]
    except zipfile.BadZipFile:
        return []


def read_archive(
    file: Path, damaged: Damaged, texts: Collection[str] = (), longest: int = 0
) -> Archive:
    """The arrays in a file; the error `damaged` if it is not as numpy.savez writes it.

    Args:
        texts: the names of arrays of bytes, of which the first `longest` are read.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    read: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(file) as archive:
            if sum(member.file_size for member in archive.infolist()) > file.stat().st_size:
                raise damaged(file, "compressed arrays: save it with numpy.savez")
            for member in archive.infolist():
                name = member.filename.removesuffix(SUFFIX)
                if name in shapes or name in read:
                    raise damaged(file, f"{name} is there twice")
                with archive.open(member) as stream:
                    shape, type_ = _array_header(stream, member.file_size, file, damaged)
                    if name in texts:
                        read[name] = stream.read(longest)
                        continue
                    if type_ not in ("<f4", "<f2"):
                        raise damaged(file, f"{name}: numbers of type {type_}")
                shapes[name] = shape
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise damaged(file, str(error)) from None
    return Archive(shapes, read, partial(_load_member, file))


def _array_header(
    stream: IO[bytes], size: int, file: Path, damaged: Damaged
) -> tuple[tuple[int, ...], str]:
    """The shape and the type of an array, whose bytes are all there."""
    version = np.lib.format.read_magic(stream)
    reader = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, by_columns, type_ = reader(stream)
    if (by_columns and len(shape) > 1) or type_.hasobject:
        raise damaged(file, f"an array of type {type_.str}, or by columns")
    if math.prod(shape) * type_.itemsize != size - stream.tell():
        raise damaged(file, f"an array of {shape} in {size:,} bytes")
    return shape, type_.str


def _load_member(file: Path, name: str) -> npt.NDArray[np.generic]:
    with zipfile.ZipFile(file) as archive, archive.open(f"{name}{SUFFIX}") as stream:
        values: npt.NDArray[np.generic] = np.lib.format.read_array(stream, allow_pickle=False)
        return values
