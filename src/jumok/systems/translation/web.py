"""A translator as one HTML file that translates by itself, without a server or a network.

The file holds the page of `jumok look`, the engine in WebAssembly, and the model's weights. The
engine reads them as `MemoryImage` lays them out; the page has the tokenizer's subwords, and cuts
text as SentencePiece does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jumok.bundle.reading import Bundle
from jumok.config import TransformerConfig
from jumok.data.pieces import PieceTable, read_pieces
from jumok.decoding import DecodingOptions
from jumok.decoding.native import rules_of
from jumok.decoding.options import FOR_TRANSLATION
from jumok.engine import Precision
from jumok.engine.image import ImageOf, MemoryImage, field_places
from jumok.engine.structures import LinearLayout, ModelLayout
from jumok.engine.transformer import NativeTransformer
from jumok.engine.wasm import engine_wasm
from jumok.errors import ConfigError, Location
from jumok.inspection.findings import TraceFindings
from jumok.inspection.page.document import document
from jumok.inspection.page.tours import built_in
from jumok.inspection.trace import Level, Trace
from jumok.kinds import page_facts
from jumok.systems.loading import load_tokenizer, longest_of, longest_part, reading_of
from jumok.systems.native.models import LONGEST_TARGET, lacking, native_model
from jumok.systems.translation.kept.edges import rule_of_page

ENTRY = "exported.js"
EMBEDDING_TABLES = ("source_table", "target_table")
PLACES = ("source_places", "target_places", "turn")
BLOCK_COUNTS = {"encoder": "encoder_blocks", "decoder": "decoder_blocks"}


@dataclass(frozen=True)
class PageTable:
    """How the page gets a table of embeddings: from a linear layer, times a factor.

    Attributes:
        is_output: the layer is the output projection.
    """

    layer: LinearLayout
    factor: float
    is_output: bool


class WebTranslator:
    """A bundle's model as it is in the page.

    Args:
        kind: the number format of the weights. The embeddings have it too, which they have not in
            a Translator on the engine: otherwise they would be most of the page.

    Attributes:
        engine: the same model on this machine, with the same numbers.

    Raises:
        ConfigError: the engine does not serve the model, or the page its tokenizer.
        BundleError: the bundle does not translate, or is damaged.
    """

    def __init__(
        self, bundle: Bundle, kind: Precision = "int8", options: DecodingOptions = FOR_TRANSLATION
    ) -> None:
        self.config = exported_section(bundle)
        self.bundle, self.kind = bundle, kind
        self.tokenizer, self.max_tokens = load_tokenizer(bundle), longest_part(bundle)
        self.pieces = _page_tokens(bundle, self.tokenizer.model)
        most = min(options.maximum_length, longest_of(bundle.section) or LONGEST_TARGET)
        self.options = replace(options, maximum_length=most)
        self.rules = rules_of(self.options, [self.max_tokens + 1])
        model = native_model(bundle, kind)
        assert isinstance(model, NativeTransformer)
        self.engine = model
        self._tables = self._round_tables()

    def page(self, title: str, examples: Sequence[str] = ()) -> str:
        """The HTML file.

        Args:
            title: the model's name on the page.
            examples: texts that the page offers; it opens with the first one.

        Raises:
            ConfigError: the engine cannot be compiled to WebAssembly here.
        """
        facts, blobs = self.contents(title, examples)
        return document(ENTRY, facts, blobs=blobs)

    def contents(
        self, title: str, examples: Sequence[str] = ()
    ) -> tuple[dict[str, object], dict[str, bytes]]:
        """What the page holds: facts, which are plain JSON, and bytes by the ids of elements."""
        image, memory = self._image()
        blobs = {"wasm": engine_wasm(), "model": bytes(image.contents)}
        if self.pieces.charsmap:
            blobs["charsmap"] = self.pieces.charsmap
        tours = {"tours": [tour.payload() for tour in built_in()]}
        return self._facts(title, examples) | tours | {"engine": memory}, blobs

    def _facts(self, title: str, examples: Sequence[str]) -> dict[str, object]:
        """What the page has to know besides the weights."""
        findings = TraceFindings(setting=reading_of(self.bundle.config))
        level: Level = "weights" if self._layout.slopes else "qk"
        empty = Trace(title, level, "", "", {}, (), findings=findings)
        rules, pieces = self.rules, self.pieces
        return {
            "trace": empty.head() | {"kind": page_facts("translation", pictures=False)},
            "examples": list(examples),
            "weights": self.bundle.parameters,
            "precision": self.kind,
            "maxTokens": self.max_tokens,
            "score": self.config.score,
            "windows": {
                "encoder": windows_of(self.config, self.config.encoder_layers),
                "decoder": windows_of(self.config, self.config.decoder_layers),
            },
            "recomputed": not self._layout.slopes,
            "scale": self._layout.scale,
            "tokenizer": {
                "segmentation": pieces.segmentation,
                "pieces": pieces.subwords,
                "scores": pieces.scores,
                "types": pieces.types,
                "byteFallback": pieces.byte_fallback,
                "dummyPrefix": pieces.dummy_prefix,
                "removeExtra": pieces.remove_extra,
                "unknown": pieces.unknown,
            },
            "edges": rule_of_page(),
            "rules": {
                "beam": rules.beam,
                "start": rules.start,
                "end": rules.end,
                "minimum": rules.minimum,
                "enough": rules.enough,
                "forbidden": list(rules.forbidden),
                "penalties": list(rules.penalties),
                "ratio": self.options.maximum_ratio,
                "extra": self.options.maximum_extra,
                "most": rules.longest[0],
            },
        }

    @property
    def _layout(self) -> ModelLayout:
        return self.engine.packed.layout

    def _round_tables(self) -> dict[int, PageTable]:
        """Makes the engine's embeddings what the page's are; by address, how the page gets them.

        They are the output projection times a factor, where that holds the same matrix; otherwise
        they are packed in the same way.
        """
        tables = {}
        layout, packed = self._layout, self.engine.packed.arrays
        as_output = self.config.tied != "none" and self.config.positions_join == "add"
        for address in {getattr(layout, name) for name in EMBEDDING_TABLES}:
            table = packed.arrays[address]
            shared = as_output and address == layout.target_table
            layer = layout.output if shared else packed.matrix(table.astype(np.float32))
            factor = np.float32(self.config.embedding_factor if shared else 1)
            table[...] = packed.floats(layer) * factor
            tables[address] = PageTable(layer, float(factor), shared)
        return tables

    def _image(self) -> tuple[MemoryImage, dict[str, Any]]:
        """The model in memory, and where things are in it.

        Tables of embeddings are left out: the engine unpacks them from linear layers, of which the
        output projection is usually one. Those of positions end where the texts do.
        """
        layout = self._layout
        reach = 1 + max(self.max_tokens, *self.rules.longest)
        arrays = dict(self.engine.packed.arrays.arrays)
        for name in PLACES:
            if address := getattr(layout, name):
                arrays[address] = arrays[address][:reach]
        writer = ImageOf(arrays, BLOCK_COUNTS, frozenset(self._tables))
        model = writer.add(layout)
        fields = {name: model + offset for name, _, offset in field_places(ModelLayout)}
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
        return writer.image, {
            "addresses": writer.image.addresses,
            "model": model,
            "tables": listed,
            "heads": layout.heads,
            "kvHeads": layout.kv_heads,
            "headDim": layout.head_dim,
            "valueDim": layout.value_dim,
            "encoderLayers": layout.encoder_blocks,
            "decoderLayers": layout.decoder_blocks,
        }


def exported_section(bundle: Bundle) -> TransformerConfig:
    """The model's section.

    Raises:
        ConfigError: the page cannot run the model.
    """
    config = bundle.section
    if not isinstance(config, TransformerConfig):
        raise _not_exported(bundle, f"kind = {bundle.config.model.get('kind')!r}")
    if (lacks := lacking(config)) is not None:
        raise _not_exported(bundle, lacks)
    return config


def windows_of(config: TransformerConfig, layers: int) -> list[int]:
    """The window of each layer; 0: it sees everything."""
    return [config.window_of(layer) or 0 for layer in range(layers)]


def _page_tokens(bundle: Bundle, model: bytes) -> PieceTable:
    if model.startswith(b"{"):  # an imported one
        raise _not_exported(bundle, "a tokenizer that is not one SentencePiece model")
    pieces = read_pieces(model)
    if (lacks := pieces.lacks_in_page) is not None:
        raise _not_exported(bundle, lacks)
    return pieces


def _not_exported(bundle: Bundle, lacks: str) -> ConfigError:
    return ConfigError(
        "this model cannot be exported to a page.",
        expected="a Transformer for translation that the native engine serves",
        got=lacks,
        place=Location(bundle.folder),
    )
