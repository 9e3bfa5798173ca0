"""Weights as the engine reads them: aligned arrays, and linear layers in panels of 64 outputs."""

from collections.abc import Container

import numpy as np
import numpy.typing as npt

from jumok.engine import Precision
from jumok.engine.quantising import GROUP, Quantised, quantised
from jumok.engine.structures import LinearLayout

Array = npt.NDArray[np.float32]
Weights = dict[str, Array]

PANEL = 64
ALIGNMENT = 64
GROUPS: dict[Precision, int] = {"fp32": 1, "bf16": 2, "int8": 4}
"""How many neighbouring inputs of an output lie side by side."""


GROUPED = 3
"""The kind of layers whose int8 weights are in groups with a scale each; see matrix.h."""

OUTPUT_TABLES = "decoder.output.weight", "decoder.embedding.table", "encoder.embedding.table"
"""From states to logits: tied weights are there once, under the first of these names."""

OUTPUT_BIAS = "decoder.output.bias"


def output_table(*known: Container[str]) -> str:
    """The name of the matrix from states to logits among the known names."""
    return next(name for name in OUTPUT_TABLES if any(name in names for names in known))


class Packed:
    """The arrays whose addresses the engine has; they live as long as this does."""

    def __init__(self, kind: Precision) -> None:
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

    def matrix(
        self,
        matrix: npt.NDArray[np.float32] | Quantised,
        bias: npt.NDArray[np.float32] | None = None,
    ) -> LinearLayout:
        """(outputs inputs) in panels: (outputs / 64, inputs / group, 64, group).

        int8: see `quantising`. The correction is 128 times the sum of an output's int8 weights,
        because the engine adds 128 to the int8 inputs; grouped 32768 times the sum of its weights,
        because it adds that to inputs of 16 bits.
        """
        if self.kind == "int8" and not isinstance(matrix, Quantised):
            matrix = quantised(matrix)
        elif self.kind != "int8" and isinstance(matrix, Quantised):
            matrix = matrix.floats()
        numbers = matrix.integers if isinstance(matrix, Quantised) else matrix
        outputs, inputs = numbers.shape
        group, rows = GROUPS[self.kind], outputs + -outputs % PANEL
        whole = np.zeros((rows, inputs), numbers.dtype)
        whole[:outputs] = numbers
        biases = np.zeros(rows, np.float32)
        if bias is not None:
            biases[:outputs] = bias
        scale = correction = 0
        stored: npt.NDArray[np.generic] = whole
        number = list(GROUPS).index(self.kind)
        if isinstance(matrix, Quantised) and matrix.grouped:
            number = GROUPED
            scales = np.zeros((rows, matrix.scales.shape[1]), np.float32)
            scales[:outputs] = matrix.scales
            by_panel = scales.reshape(rows // PANEL, PANEL, -1).transpose(0, 2, 1)
            scale = self.address(np.ascontiguousarray(by_panel))
            sums = whole.reshape(*scales.shape, GROUP).sum(2, dtype=np.int32) * np.float64(scales)
            correction = self.address((32768 * sums.sum(1)).astype(np.float32))
        elif isinstance(matrix, Quantised):
            scales = np.zeros(rows, np.float32)
            scales[:outputs] = matrix.scales
            scale = self.address(scales)
            correction = self.address(128 * whole.sum(1, dtype=np.int32))
        elif self.kind == "bf16":
            stored = bfloat16(whole)
        panels = stored.reshape(rows // PANEL, PANEL, inputs // group, group).transpose(0, 2, 1, 3)
        places = self.address(panels), self.address(biases), scale, correction
        return LinearLayout(outputs, inputs, number, *places)

    def floats(self, layer: LinearLayout) -> Array:
        """(outputs inputs): the weights of a packed layer, as the engine computes with them."""
        panels = self.arrays[layer.panels].transpose(0, 2, 1, 3).reshape(-1, layer.inputs)
        if layer.kind == list(GROUPS).index("bf16"):
            panels = (panels.astype(np.uint32) << 16).view(np.float32)
        whole = panels.astype(np.float32)
        if layer.kind == GROUPED:
            scales = self.arrays[layer.scale].astype(np.float32)
            scales = scales.transpose(0, 2, 1).reshape(len(whole), -1)
            whole *= np.repeat(scales, GROUP, 1)
        elif layer.kind == list(GROUPS).index("int8"):
            whole *= self.arrays[layer.scale].astype(np.float32)[:, None]
        return whole[: layer.outputs]


def bfloat16(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """The upper halves of float32, rounded to nearest, ties to even."""
    bits = values.view(np.uint32)
    rounded: npt.NDArray[np.uint16] = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return rounded
