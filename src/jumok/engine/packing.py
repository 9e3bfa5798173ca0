"""Weights as the engine reads them: aligned arrays, and linear layers in panels of 64 outputs."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from jumok.engine.structures import LinearLayout, NormLayout

Weights = dict[str, npt.NDArray[np.float32]]
Kind = Literal["fp32", "bf16", "int8"]

PANEL = 64
ALIGNMENT = 64
GROUPS: dict[Kind, int] = {"fp32": 1, "bf16": 2, "int8": 4}
"""How many neighbouring inputs of an output lie side by side."""


class Packed:
    """The arrays whose addresses the engine has; they live as long as this does.

    Attributes:
        arrays: by their addresses.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.arrays: dict[int, npt.NDArray[np.generic]] = {}

    def address(self, array: npt.NDArray[np.generic]) -> int:
        """The address of an aligned copy."""
        room = np.empty(array.nbytes + ALIGNMENT, np.uint8)
        start = -room.ctypes.data % ALIGNMENT
        copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
        copy[...] = array
        self.arrays[copy.ctypes.data] = copy
        return copy.ctypes.data

    def norm(self, weights: Weights, name: str) -> NormLayout:
        """The norm of this name; an empty one where the model has none."""
        if f"{name}.weight" not in weights:
            return NormLayout()
        gain, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
        return NormLayout(self.address(gain), self.address(bias))

    def linear(self, weights: Weights, *names: str) -> LinearLayout:
        """The layers of these names as one, their outputs one after the other."""
        matrix = np.concatenate([weights[f"{name}.weight"] for name in names])
        biases = [weights.get(f"{name}.bias") for name in names]
        if biases[0] is None:
            return self.matrix(matrix)
        return self.matrix(matrix, np.concatenate([each for each in biases if each is not None]))

    def matrix(
        self, matrix: npt.NDArray[np.float32], bias: npt.NDArray[np.float32] | None = None
    ) -> LinearLayout:
        """(outputs inputs) in panels: (outputs / 64, inputs / group, 64, group).

        int8: each output has a scale, max |w| / 127. The correction is 128 times the sum of its
        int8 weights, because the engine adds 128 to the int8 inputs.
        """
        outputs, inputs = matrix.shape
        group, rows = GROUPS[self.kind], outputs + -outputs % PANEL
        whole = np.zeros((rows, inputs), np.float32)
        whole[:outputs] = matrix
        biases = np.zeros(rows, np.float32)
        if bias is not None:
            biases[:outputs] = bias
        scale = correction = 0
        stored: npt.NDArray[np.generic] = whole
        if self.kind == "bf16":
            stored = bfloat16(whole)
        elif self.kind == "int8":
            scales = np.abs(whole).max(1) / 127
            divisor = np.where(scales > 0, scales, 1)
            integers = np.rint(whole / divisor[:, None]).astype(np.int8)
            stored = integers
            scale = self.address(scales.astype(np.float32))
            correction = self.address(128 * integers.sum(1, dtype=np.int32))
        panels = stored.reshape(rows // PANEL, PANEL, inputs // group, group).transpose(0, 2, 1, 3)
        number = list(GROUPS).index(self.kind)
        places = self.address(panels), self.address(biases), scale, correction
        return LinearLayout(outputs, inputs, number, *places)


def rounded(matrix: npt.NDArray[np.float32], kind: Kind) -> npt.NDArray[np.float32]:
    """(rows columns) as it is after packing: with one scale for each row in int8."""
    if kind == "fp32":
        return matrix
    if kind == "bf16":
        return (bfloat16(matrix).astype(np.uint32) << 16).view(np.float32)
    scales = np.abs(matrix).max(1, keepdims=True) / np.float32(127)
    integers = np.rint(matrix / np.where(scales > 0, scales, 1))
    result: npt.NDArray[np.float32] = (integers * scales).astype(np.float32)
    return result


def bfloat16(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """The upper halves of float32, rounded to nearest, ties to even."""
    bits = values.view(np.uint32)
    rounded: npt.NDArray[np.uint16] = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return rounded
