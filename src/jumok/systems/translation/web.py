"""A translator as one HTML file that translates by itself, without a server or a network.

The file holds the page of `jumok look`, the engine in WebAssembly, and the model's weights. The
engine reads them as `MemoryImage` lays them out; the page has the tokenizer's subwords, and cuts text
as SentencePiece does.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jumok.bundle.reading import Bundle
from jumok.bundle.weights import load_model, section_of
from jumok.config import TransformerConfig
from jumok.data.pieces import PieceTable, read_pieces
from jumok.data.tokenizer import END
from jumok.decoding import DecodingOptions
from jumok.engine.image import ImageOf, MemoryImage, places_of
from jumok.engine.packing import Kind, Weights, rounded
from jumok.engine.structures import ModelLayout
from jumok.engine.transformer import NativeTransformer, missing
from jumok.engine.wasm import engine_wasm
from jumok.errors import ConfigError, Place
from jumok.inspection.findings import TraceFindings
from jumok.inspection.page.document import document
from jumok.inspection.trace import Trace
from jumok.kinds import page_facts
from jumok.systems.loading import reading_of
from jumok.systems.translation.native import NativeTranslator, position_vectors
from jumok.systems.translation.translator import DEFAULTS

ENTRY = "exported.js"
TABLES = ("source_table", "target_table")
COUNTS = {"encoder": "encoder_blocks", "decoder": "decoder_blocks"}


class WebTranslator:
    """A bundle's model as it is in the page.

    Args:
        kind: the number format of the weights. The embeddings have it too, which they have not in
            `NativeTranslator`: otherwise they would be most of the page.

    Attributes:
        engine: the same model on this machine, with the same numbers.

    Raises:
        ConfigError: the engine does not serve the model, or the page its tokenizer.
        BundleError: the bundle does not translate, or is damaged.
    """

    def __init__(
        self, bundle: Bundle, kind: Kind = "int8", options: DecodingOptions = DEFAULTS
    ) -> None:
        self.config = _served(bundle)
        self.bundle, self.kind, self.options = bundle, kind, options
        native = NativeTranslator(bundle, kind)
        self.tokenizer, self.max_tokens = native.tokenizer, native.max_tokens
        self.pieces = _pieces(bundle, self.tokenizer.model)
        self.rules = native.rules(options, [[END] * (self.max_tokens + 1)])
        state = load_model(bundle).state_dict()
        weights = _with_rounded_tables({name: each.numpy() for name, each in state.items()}, kind)
        self.reach = 1 + max(self.max_tokens, *self.rules.longest)
        places = position_vectors(self.config, weights, self.reach)
        self.engine = NativeTransformer(self.config, weights, places, kind)

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
        return self._facts(title, examples) | {"engine": memory}, blobs

    def _facts(self, title: str, examples: Sequence[str]) -> dict[str, object]:
        """What the page has to know besides the weights."""
        findings = TraceFindings(setting=reading_of(self.bundle.config))
        empty = Trace(title, "weights", "", "", {}, (), findings=findings)
        rules, pieces = self.rules, self.pieces
        return {
            "trace": empty.head() | {"kind": page_facts("translation", pictures=False)},
            "examples": list(examples),
            "weights": self.bundle.parameters,
            "precision": self.kind,
            "maxTokens": self.max_tokens,
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
        return self.engine.memory[0]

    def _image(self) -> tuple[MemoryImage, dict[str, Any]]:
        """The model in memory, and where things are in it.

        Tables of embeddings are left out: the engine unpacks them from linear layers, of which the
        output projection is usually one.
        """
        layout, packed = self.engine.memory
        tables = {getattr(layout, name) for name in TABLES}
        writer = ImageOf(packed.arrays, COUNTS, frozenset(tables))
        model = writer.add(layout)
        fields = {name: model + offset for name, _, offset in places_of(ModelLayout)}
        listed = []
        for address in tables:
            table = packed.arrays[address].astype(np.float32, copy=False)
            layer = fields["output"]
            if address != layout.target_table or self.config.tied == "none":
                layer = writer.add(packed.matrix(table))
            listed.append(
                {
                    "layer": layer,
                    "rows": len(table),
                    "columns": layout.dim,
                    "fields": [fields[name] for name in TABLES if getattr(layout, name) == address],
                }
            )
        image = writer.image
        return image, {
            "addresses": image.addresses,
            "model": model,
            "tables": listed,
            "heads": layout.heads,
            "encoderLayers": layout.encoder_blocks,
            "decoderLayers": layout.decoder_blocks,
        }


def _served(bundle: Bundle) -> TransformerConfig:
    """The model's section, if the page can run it."""
    config = section_of(bundle)
    if not isinstance(config, TransformerConfig):
        raise _not_exported(bundle, f"kind = {bundle.config.model.get('kind')!r}")
    if (lacking := missing(config)) is not None:
        raise _not_exported(bundle, lacking)
    return config


def _pieces(bundle: Bundle, model: bytes) -> PieceTable:
    pieces = read_pieces(model)
    if (lacking := pieces.lacks_in_page) is not None:
        raise _not_exported(bundle, lacking)
    return pieces


def _with_rounded_tables(weights: Weights, kind: Kind) -> Weights:
    """The weights, with embeddings as the page stores them; tied ones stay one array."""
    found: dict[int, Any] = {}
    result = dict(weights)
    for name, array in weights.items():
        if name.endswith((".embedding.table", "decoder.output.weight")):
            address = array.ctypes.data
            if address not in found:
                found[address] = rounded(array, kind)
            result[name] = found[address]
    return result


def _not_exported(bundle: Bundle, lacking: str) -> ConfigError:
    return ConfigError(
        "this model cannot be exported to a page.",
        expected="a Transformer for translation that the native engine serves",
        got=lacking,
        place=Place(bundle.folder),
    )
