"""Weights as int8 in a bundle: how they are named, checked and read. Nothing here imports torch.

    NAME          int8 (rows inputs), from -127 to 127
    NAME.scale    float32 (rows)

stand for the float32 matrix NAME, whose row is its integers times its scale: the weight of a linear
layer, or a table of embeddings. All other tensors (norms, biases, convolutions, learned positions)
are stored as in any bundle. A bundle with such matrices names the SHA-256 of model.safetensors in
its config.json, because an integer that was changed is still an integer.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, deserialize

from jumok.bundle.header import StoredTensor
from jumok.engine.quantising import MOST, Quantised
from jumok.errors import BundleError, Place

SCALE = ".scale"
COMPLETE = "copy or download the bundle again, or quantize the model again"
NUMBERS: dict[str, str] = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "i1"}

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class StoredWeights:
    """The weights of a bundle, by their names: each is in one of the two."""

    floats: dict[str, Floats] = field(default_factory=dict)
    integers: dict[str, Quantised] = field(default_factory=dict)


def scales_of(tensors: Mapping[str, StoredTensor]) -> frozenset[str]:
    """The names of the tensors that are scales of others."""
    return frozenset(f"{name}{SCALE}" for name, tensor in tensors.items() if tensor.dtype == "I8")


def check_header(tensors: Mapping[str, StoredTensor], digest: str | None, file: Path) -> None:
    """Every int8 matrix has its scales, one a row.

    Raises:
        BundleError: scales are missing, or of another type or shape; or the file's SHA-256 is not
            given.
    """
    for name, tensor in tensors.items():
        if tensor.dtype != "I8":
            continue
        if len(tensor.shape) != 2:
            raise _damaged(file, f"{name}: int8 with two axes", f"shape {tensor.shape}")
        scale, wanted = tensors.get(f"{name}{SCALE}"), tensor.shape[:1]
        if scale is None or scale.dtype != "F32" or scale.shape != wanted:
            got = "no such tensor" if scale is None else f"{scale.dtype} of shape {scale.shape}"
            raise _damaged(file, f"{name}{SCALE}: F32 of shape {wanted}", got)
    if digest is None and scales_of(tensors):
        raise _damaged(file, "weights_sha256 in config.json, as there are int8 weights", "none")


def read_weights(
    tensors: Mapping[str, StoredTensor], digest: str | None, file: Path
) -> StoredWeights:
    """All weights of a model.safetensors whose header was checked.

    Args:
        tensors: by that header.
        digest: the SHA-256 that the bundle names; None: it names none.

    Raises:
        BundleError: the file cannot be read; it holds the integer -128, or a scale that is negative
            or no number; or it is another file than the bundle was written with.
    """
    try:
        content = file.read_bytes()
        told = dict(deserialize(content))
    except (SafetensorError, OSError) as error:
        raise BundleError(
            "the weights cannot be read.", place=Place(file), got=str(error), do=COMPLETE
        ) from error
    scales, stored = scales_of(tensors), StoredWeights()
    arrays = {}
    for name, tensor in tensors.items():
        if tensor.dtype not in NUMBERS:
            raise _damaged(file, f"{name}: {', '.join(NUMBERS)}", tensor.dtype)
        arrays[name] = _array(tensor, told[name]["data"])
    for name, array in arrays.items():
        if f"{name}{SCALE}" in scales:
            stored.integers[name] = _checked(name, array, arrays[f"{name}{SCALE}"], file)
        elif name not in scales:
            stored.floats[name] = array.astype(np.float32, copy=False)
    found = hashlib.sha256(content).hexdigest()
    if digest is not None and found != digest:
        raise BundleError(
            "the weights are not those that this bundle was written with.",
            expected=f"SHA-256 {digest}",
            got=f"SHA-256 {found}",
            do=COMPLETE,
            place=Place(file),
        )
    return stored


def _array(tensor: StoredTensor, data: bytearray) -> npt.NDArray[np.generic]:
    found = np.frombuffer(data, NUMBERS[tensor.dtype]).reshape(tensor.shape)
    if tensor.dtype != "BF16":
        return found
    return (found.astype(np.uint32) << 16).view(np.float32)


def _checked(
    name: str, integers: npt.NDArray[np.generic], scales: npt.NDArray[np.generic], file: Path
) -> Quantised:
    found = Quantised(integers.astype(np.int8), scales.astype(np.float32))
    low = found.integers.min(initial=0)
    if low < -MOST:
        raise _damaged(file, f"{name}: integers from -{MOST} to {MOST}", str(low))
    wrong = found.scales[~(np.isfinite(found.scales) & (found.scales >= 0))]
    if len(wrong):
        raise _damaged(
            file, f"{name}{SCALE}: numbers from 0", f"{len(wrong):,} others, as {wrong[0]}"
        )
    return found


def _damaged(file: Path, expected: str, got: str) -> BundleError:
    return BundleError(
        "the int8 weights of this bundle are damaged.",
        expected=expected,
        got=got,
        do=COMPLETE,
        place=Place(file),
    )
