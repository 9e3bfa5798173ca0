"""Matrices as int8 with one scale an output, or one for 32 inputs of it, as the engine computes
with them.

    w = integer * scale      scale = max |w| / 127, of each row or group

The scales are such that the floats of quantised weights, quantised again, give the same integers
and scales: so it makes no difference whether a bundle stores the integers or the engine makes them.

A weight becomes the nearest integer, unless most of its row lie near integers. Such a row was
integers before it was trained further, and moved by less than half a step: rounded to the nearest
ones it would fall back. A weight between two integers then becomes either, at random with a fixed
seed, so that it is right on average.

Source: Jacob et al. 2018, "Quantization and Training of Neural Networks for Efficient
Integer-Arithmetic-Only Inference"; symmetric and per row as in Wu et al. 2020, "Integer
Quantization for Deep Learning Inference", section 3. Groups of 32: Q8_0 of llama.cpp. At random:
Gupta et al. 2015, "Deep Learning with Limited Numerical Precision", section 3.1.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MOST = 127
"""The integers are from -127 to 127: symmetric, so that zero is zero."""

GROUP = 32
"""How many neighbouring inputs of an output share a scale, where they are grouped."""

EXACT = 1e-3
"""The part of a step by which float32 may miss an integer."""

SURE = 4
"""By how many standard deviations the numbers of a row lie nearer to integers than by chance, if it
was one of integers.
"""

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
    parts = matrix.reshape(-1, GROUP) if grouped else matrix
    most = np.abs(parts).max(1)
    normal = ~(most < MOST * np.finfo(np.float32).tiny)
    scales = settled(np.where(normal, most / MOST, np.float32(0)))
    with np.errstate(invalid="ignore", divide="ignore"):
        steps = np.where(scales[:, None] > 0, parts / scales[:, None], 0)
    integers = rounded(steps.reshape(matrix.shape)).clip(-MOST, MOST).astype(np.int8)
    return Quantised(integers, scales.reshape(len(matrix), -1) if grouped else scales)


def rounded(steps: FloatMatrix, draw: int = 0) -> FloatMatrix:
    """(outputs inputs) from -127 to 127 as integers: the nearest ones, or in rows that were
    integers before at random; each row alone, so that it makes no difference what lies beside it.

    Args:
        draw: the seed.
    """
    nearest = np.rint(steps)
    rest = steps - nearest
    known = (nearest != 0) & (np.abs(nearest) < MOST)  # a row's largest number is 127 in any case
    count = known.sum(1)
    distance = np.abs(rest).sum(1, where=known) / count.clip(1)
    # of a number that lies anywhere 1/4 on average, with a variance of 1/48
    near = distance < 1 / 4 - SURE * np.sqrt(1 / 48 / count.clip(1))
    if near.any():
        above = np.abs(rest[near]) > _thresholds(nearest[near], draw)
        nearest[near] += np.sign(rest[near]) * above
    return nearest


def _thresholds(integers: FloatMatrix, draw: int) -> FloatMatrix:
    """(rows inputs): for each row EXACT to 1 in equal steps and random order, another one for rows
    with another sum.
    """
    inputs = integers.shape[1]
    order = np.random.default_rng(draw).permutation(inputs)
    begin = np.abs(integers).sum(1).astype(np.int64)
    places = order[(np.arange(inputs) + begin[:, None]) % inputs]
    return (EXACT + (1 - EXACT) * (places + 0.5) / inputs).astype(np.float32)


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
