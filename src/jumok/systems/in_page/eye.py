"""The convolutions of a captioner as a page holds them: in float32, whatever its decoder has.

An image is a list of cells there, each with its channels, row by row. A convolution is a linear
layer that reads the neighbours of a cell side by side: (rows columns channels) of its window.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from jumok.config.captioner import CaptionerConfig, CnnConfig
from jumok.engine.blocks import PackedStacks, filled, padded
from jumok.engine.image import ImageOf, MemoryImage, field_places
from jumok.engine.packing import Array, Packed, Weights
from jumok.engine.structures import ModelLayout
from jumok.systems.in_page.weights import COUNTS, attention_facts, sizes_of


class PageEye:
    """What makes the Memory of an image.

    Args:
        weights: of the whole captioner, by their names, float32.
    """

    def __init__(self, config: CaptionerConfig, weights: Weights) -> None:
        assert isinstance(config.encoder, CnnConfig)
        self._config, self._encoder, self._weights = config, config.encoder, weights
        self._packed = Packed("fp32")
        self._writer: ImageOf

    def write(self, image: MemoryImage) -> dict[str, Any]:
        """Adds it to what the page has in memory; returns where things are in it."""
        self._writer = ImageOf(self._packed.arrays, {}, image=image)
        cells = "cells.convolutions"
        halved = [
            {
                "halving": self._halving(f"{cells}.stages.{stage}.0") if stage else None,
                "blocks": [
                    self._block(f"{cells}.stages.{stage}.{number + (stage > 0)}")
                    for number in range(self._encoder.blocks)
                ],
            }
            for stage in range(len(self._encoder.channels))
        ]
        patch = self._encoder.patch
        return {
            "size": self._encoder.size,
            "grid": list(self._config.encoder.grid),
            "stem": self._convolution(f"{cells}.stem", patch),
            "stages": halved,
            "norm": self._norm(f"{cells}.norm"),
            "dim": self._config.decoder.dim,
            **(self._one_vector() if self._config.memory == "one" else self._cells()),
            **self._reader(image),
        }

    def _cells(self) -> dict[str, Any]:
        """Each cell becomes a state: a projection, and its position."""
        from jumok.positions.sinusoidal import GridPositions

        table = GridPositions(self._config.decoder.dim, *self._encoder.grid).table
        return {
            "project": self._linear("writer.project"),
            "positions": self._array(table.numpy()),
        }

    def _one_vector(self) -> dict[str, Any]:
        return {name: self._linear(f"writer.{name}") for name in ("squeeze", "inner", "outer")}

    def _reader(self, image: MemoryImage) -> dict[str, Any]:
        """The norm of the states, and the blocks in which they attend to each other."""
        config, own = self._config.reader, "reader.first_norm"
        if not config.layers:
            gain, bias = (self._weights[f"{own}.{name}"] for name in ("weight", "bias"))
            return {"readerNorm": [self._array(gain), self._array(bias)], "reader": None}
        stack, cells = config.stack(self._config.decoder.dim), self._encoder.grid
        weights = {
            name.replace("reader.", "encoder.", 1): each
            for name, each in self._weights.items()
            if name.startswith("reader.")
        }
        # the page writes the states of an image where others have the vectors of words
        weights["encoder.embedding.table"] = np.zeros((cells[0] * cells[1], stack.dim), np.float32)
        packed = PackedStacks(stack, weights, "fp32", (config.layers, 0), cross=False)
        layout = packed.layout
        absent = frozenset({layout.source_table})
        model = ImageOf(packed.arrays.arrays, COUNTS[ModelLayout], absent, image).add(layout)
        fields = {name: model + offset for name, _, offset in field_places(ModelLayout)}
        return {
            "reader": {
                "model": model,
                "dim": layout.true_dim,
                "vocabulary": 0,
                **sizes_of(layout),
                **attention_facts(stack, layout),
                "table": fields["source_table"],
                "width": layout.dim,
                "names": "reader.blocks.#.self_attention",
            }
        }

    def _halving(self, name: str) -> dict[str, Any]:
        return {
            "norm": self._norm(f"{name}.norm"),
            "convolution": self._convolution(f"{name}.convolution", 2),
        }

    def _block(self, name: str) -> dict[str, Any]:
        return {
            "firstNorm": self._norm(f"{name}.first_norm"),
            "first": self._convolution(f"{name}.first", 1),
            "secondNorm": self._norm(f"{name}.second_norm"),
            "second": self._convolution(f"{name}.second", 1),
        }

    def _norm(self, name: str) -> dict[str, Any]:
        """A norm over groups of channels."""
        from jumok.layers.convolution import group_norm

        gain = self._weights[f"{name}.weight"]
        bias = self._array(self._weights[f"{name}.bias"])
        groups = group_norm(len(gain)).num_groups
        return {"groups": groups, "gain": self._array(gain), "bias": bias}

    def _convolution(self, name: str, stride: int) -> dict[str, Any]:
        weight = self._weights[f"{name}.weight"]  # (outer inner rows columns)
        flat = weight.transpose(0, 2, 3, 1).reshape(len(weight), -1)
        return {
            **self._placed(flat, self._weights[f"{name}.bias"]),
            "kernel": weight.shape[2],
            "stride": stride,
        }

    def _linear(self, name: str) -> dict[str, Any]:
        return self._placed(self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _placed(self, matrix: Array, bias: Array) -> dict[str, Any]:
        outputs, inputs = matrix.shape
        layer = self._packed.matrix(padded(matrix, outputs, filled(inputs)), bias)
        return {"layer": self._writer.add(layer), "outputs": outputs, "inputs": inputs}

    def _array(self, values: npt.NDArray[np.float32]) -> list[int]:
        """Where it begins in the image, and how many numbers it has."""
        return [self._writer.image.put(values.astype(np.float32).tobytes()), values.size]
