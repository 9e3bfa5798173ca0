"""Matrices as int8 with one scale an output, or one for 32 inputs of it, as the engine computes
with them.

    w = integer * scale      scale = max |w| / 127, of each row or group

The scales are such that the floats of quantised weights, quantised again, give the same integers
and scales: so it makes no difference whether a bundle stores the integers or the engine makes them.

Source: Jacob et al. 2018, "Quantization and Training of Neural Networks for Efficient
Integer-Arithmetic-Only Inference"; symmetric and per row as in Wu et al. 2020, "Integer
Quantization for Deep Learning Inference", section 3. Groups of 32: Q8_0 of llama.cpp.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MOST = 127
"""The integers are from -127 to 127: symmetric, so that zero is zero."""

GROUP = 32
"""How many neighbouring inputs of an output share a scale, where they are grouped."""

FloatMatrix = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Quantised:
    """A matrix of weights: (outputs inputs) integers, and (outputs) scales; grouped they are
    (outputs, inputs / 32).
    """

    integers: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]

    @property
    def grouped(self) -> bool:
        """Whether 32 inputs share a scale, and not a whole row."""
        return self.scales.ndim > 1

    def floats(self) -> FloatMatrix:
        """(outputs inputs): the weights that the integers stand for."""
        by_scale = self.integers.reshape(*self.scales.shape, -1).astype(np.float32)
        whole: FloatMatrix = (by_scale * self.scales[..., None]).reshape(self.integers.shape)
        return whole


def quantised(matrix: FloatMatrix, *, grouped: bool = False) -> Quantised:
    """(outputs inputs) as int8; each weight is off by half a scale at most.

    A row without any number of normal size becomes zeros. Rows with NaN or infinity have the scale
    NaN, so that they stay visible.

    Args:
        grouped: 32 inputs of an output share a scale; the inputs are a multiple of 32.
    """
    if grouped:
        rows, inputs = matrix.shape
        whole = quantised(matrix.reshape(-1, GROUP))
        scales_by_group = whole.scales.reshape(rows, inputs // GROUP)
        return Quantised(whole.integers.reshape(rows, inputs), scales_by_group)
    most = np.abs(matrix).max(1)
    normal = ~(most < MOST * np.finfo(np.float32).tiny)
    scales = settled(np.where(normal, most / MOST, np.float32(0)))
    with np.errstate(invalid="ignore", divide="ignore"):
        steps = np.rint(matrix / scales[:, None])
    integers = np.where(scales[:, None] > 0, steps, 0).clip(-MOST, MOST)
    return Quantised(integers.astype(np.int8), scales)


def settled(scales: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The scales that 127 * scale, rounded to float32, gives back; at most one step away.

    One round is enough for every float32 (the tests try all): 127 * s is rounded by at most half a
    step, which is hardly more than half a step of s after the division.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        divided: npt.NDArray[np.float32] = (scales * np.float32(MOST)) / np.float32(MOST)
    return np.where(np.isfinite(divided), divided, np.float32(np.nan))


def stacked(parts: list[Quantised]) -> Quantised:
    """Matrices one above the other."""
    return Quantised(
        np.concatenate([part.integers for part in parts]),
        np.concatenate([part.scales for part in parts]),
    )
