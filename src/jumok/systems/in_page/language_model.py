"""A language model as one HTML file that continues what is typed."""

from jumok.bundle.reading import TOKENIZER, Bundle
from jumok.config.causal import CausalConfig
from jumok.data.texts.tokenizer import FIRST_BYTE, ByteTokenizer, TextTokenizer, load_text_tokenizer
from jumok.data.tokenizer import END, PAD, START, UNKNOWN
from jumok.engine import Precision
from jumok.engine.image import MemoryImage
from jumok.engine.searching import SearchRules
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
from jumok.systems.native.models import lacking, native_causal


class WebLanguageModel(PageModel):
    """A bundle's model as it is in the page.

    Args:
        kind: the number format of the weights; also that of the embeddings, but for those of bytes,
            which are few.

    Attributes:
        engine: the same model on this machine, with the same numbers.

    Raises:
        ConfigError: the engine does not serve the model, or the page its tokenizer.
        BundleError: the bundle is damaged.
    """

    def __init__(self, bundle: Bundle, kind: Precision = "int8") -> None:
        super().__init__(bundle, kind)
        self.config = causal_section(bundle)
        self.tokenizer = load_text_tokenizer(bundle.folder / TOKENIZER)
        self._tokens, self._charsmap = page_texts(bundle, self.tokenizer)
        self.engine = native_causal(bundle, kind)
        factor, packed = tied_factor(self.config, tied=self.config.tied), self.engine.packed
        rounded = not isinstance(self.tokenizer, ByteTokenizer)
        self._weights = PageWeights(packed.layout, packed.arrays, factor, rounded=rounded)

    def _own(self) -> Contents:
        context, image = self.engine.context, MemoryImage()
        memory = self._weights.write(image, context)
        rules = SearchRules(1, START, END, (PAD, UNKNOWN, START), 0, [context - 1], (), 0)
        blobs = {"model": bytes(image.contents)}
        if self._charsmap:
            blobs["charsmap"] = self._charsmap
        return {
            **attention_facts(self.config, self.engine.packed.layout),
            "context": context,
            "windows": {"decoder": windows_of(self.config, self.config.layers)},
            "tokenizer": self._tokens,
            "rules": {**rules_facts(rules), "longest": rules.longest[0]},
            "engine": {"addresses": image.addresses, **memory},
        }, blobs


def causal_section(bundle: Bundle) -> CausalConfig:
    """The model's section; a ConfigError if the page cannot run the model."""
    config = bundle.section
    if not isinstance(config, CausalConfig):
        raise not_exported(bundle, f"kind = {bundle.config.model.get('kind')!r}")
    if (lacks := lacking(config)) is not None:
        raise not_exported(bundle, lacks)
    return config


def page_texts(bundle: Bundle, tokenizer: TextTokenizer) -> tuple[dict[str, object], bytes]:
    """The tokenizer of whole texts as the page has it, and its rules of normalising.

    Raises:
        ConfigError: the page does not have this kind.
    """
    if isinstance(tokenizer, ByteTokenizer):
        names = tokenizer.pieces(range(tokenizer.size))
        return {"kind": "bytes", "pieces": names, "first": FIRST_BYTE}, b""
    pieces = page_tokens(bundle, (bundle.folder / TOKENIZER).read_bytes())
    return {"kind": "lines", **pieces_facts(pieces)}, pieces.charsmap
