"""A captioner as one HTML file that writes what is on a photograph."""

from dataclasses import replace
from typing import Any

from jumok.bundle.reading import Bundle
from jumok.bundle.weights import load_model
from jumok.config.captioner import CaptionerConfig, CnnConfig, RnnDecoderConfig
from jumok.decoding import DecodingOptions
from jumok.decoding.native import rules_of
from jumok.decoding.options import FOR_CAPTIONS
from jumok.engine import Precision
from jumok.engine.blocks import missing_part
from jumok.engine.captioner import native_decoder
from jumok.engine.image import MemoryImage
from jumok.engine.recurrent import NativeRecurrent
from jumok.engine.transformer import NativeTransformer
from jumok.systems.in_page.image_encoder import encoder_facts
from jumok.systems.in_page.page import PageModel, not_exported, page_tokens, rules_facts
from jumok.systems.in_page.weights import (
    PageWeights,
    attention_facts,
    recurrent_facts,
    tied_factor,
    windows_of,
)
from jumok.systems.loading import load_tokenizer
from jumok.systems.native.models import lacking, weights_of


class WebCaptioner(PageModel):
    """A bundle's model as it is in the page; images are read in float32, as beside the engine in
    Python.

    Attributes:
        engine: the same decoder on this machine, with the same numbers.
        model: the whole model, on torch.
    """

    usual = FOR_CAPTIONS

    def __init__(
        self, bundle: Bundle, kind: Precision = "int8", options: DecodingOptions | None = None
    ) -> None:
        super().__init__(bundle, kind, options)
        self.config = captioner_section(bundle)
        self.tokenizer = load_tokenizer(bundle)
        self._tokens, self.charsmap = page_tokens(bundle, self.tokenizer.model)
        self.model = load_model(bundle)
        engine = native_decoder(self.config, weights_of(self.model), kind)
        assert isinstance(engine, NativeTransformer | NativeRecurrent)
        self.engine = engine
        most = min(self.options.maximum_length, bundle.config.max_tokens)
        if engine.positions is not None:
            most = min(most, engine.positions - 1)
        self.options = replace(self.options, maximum_length=most)
        cells = self.config.encoder.grid
        self.rules = rules_of(self.options, [cells[0] * cells[1]])
        if isinstance(engine, NativeRecurrent):
            self._weights = PageWeights(engine.layout, engine.packed, 1.0)
            return
        decoder = self.config.decoder
        assert not isinstance(decoder, RnnDecoderConfig)
        factor = tied_factor(decoder, tied=True)
        self._weights = PageWeights(engine.packed.layout, engine.packed.arrays, factor)

    @classmethod
    def check(cls, bundle: Bundle) -> None:
        captioner_section(bundle)
        page_tokens(bundle, load_tokenizer(bundle).model)

    def _own(self, image: MemoryImage) -> dict[str, Any]:
        return {
            **self._attention(),
            "tokenizer": self._tokens,
            "rules": {**rules_facts(self.rules), "longest": self.rules.longest[0]},
            "engine": self._weights.write(image, 1 + self.rules.longest[0]),
            "encoder": encoder_facts(self.config, weights_of(self.model), image),
        }

    def _attention(self) -> dict[str, Any]:
        decoder, engine = self.config.decoder, self.engine
        if isinstance(decoder, RnnDecoderConfig):
            return recurrent_facts(decoder)
        assert isinstance(engine, NativeTransformer)
        windows = {"decoder": windows_of(decoder, decoder.layers)}
        return attention_facts(decoder, engine.packed.layout) | {"windows": windows}


def captioner_section(bundle: Bundle) -> CaptionerConfig:
    """The model's section; a ConfigError if the page cannot run the model."""
    config = bundle.section
    if not isinstance(config, CaptionerConfig):
        raise not_exported(bundle, f"kind = {bundle.config.model.get('kind')!r}")
    if not isinstance(config.encoder, CnnConfig):
        raise not_exported(bundle, f"encoder.kind = {config.encoder.kind!r}")
    lacks = lacking(config)
    if lacks is None and config.reader.layers:
        lacks = missing_part(config.reader.stack(config.decoder.dim))
    if lacks is not None:
        raise not_exported(bundle, lacks)
    return config
