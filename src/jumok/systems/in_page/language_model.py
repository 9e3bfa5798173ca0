"""A language model as one HTML file that continues what is typed."""

from typing import Any

from jumok.bundle.reading import TOKENIZER, Bundle
from jumok.config.causal import CausalConfig
from jumok.data.texts.tokenizer import FIRST_BYTE, ByteTokenizer, TextTokenizer, load_text_tokenizer
from jumok.data.tokenizer import END, PAD, START, UNKNOWN
from jumok.decoding import DecodingOptions
from jumok.engine import Precision
from jumok.engine.image import MemoryImage
from jumok.engine.searching import SearchRules
from jumok.systems.in_page.page import PageModel, not_exported, page_tokens, rules_facts
from jumok.systems.in_page.weights import PageWeights, attention_facts, tied_factor, windows_of
from jumok.systems.native.models import lacking, native_causal


class WebLanguageModel(PageModel):
    """A bundle's model as it is in the page; the embeddings of bytes, which are few, are float32.

    Attributes:
        engine: the same model on this machine, with the same numbers.
    """

    def __init__(
        self, bundle: Bundle, kind: Precision = "int8", options: DecodingOptions | None = None
    ) -> None:
        super().__init__(bundle, kind, options)
        self.config = causal_section(bundle)
        self.tokenizer = load_text_tokenizer(bundle.folder / TOKENIZER)
        self._tokens, self.charsmap = page_texts(bundle, self.tokenizer)
        self.engine = native_causal(bundle, kind)
        factor, packed = tied_factor(self.config, tied=self.config.tied), self.engine.packed
        rounded = not isinstance(self.tokenizer, ByteTokenizer)
        self._weights = PageWeights(packed.layout, packed.arrays, factor, rounded=rounded)

    @classmethod
    def check(cls, bundle: Bundle) -> None:
        causal_section(bundle)
        page_texts(bundle, load_text_tokenizer(bundle.folder / TOKENIZER))

    def _own(self, image: MemoryImage) -> dict[str, Any]:
        context = self.engine.context
        rules = SearchRules(1, START, END, (PAD, UNKNOWN, START), 0, [context - 1], (), 0)
        return {
            **attention_facts(self.config, self.engine.packed.layout),
            "context": context,
            "windows": {"decoder": windows_of(self.config, self.config.layers)},
            "tokenizer": self._tokens,
            "rules": {**rules_facts(rules), "longest": rules.longest[0]},
            "engine": self._weights.write(image, context),
        }


def causal_section(bundle: Bundle) -> CausalConfig:
    """The model's section; a ConfigError if the page cannot run the model."""
    config = bundle.section
    if not isinstance(config, CausalConfig):
        raise not_exported(bundle, f"kind = {bundle.config.model.get('kind')!r}")
    if (lacks := lacking(config)) is not None:
        raise not_exported(bundle, lacks)
    return config


def page_texts(bundle: Bundle, tokenizer: TextTokenizer) -> tuple[dict[str, Any], bytes]:
    """The tokenizer of whole texts as the page has it, and its rules of normalising.

    Raises:
        ConfigError: the page does not have this kind.
    """
    if isinstance(tokenizer, ByteTokenizer):
        names = tokenizer.pieces(range(tokenizer.size))
        return {"kind": "bytes", "pieces": names, "first": FIRST_BYTE}, b""
    pieces, charsmap = page_tokens(bundle, (bundle.folder / TOKENIZER).read_bytes())
    return {"kind": "lines", **pieces}, charsmap
