"""Layers beside the engine's, as a page holds them: in float32, whatever the engine's have.

An image is a list of cells there, each with its channels, row by row. A convolution is a linear
layer that reads the neighbours of a cell side by side: (rows columns channels) of its window.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jumok.engine.blocks import filled, padded
from jumok.engine.image import ImageOf, MemoryImage
from jumok.engine.packing import Array, Packed, Weights
from jumok.layers.convolution import group_norm


class PageLayers:
    """Adds layers to what a page has in memory; each method returns where they are in it.

    Args:
        weights: of the whole model, by their names, float32.
    """

    def __init__(self, weights: Weights, image: MemoryImage) -> None:
        self._weights, self._packed = weights, Packed("fp32")
        self._writer = ImageOf(self._packed.arrays, {}, image=image)

    def linear(self, name: str) -> dict[str, Any]:
        """A linear layer, or a convolution of single cells."""
        matrix = self._weights[f"{name}.weight"]
        return self._placed(matrix.reshape(len(matrix), -1), self._weights.get(f"{name}.bias"))

    def array(self, values: Array) -> list[int]:
        """Where it begins in the image, and how many numbers it has."""
        return [self._writer.image.put(values.astype(np.float32).tobytes()), values.size]

    def vectors(self, name: str) -> list[list[int]]:
        """The gain and the bias of a norm."""
        return [self.array(self._weights[f"{name}.{each}"]) for each in ("weight", "bias")]

    def number(self, name: str) -> float:
        """A weight that is one number."""
        return float(self._weights[name].item())

    def convolutions(
        self, name: str, channels: Sequence[int], blocks: int, patch: int
    ) -> dict[str, Any]:
        """A `ConvolutionStack`."""
        stages = [
            {
                "halving": self._halving(f"{name}.stages.{stage}.0") if stage else None,
                "blocks": [
                    self._block(f"{name}.stages.{stage}.{number + (stage > 0)}")
                    for number in range(blocks)
                ],
                "after": [],
            }
            for stage in range(len(channels))
        ]
        norm = self._group_norm(f"{name}.norm")
        return {"stem": self._convolution(f"{name}.stem", patch), "stages": stages, "norm": norm}

    def _halving(self, name: str) -> dict[str, Any]:
        return {
            "norm": self._group_norm(f"{name}.norm"),
            "convolution": self._convolution(f"{name}.convolution", 2),
        }

    def _block(self, name: str) -> dict[str, Any]:
        return {
            "firstNorm": self._group_norm(f"{name}.first_norm"),
            "first": self._convolution(f"{name}.first", 1),
            "secondNorm": self._group_norm(f"{name}.second_norm"),
            "second": self._convolution(f"{name}.second", 1),
        }

    def _group_norm(self, name: str) -> dict[str, Any]:
        gain, bias = self.vectors(name)
        return {"groups": group_norm(gain[1]).num_groups, "gain": gain, "bias": bias}

    def _convolution(self, name: str, stride: int) -> dict[str, Any]:
        weight = self._weights[f"{name}.weight"]  # (outer inner rows columns)
        flat = weight.transpose(0, 2, 3, 1).reshape(len(weight), -1)
        placed = self._placed(flat, self._weights[f"{name}.bias"])
        return {**placed, "kernel": weight.shape[2], "stride": stride}

    def _placed(self, matrix: Array, bias: Array | None) -> dict[str, Any]:
        outputs, inputs = matrix.shape
        layer = self._packed.matrix(padded(matrix, outputs, filled(inputs)), bias)
        return {"layer": self._writer.add(layer), "outputs": outputs, "inputs": inputs}
