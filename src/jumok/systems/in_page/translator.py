"""A translator as one HTML file that translates by itself."""

from dataclasses import replace

from jumok.bundle.reading import Bundle
from jumok.config import TransformerConfig
from jumok.decoding import DecodingOptions
from jumok.decoding.native import rules_of
from jumok.decoding.options import FOR_TRANSLATION
from jumok.engine import Precision
from jumok.engine.image import MemoryImage
from jumok.engine.transformer import NativeTransformer
from jumok.systems.in_page.page import (
    Contents,
    PageModel,
    not_exported,
    page_tokens,
    pieces_facts,
    rules_facts,
)
from jumok.systems.in_page.weights import (
    PageWeights,
    attention_facts,
    tied_factor,
    windows_of,
)
from jumok.systems.loading import load_tokenizer, longest_of, longest_part
from jumok.systems.native.models import LONGEST_TARGET, lacking, native_model
from jumok.systems.translation.kept.edges import rule_of_page


class WebTranslator(PageModel):
    """A bundle's model as it is in the page.

    Args:
        kind: the number format of the weights. The embeddings have it too, which they have not in
            a Translator on the engine.

    Attributes:
        engine: the same model on this machine, with the same numbers.

    Raises:
        ConfigError: the engine does not serve the model, or the page its tokenizer.
        BundleError: the bundle does not translate, or is damaged.
    """

    def __init__(
        self, bundle: Bundle, kind: Precision = "int8", options: DecodingOptions = FOR_TRANSLATION
    ) -> None:
        super().__init__(bundle, kind)
        self.config = exported_section(bundle)
        self.tokenizer, self.max_tokens = load_tokenizer(bundle), longest_part(bundle)
        self.pieces = page_tokens(bundle, self.tokenizer.model)
        most = min(options.maximum_length, longest_of(bundle.section) or LONGEST_TARGET)
        self.options = replace(options, maximum_length=most)
        self.rules = rules_of(self.options, [self.max_tokens + 1])
        model = native_model(bundle, kind)
        assert isinstance(model, NativeTransformer)
        self.engine = model
        factor = tied_factor(self.config, tied=self.config.tied in ("all", "target"))
        self._weights = PageWeights(model.packed.layout, model.packed.arrays, factor)

    def _own(self) -> Contents:
        config, image = self.config, MemoryImage()
        memory = self._weights.write(image, 1 + max(self.max_tokens, *self.rules.longest))
        blobs = {"model": bytes(image.contents)}
        if self.pieces.charsmap:
            blobs["charsmap"] = self.pieces.charsmap
        return {
            **attention_facts(config, self.engine.packed.layout),
            "maxTokens": self.max_tokens,
            "windows": {
                "encoder": windows_of(config, config.encoder_layers),
                "decoder": windows_of(config, config.decoder_layers),
            },
            "tokenizer": pieces_facts(self.pieces),
            "edges": rule_of_page(),
            "rules": {
                **rules_facts(self.rules),
                "ratio": self.options.maximum_ratio,
                "extra": self.options.maximum_extra,
                "most": self.rules.longest[0],
            },
            "engine": {"addresses": image.addresses, **memory},
        }, blobs


def exported_section(bundle: Bundle) -> TransformerConfig:
    """The model's section.

    Raises:
        ConfigError: the page cannot run the model.
    """
    config = bundle.section
    if not isinstance(config, TransformerConfig):
        raise not_exported(bundle, f"kind = {bundle.config.model.get('kind')!r}")
    if (lacks := lacking(config)) is not None:
        raise not_exported(bundle, lacks)
    if bundle.config.languages:
        raise not_exported(bundle, "several pairs of languages")
    if config.decoder != config:  # its page would draw self-attention
        raise not_exported(bundle, f"decoder_attention_kind = {config.decoder_attention_kind!r}")
    if not config.source_end:
        raise not_exported(bundle, "source_end = false")
    return config
