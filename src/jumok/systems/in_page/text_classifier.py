"""A text classifier as one HTML file that classifies what is typed."""

from typing import Any

from jumok.bundle.arrays import read_stored
from jumok.bundle.reading import Bundle
from jumok.bundle.weights import load_model
from jumok.config.masked import TextClassifierConfig
from jumok.decoding import DecodingOptions
from jumok.engine import Precision
from jumok.engine.blocks import missing_part
from jumok.engine.image import MemoryImage
from jumok.engine.transformer import NativeEncoder
from jumok.systems.in_page.layers import PageLayers
from jumok.systems.in_page.page import PageModel, not_exported, page_tokens
from jumok.systems.in_page.weights import PageWeights, attention_facts, windows_of
from jumok.systems.loading import load_tokenizer
from jumok.systems.native.models import weights_of


class WebTextClassifier(PageModel):
    """A bundle's model as it is in the page; its last layer is in float32.

    Attributes:
        engine: the same encoder on this machine, with the same numbers.
    """

    def __init__(
        self, bundle: Bundle, kind: Precision = "int8", options: DecodingOptions | None = None
    ) -> None:
        super().__init__(bundle, kind, options)
        self.config = _section(bundle)
        self.tokenizer = load_tokenizer(bundle)
        self._tokens, self.charsmap = page_tokens(bundle, self.tokenizer.model)
        self.weights = weights_of(load_model(bundle))
        integers = read_stored(bundle).integers  # which may share scales in groups
        self.engine = NativeEncoder(self.config, self.weights, kind, integers)
        packed = self.engine.packed
        self._weights = PageWeights(packed.layout, packed.arrays, None)

    @classmethod
    def check(cls, bundle: Bundle) -> None:
        _section(bundle)
        page_tokens(bundle, load_tokenizer(bundle).model)

    def _own(self, image: MemoryImage) -> dict[str, Any]:
        told, config = self.bundle.config, self.config
        return {
            **attention_facts(config, self.engine.packed.layout),
            "windows": {"encoder": windows_of(config, config.layers)},
            "maxTokens": told.max_tokens,
            "labels": list(told.labels),
            "pooling": config.pooling,
            "tokenizer": self._tokens,
            "engine": self._weights.write(image, told.max_tokens + 2),  # START and END
            "output": PageLayers(self.weights, image).linear("output"),
        }


def _section(bundle: Bundle) -> TextClassifierConfig:
    """The model's section; a ConfigError if the page cannot run the model."""
    config = bundle.section
    if not isinstance(config, TextClassifierConfig):
        raise not_exported(bundle, f"kind = {bundle.config.model.get('kind')!r}")
    if (lacks := missing_part(config)) is not None:
        raise not_exported(bundle, lacks)
    return config
