"""Stores for tests: changed and sealed again, or made of lengths alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from jumok.data.pairs.blocks import StoredLengths
from jumok.data.store import Ragged, StoreWriter, read_store, write_store

Tensors = dict[str, npt.NDArray[Any]]


def rewrite(file: Path, change: Callable[[Tensors], object] = dict, **about: object) -> None:
    """Changes the tensors of a store, as safetensors reads them, and its description; the digest
    fits again.
    """
    tensors, described = load_file(file), {**read_store(file).about, **about}
    change(tensors)

    def fill(writer: StoreWriter) -> dict[str, object]:
        for name, tensor in tensors.items():
            writer.add(name, tensor)
        return described

    write_store(file, fill)


def flip(file: Path, place: int | None = None) -> None:
    """Changes a bit: of the byte in the middle, or of the one at `place`."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2 if place is None else place] ^= 1
    file.write_bytes(content)


def stored_lengths(source: npt.NDArray[Any], target: npt.NDArray[Any]) -> StoredLengths:
    """The lengths of pairs whose ids are nowhere."""
    none = np.zeros(0, np.uint16)
    ends = (np.append(0, np.cumsum(side, dtype=np.int64)) for side in (source, target))
    return StoredLengths(*(Ragged(none, offsets) for offsets in ends))
