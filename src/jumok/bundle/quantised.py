"""Weights as int8 in a bundle: how they are named and checked. Imports no torch.

    NAME          int8 (rows inputs), from -127 to 127
    NAME.scale    float32 (rows), or (rows, inputs / 32) where they are grouped

stand for a float32 matrix, whose row is its integers times its scale, or each 32 inputs of it: the
weight of a linear layer, or a table of embeddings. Such a bundle has to name the SHA-256 of
model.safetensors in its config.json: a changed integer is still an integer.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jumok.config.section import ModelSection
from jumok.config.stack import StackConfig
from jumok.data.files.header import Entry
from jumok.engine.blocks import filled
from jumok.engine.quantising import GROUP, MOST, Quantised
from jumok.errors import BundleError, Location

SCALE = ".scale"
COMPLETE = "copy or download the bundle again, or quantize the model again"


def scales_of(tensors: Mapping[str, Entry]) -> frozenset[str]:
    """The names of the tensors that are scales of others."""
    return frozenset(f"{name}{SCALE}" for name, tensor in tensors.items() if tensor.dtype == "I8")


def grouped(tensors: Mapping[str, Entry]) -> bool:
    """Whether 32 inputs share a scale, and not a whole row."""
    return any(len(tensors[name].shape) > 1 for name in scales_of(tensors) & tensors.keys())


def can_group(section: ModelSection) -> bool:
    """Whether the engine computes with groups of this model's matrices: it makes none of them from
    several, and fills up no width of inputs.
    """
    if not isinstance(section, StackConfig) or section.process_output or section.specs.score.layers:
        return False
    value_dim = section.sizes.value_dim
    widths = section.dim, section.feedforward, section.heads * value_dim
    return not any(width % GROUP for width in widths) and filled(value_dim) == value_dim


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
        scale, (rows, inputs) = tensors.get(f"{name}{SCALE}"), tensor.shape
        shapes = [(rows,), *([(rows, inputs // GROUP)] if inputs % GROUP == 0 else [])]
        if scale is None or scale.dtype != "F32" or scale.shape not in shapes:
            got = "no such tensor" if scale is None else f"{scale.dtype} of shape {scale.shape}"
            expected = " or ".join(map(str, shapes))
            raise _damaged_weights(file, f"{name}{SCALE}: F32 of shape {expected}", got)
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
