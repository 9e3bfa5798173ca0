"""A bundle's weights as arrays. Nothing here imports torch."""

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, deserialize

from jumok.bundle.reading import WEIGHTS, Bundle
from jumok.errors import BundleError, Place

NUMBERS = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",  # the upper halves of float32
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U8": "u1",
    "BOOL": "?",
}

Arrays = dict[str, npt.NDArray[np.float32]]


def read_arrays(bundle: Bundle) -> Arrays:
    """All tensors by their names, in float32, whatever their stored type.

    Raises:
        BundleError: they cannot be read.
    """
    file = bundle.folder / WEIGHTS
    try:
        told = dict(deserialize(file.read_bytes()))
    except (SafetensorError, OSError) as error:
        raise unreadable(bundle, error) from error
    return {name: _array(each) for name, each in told.items()}


def unreadable(bundle: Bundle, error: Exception) -> BundleError:
    """The error for weights that safetensors refuses, or the system."""
    return BundleError(
        "the weights cannot be read.",
        place=Place(bundle.folder / WEIGHTS),
        got=str(error),
        do="get an undamaged copy of the bundle",
    )


def _array(told: dict[str, object]) -> npt.NDArray[np.float32]:
    dtype, data = str(told["dtype"]), told["data"]
    assert isinstance(data, bytes | bytearray)
    assert isinstance(told["shape"], list)
    stored = np.frombuffer(data, NUMBERS[dtype]).reshape(told["shape"])
    if dtype == "BF16":
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(np.float32, copy=False)
