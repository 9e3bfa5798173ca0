"""Weights as int8 in a bundle: how they are named and checked. Imports no torch.

    NAME          int8 (rows inputs), from -127 to 127
    NAME.scale    float32 (rows)

stand for a float32 matrix, whose row is its integers times its scale: the weight of a linear layer,
or a table of embeddings. Such a bundle has to name the SHA-256 of model.safetensors in its
config.json: a changed integer is still an integer.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jumok.data.files.header import Entry
from jumok.engine.quantising import MOST, Quantised
from jumok.errors import BundleError, Location

SCALE = ".scale"
COMPLETE = "copy or download the bundle again, or quantize the model again"


def scales_of(tensors: Mapping[str, Entry]) -> frozenset[str]:
    """The names of the tensors that are scales of others."""
    return frozenset(f"{name}{SCALE}" for name, tensor in tensors.items() if tensor.dtype == "I8")


def check_header(tensors: Mapping[str, Entry], digest: str | None, file: Path) -> None:
    """Checks that every int8 matrix has its scales, one a row.

    Raises:
        BundleError: it has not; or the file's SHA-256 is not given.
    """
    for name, tensor in tensors.items():
        if tensor.dtype != "I8":
            continue
        if len(tensor.shape) != 2:
            raise _damaged_weights(file, f"{name}: int8 with two axes", f"shape {tensor.shape}")
        scale, shape = tensors.get(f"{name}{SCALE}"), tensor.shape[:1]
        if scale is None or scale.dtype != "F32" or scale.shape != shape:
            got = "no such tensor" if scale is None else f"{scale.dtype} of shape {scale.shape}"
            raise _damaged_weights(file, f"{name}{SCALE}: F32 of shape {shape}", got)
    if digest is None and scales_of(tensors):
        raise _damaged_weights(
            file, "weights_sha256 in config.json, as there are int8 weights", "none"
        )


def as_quantised(
    name: str, integers: npt.NDArray[np.generic], scales: npt.NDArray[np.generic], file: Path
) -> Quantised:
    """The matrix of this name.

    Raises:
        BundleError: an integer is -128, or a scale negative or no number.
    """
    matrix = Quantised(integers.astype(np.int8), scales.astype(np.float32))
    low = matrix.integers.min(initial=0)
    if low < -MOST:
        raise _damaged_weights(file, f"{name}: integers from -{MOST} to {MOST}", str(low))
    invalid = matrix.scales[~(np.isfinite(matrix.scales) & (matrix.scales >= 0))]
    if len(invalid):
        got = f"{len(invalid):,} others, as {invalid[0]}"
        raise _damaged_weights(file, f"{name}{SCALE}: numbers from 0", got)
    return matrix


def _damaged_weights(file: Path, expected: str, got: str) -> BundleError:
    return BundleError(
        "the int8 weights of this bundle are damaged.",
        expected=expected,
        got=got,
        do=COMPLETE,
        place=Location(file),
    )
