"""The weights of a model as a page holds them: in panels, from which it unpacks its tables."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jumok.config.captioner import RnnDecoderConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.stack import StackConfig
from jumok.engine.image import ImageOf, MemoryImage, field_places
from jumok.engine.packing import Packed
from jumok.engine.structures import LinearLayout, ModelLayout, RecurrentLayout

EMBEDDING_TABLES = ("source_table", "target_table")
PLACES = ("source_places", "target_places", "turn")
COUNTS: dict[type, dict[str, tuple[str, ...]]] = {
    ModelLayout: {"encoder": ("encoder_blocks",), "decoder": ("decoder_blocks",)},
    RecurrentLayout: {"encoder": ("encoder_layers", "directions"), "decoder": ("decoder_layers",)},
}


@dataclass(frozen=True)
class PageTable:
    """How the page gets a table of embeddings: from a linear layer, times a factor.

    Attributes:
        is_output: the layer is the output projection.
    """

    layer: LinearLayout
    factor: float
    is_output: bool


class PageWeights:
    """A packed model, whose embeddings become what the page's are, in the number format of the
    other weights: otherwise they would be most of the page.

    Args:
        factor: the table of what is written is the output projection times this; None: it is
            another matrix.
        rounded: without it the embeddings stay float32, as they are in Python.
    """

    def __init__(
        self,
        layout: ModelLayout | RecurrentLayout,
        packed: Packed,
        factor: float | None,
        *,
        rounded: bool = True,
    ) -> None:
        self.layout, self._packed = layout, packed
        self._tables = self._round_tables(factor) if rounded else {}

    def _round_tables(self, shared_factor: float | None) -> dict[int, PageTable]:
        """Rounds the engine's embeddings in place; by address, how the page gets them.

        Those that are not the output projection are packed in the same way.
        """
        tables = {}
        layout, packed = self.layout, self._packed
        for address in {getattr(layout, name) for name in EMBEDDING_TABLES} - {None, 0}:
            table = packed.arrays[address]
            shared = shared_factor is not None and address == layout.target_table
            layer = layout.output if shared else packed.matrix(table.astype(np.float32))
            factor = np.float32(shared_factor if shared else 1)
            table[...] = packed.floats(layer) * factor
            tables[address] = PageTable(layer, float(factor), shared)
        return tables

    def write(self, image: MemoryImage, reach: int) -> dict[str, Any]:
        """Adds the model to what the page has in memory; returns where things are in it.

        Tables of embeddings are left out: the engine unpacks them from linear layers, of which the
        output projection is usually one. Those of positions end where the texts do.

        Args:
            reach: the number of positions of the longest text.
        """
        layout, kind = self.layout, type(self.layout)
        arrays = dict(self._packed.arrays)
        for name in PLACES:
            if address := getattr(layout, name, 0):
                arrays[address] = arrays[address][:reach]
        writer = ImageOf(arrays, COUNTS[kind], frozenset(self._tables), image)
        model = writer.add(layout)
        fields = {name: model + offset for name, _, offset in field_places(kind)}
        listed = [
            {
                "layer": fields["output"] if table.is_output else writer.add(table.layer),
                "rows": table.layer.outputs,
                "columns": table.layer.inputs,
                "factor": table.factor,
                "fields": [
                    fields[name] for name in EMBEDDING_TABLES if getattr(layout, name) == address
                ],
            }
            for address, table in self._tables.items()
        ]
        return {
            "model": model,
            "tables": listed,
            "vocabulary": layout.output.outputs,
            "dim": layout.true_dim,
            **sizes_of(layout),
        }


def sizes_of(layout: ModelLayout | RecurrentLayout) -> dict[str, Any]:
    """How many heads and layers of attention there are, and how wide their vectors are."""
    if isinstance(layout, RecurrentLayout):
        widths = dict.fromkeys(("kvHeads", "headDim", "valueDim", "encoderLayers"), 0)
        cross = int(not layout.one_vector)
        return {"recurrent": True, "heads": 1, "decoderLayers": 0, "crossLayers": cross, **widths}
    crossed = layout.decoder_blocks and layout.decoder[0].cross_query.panels
    return {
        "recurrent": False,
        "heads": layout.heads,
        "kvHeads": layout.kv_heads,
        "headDim": layout.head_dim,
        "valueDim": layout.value_dim,
        "encoderLayers": layout.encoder_blocks,
        "decoderLayers": layout.decoder_blocks,
        "crossLayers": layout.decoder_blocks if crossed else 0,
    }


def tied_factor(config: StackConfig, *, tied: bool) -> float | None:
    """What the output projection times is the table of what is written; None: another matrix."""
    return config.embedding_factor if tied and config.positions_join == "add" else None


def attention_facts(config: StackConfig, layout: ModelLayout) -> dict[str, Any]:
    """What the page has to know to name the attention of a Transformer's layers.

    "recomputed": whether the page can, which it cannot where positions enter the scores.
    """
    return {
        "score": config.score,
        "recomputed": config.specs.positions.enters != "scores",
        "scale": layout.scale,
    }


def recurrent_facts(config: RnnDecoderConfig | RecurrentConfig) -> dict[str, Any]:
    """The same of an RNN's attention, whose weights the page shows as they are."""
    return {
        "score": config.attention,
        "recomputed": False,
        "scale": 1.0,
        "names": {"cross": "decoder.attention"},
    }


def windows_of(config: StackConfig, layers: int) -> list[int]:
    """The window of each layer; 0: it sees everything."""
    return [config.window_of(layer) or 0 for layer in range(layers)]
