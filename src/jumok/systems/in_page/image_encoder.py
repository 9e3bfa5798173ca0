"""What makes the Memory of an image in a page, as `jumok.models.captioner` does it."""

from typing import Any

import numpy as np

from jumok.config.captioner import CaptionerConfig, CnnConfig
from jumok.engine.blocks import PackedStacks
from jumok.engine.image import ImageOf, MemoryImage, field_places
from jumok.engine.packing import Weights
from jumok.engine.structures import ModelLayout
from jumok.positions.sinusoidal import GridPositions
from jumok.systems.in_page.layers import PageLayers
from jumok.systems.in_page.weights import COUNTS, attention_facts, sizes_of


def encoder_facts(config: CaptionerConfig, weights: Weights, image: MemoryImage) -> dict[str, Any]:
    """Adds it to what the page has in memory; returns where things are in it.

    Args:
        weights: of the whole captioner, by their names, float32.
    """
    encoder, layers = config.encoder, PageLayers(weights, image)
    assert isinstance(encoder, CnnConfig)
    return {
        "shape": {"height": encoder.size, "width": encoder.size, "colours": 3},
        "grid": list(encoder.grid),
        "convolutions": layers.convolutions(
            "cells.convolutions", encoder.channels, encoder.blocks, encoder.patch
        ),
        "dim": config.decoder.dim,
        **(_one_vector(layers) if config.memory == "one" else _cells(config, layers)),
        **_reader(config, weights, layers, image),
    }


def _cells(config: CaptionerConfig, layers: PageLayers) -> dict[str, Any]:
    """Each cell becomes a state: a projection, and its position."""
    table = GridPositions(config.decoder.dim, *config.encoder.grid).table
    return {"project": layers.linear("writer.project"), "positions": layers.array(table.numpy())}


def _one_vector(layers: PageLayers) -> dict[str, Any]:
    return {name: layers.linear(f"writer.{name}") for name in ("squeeze", "inner", "outer")}


def _reader(
    config: CaptionerConfig, weights: Weights, layers: PageLayers, image: MemoryImage
) -> dict[str, Any]:
    """The norm of the states, and the blocks in which they attend to each other."""
    reader = config.reader
    if not reader.layers:
        return {"readerNorm": layers.vectors("reader.first_norm"), "reader": None}
    stack, cells = reader.stack(config.decoder.dim), config.encoder.grid
    own = {
        name.replace("reader.", "encoder.", 1): each
        for name, each in weights.items()
        if name.startswith("reader.")
    }
    # the page writes the states of an image where others have the vectors of words
    own["encoder.embedding.table"] = np.zeros((cells[0] * cells[1], stack.dim), np.float32)
    packed = PackedStacks(stack, own, "fp32", (reader.layers, 0), cross=False)
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
