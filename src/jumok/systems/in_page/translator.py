"""A translator as one HTML file that translates by itself."""

from dataclasses import replace
from typing import Any

from jumok.bundle.reading import Bundle
from jumok.config import TransformerConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.decoding import DecodingOptions
from jumok.decoding.native import rules_of
from jumok.decoding.options import FOR_TRANSLATION
from jumok.engine import Precision
from jumok.engine.image import MemoryImage
from jumok.engine.recurrent import NativeRecurrent
from jumok.engine.transformer import NativeTransformer
from jumok.systems.in_page.page import PageModel, not_exported, page_tokens, rules_facts
from jumok.systems.in_page.weights import (
    PageWeights,
    attention_facts,
    recurrent_facts,
    tied_factor,
    windows_of,
)
from jumok.systems.loading import load_tokenizer, longest_of, longest_part
from jumok.systems.native.models import LONGEST_TARGET, lacking, native_model
from jumok.systems.translation.kept.edges import rule_of_page
from jumok.systems.translation.sentences import WITHOUT_SPACES, language_code


class WebTranslator(PageModel):
    """A bundle's model as it is in the page.

    Attributes:
        engine: the same model on this machine, with the same numbers, but that a Translator on the
            engine has its embeddings in float32.
    """

    usual = FOR_TRANSLATION

    def __init__(
        self, bundle: Bundle, kind: Precision = "int8", options: DecodingOptions | None = None
    ) -> None:
        super().__init__(bundle, kind, options)
        self.config = exported_section(bundle)
        self.tokenizer, self.max_tokens = load_tokenizer(bundle), longest_part(bundle)
        self._tokens, self.charsmap = page_tokens(bundle, self.tokenizer.model)
        most = min(self.options.maximum_length, longest_of(bundle.section) or LONGEST_TARGET)
        self.options = replace(self.options, maximum_length=most)
        self.rules = rules_of(self.options, [self.max_tokens + 1])
        self.engine = native_model(bundle, kind)
        assert isinstance(self.engine, NativeTransformer | NativeRecurrent)
        self._weights = _weights(self.config, self.engine)

    @classmethod
    def check(cls, bundle: Bundle) -> None:
        exported_section(bundle)
        page_tokens(bundle, load_tokenizer(bundle).model)

    def _own(self, image: MemoryImage) -> dict[str, Any]:
        profile, source = self.bundle.config.profile, self.bundle.config.source_language
        spaced = language_code(source) not in WITHOUT_SPACES
        return {
            **self._attention(),
            "maxTokens": self.max_tokens,
            "tokenizer": self._tokens,
            "edges": rule_of_page(),
            "profile": None if profile is None or not spaced else profile.grams,
            "rules": {
                **rules_facts(self.rules),
                "ratio": self.options.maximum_ratio,
                "extra": self.options.maximum_extra,
                "most": self.rules.longest[0],
            },
            "engine": self._weights.write(image, 1 + max(self.max_tokens, *self.rules.longest)),
        }

    def _attention(self) -> dict[str, Any]:
        config = self.config
        if isinstance(config, RecurrentConfig):
            return recurrent_facts(config)
        assert isinstance(self.engine, NativeTransformer)
        windows = {
            "encoder": windows_of(config, config.encoder_layers),
            "decoder": windows_of(config, config.decoder_layers),
        }
        return attention_facts(config, self.engine.packed.layout) | {"windows": windows}


def _weights(
    config: TransformerConfig | RecurrentConfig, engine: NativeTransformer | NativeRecurrent
) -> PageWeights:
    tied = config.tied in ("all", "target")
    if isinstance(engine, NativeRecurrent):
        return PageWeights(engine.layout, engine.packed, 1.0 if tied else None)
    assert isinstance(config, TransformerConfig)
    factor = tied_factor(config, tied=tied)
    return PageWeights(engine.packed.layout, engine.packed.arrays, factor)


def exported_section(bundle: Bundle) -> TransformerConfig | RecurrentConfig:
    """The model's section.

    Raises:
        ConfigError: the page cannot run the model.
    """
    config = bundle.section
    if not isinstance(config, TransformerConfig | RecurrentConfig):
        raise not_exported(bundle, f"kind = {bundle.config.model.get('kind')!r}")
    if (lacks := lacking(config)) is not None:
        raise not_exported(bundle, lacks)
    if bundle.config.languages:
        raise not_exported(bundle, "several pairs of languages")
    if isinstance(config, RecurrentConfig):
        return config
    if config.decoder != config:  # its page would draw self-attention
        raise not_exported(bundle, f"decoder_attention_kind = {config.decoder_attention_kind!r}")
    if not config.source_end:
        raise not_exported(bundle, "source_end = false")
    return config
