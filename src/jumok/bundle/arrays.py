"""A bundle's weights as arrays. Imports no torch."""

import hashlib
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, deserialize

from jumok.bundle.checks import check_free_memory
from jumok.bundle.quantised import COMPLETE, SCALE, as_quantised, can_group, grouped, scales_of
from jumok.bundle.reading import WEIGHTS, Bundle, sha256
from jumok.data.files.header import DTYPES
from jumok.engine.quantising import Quantised
from jumok.errors import BundleError, Location

Arrays = dict[str, npt.NDArray[np.float32]]


@dataclass(frozen=True)
class StoredWeights:
    """The weights of a bundle, by their names: each is in one of the two."""

    floats: Arrays = field(default_factory=dict)
    integers: dict[str, Quantised] = field(default_factory=dict)


def read_arrays(bundle: Bundle) -> Arrays:
    """All weights by their names, in float32, whatever their stored type; see `read_stored`."""
    stored = read_stored(bundle)
    return stored.floats | {name: matrix.floats() for name, matrix in stored.integers.items()}


def read_stored(bundle: Bundle) -> StoredWeights:
    """All weights by their names: int8 matrices with their scales, others in float32.

    Raises:
        BundleError: they cannot be read, are invalid, or are not those that the bundle was written
            with; or too little memory is free.
    """
    file, scales = bundle.folder / WEIGHTS, scales_of(bundle.stored)
    if grouped(bundle.stored) and not can_group(bundle.section):
        raise unreadable(bundle, "int8 in groups, which this kind of model cannot have")
    check_free_memory(bundle, 2 * file.stat().st_size)  # the file, and the arrays
    try:
        content = file.read_bytes()
        tensors = dict(deserialize(content))
    except (SafetensorError, OSError) as error:
        raise unreadable(bundle, error) from error
    arrays = {name: _as_array(tensor) for name, tensor in tensors.items()}
    stored = StoredWeights()
    for name, array in arrays.items():
        if f"{name}{SCALE}" in scales:
            stored.integers[name] = as_quantised(name, array, arrays[f"{name}{SCALE}"], file)
        elif name not in scales:
            stored.floats[name] = array.astype(np.float32, copy=False)
    check_digest(bundle, content)
    return stored


def check_digest(bundle: Bundle, content: bytes | None = None) -> None:
    """Checks the SHA-256 of the weights, if the bundle names one; 0.7 ms a megabyte.

    Args:
        content: model.safetensors; None: it is read.

    Raises:
        BundleError: the weights are not those that the bundle was written with.
    """
    if bundle.digest is None:
        return
    file = bundle.folder / WEIGHTS
    actual = sha256(file) if content is None else hashlib.sha256(content).hexdigest()
    if actual != bundle.digest:
        raise BundleError(
            "the weights are not those that this bundle was written with.",
            expected=f"SHA-256 {bundle.digest}",
            got=f"SHA-256 {actual}",
            do=COMPLETE,
            place=Location(file),
        )


def unreadable(bundle: Bundle, error: Exception | str) -> BundleError:
    """The error for weights that safetensors refuses, or the system."""
    return BundleError(
        "the weights cannot be read.",
        place=Location(bundle.folder / WEIGHTS),
        got=str(error),
        do="get an undamaged copy of the bundle",
    )


def _as_array(tensor: dict[str, object]) -> npt.NDArray[np.generic]:
    dtype, data = str(tensor["dtype"]), tensor["data"]
    assert isinstance(data, bytes | bytearray)
    assert isinstance(tensor["shape"], list)
    if dtype == "BF16":  # the upper halves of float32
        halves = np.frombuffer(data, "<u2").astype(np.uint32)
        return (halves << 16).view(np.float32).reshape(tensor["shape"])
    return np.frombuffer(data, DTYPES[dtype]).reshape(tensor["shape"])
