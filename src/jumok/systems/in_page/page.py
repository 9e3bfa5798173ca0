"""What the pages of all kinds of models have in common.

A file holds the page of `jumok look`, the engine in WebAssembly, and the model's weights. The
engine reads them as `MemoryImage` lays them out; the page has the tokenizer's subwords, and cuts
text as SentencePiece does.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from jumok.bundle.reading import Bundle
from jumok.data.pieces import read_pieces
from jumok.decoding import DecodingOptions
from jumok.engine import Precision
from jumok.engine.image import MemoryImage
from jumok.engine.searching import SearchRules
from jumok.engine.wasm import engine_wasm
from jumok.errors import ConfigError, Location
from jumok.inspection.findings import TraceFindings
from jumok.inspection.page.document import PageHead, document
from jumok.inspection.page.tours import built_in
from jumok.inspection.trace import Level, Trace
from jumok.kinds import page_facts
from jumok.systems.loading import reading_of

ENTRY = "exported.js"

Contents = tuple[dict[str, object], dict[str, bytes]]
"""Facts, which are plain JSON, and bytes by the ids of elements."""


HEADLINES: dict[str, tuple[str, str]] = {
    "translation": (
        "a translator in one page",
        "This page contains a whole translator. Type: it translates here, sends nothing, and shows "
        "what it attended to.",
    ),
    "language-model": (
        "a language model in one page",
        "This page contains a whole language model. Type: it continues here, sends nothing, and "
        "shows what it attended to.",
    ),
    "captioning": (
        "a captioner in one page",
        "This page contains a model that describes photographs. Drop one: it is not sent, and the "
        "page shows where each word attended.",
    ),
    "text-classification": (
        "a classifier in one page",
        "This page contains a whole classifier. Type: it reads here, sends nothing, and shows what "
        "made the label.",
    ),
    "image-classification": (
        "a classifier in one page",
        "This page contains a model that names what is on a picture. Drop one: it is not sent.",
    ),
}
"""By the task: the title after the model's name, and the description, for previews of links."""


class PageModel(ABC):
    """A bundle's model as it is in the page.

    Attributes:
        usual: how the model searches for its output by default.
        charsmap: the tokenizer's compiled rules of normalising; b"": it has none.

    Args:
        kind: the number format of the weights, embeddings included.

    Raises:
        ConfigError: the page does not have everything that the model consists of.
        BundleError: the bundle is damaged.
    """

    usual: ClassVar[DecodingOptions] = DecodingOptions()
    charsmap = b""

    def __init__(
        self, bundle: Bundle, kind: Precision = "int8", options: DecodingOptions | None = None
    ) -> None:
        self.check(bundle)
        self.bundle, self.kind, self.options = bundle, kind, options or self.usual

    @classmethod
    @abstractmethod
    def check(cls, bundle: Bundle) -> None:
        """Raises a ConfigError if the page cannot run the model."""

    def page(self, title: str, examples: Sequence[str] = (), address: str = "") -> str:
        """The HTML file.

        Args:
            title: the model's name on the page.
            examples: texts that the page offers; it opens with the first one.
            address: as in `PageHead`.

        Raises:
            ConfigError: the engine cannot be compiled to WebAssembly here.
        """
        facts, blobs = self.contents(title, examples)
        what, description = HEADLINES[self.bundle.config.task]
        head = PageHead(f"{title}: {what}", description, address)
        return document(ENTRY, facts, blobs=blobs, head=head)

    def contents(self, title: str, examples: Sequence[str] = ()) -> Contents:
        """What the page holds."""
        image = MemoryImage()
        own = self._own(image)
        task = self.bundle.config.task
        level: Level = "qk" if own["recomputed"] else "weights"
        findings = TraceFindings(setting=reading_of(self.bundle.config))
        empty = Trace(title, level, "", "", {}, (), findings=findings, task=task)
        reads = page_facts(task, pictures=False)
        return {
            "task": task,
            "trace": empty.head() | {"kind": reads},
            "examples": list(examples) if reads["reads"] == "text" else [],
            "weights": self.bundle.parameters,
            "precision": self.kind,
            "tours": [tour.payload() for tour in built_in()],
            **own,
            "engine": {"addresses": image.addresses, **own["engine"]},
        }, {
            "wasm": engine_wasm(),
            "model": bytes(image.contents),
            **({"charsmap": self.charsmap} if self.charsmap else {}),
        }

    @abstractmethod
    def _own(self, image: MemoryImage) -> dict[str, Any]:
        """What the page holds of this kind of model, whose weights are added to the image."""


def rules_facts(rules: SearchRules) -> dict[str, Any]:
    """The rules of a search as the page has them, without its length."""
    return {
        "beam": rules.beam,
        "start": rules.start,
        "end": rules.end,
        "minimum": rules.minimum,
        "enough": rules.enough,
        "forbidden": list(rules.forbidden),
        "penalties": list(rules.penalties),
    }


def page_tokens(bundle: Bundle, model: bytes) -> tuple[dict[str, Any], bytes]:
    """The tokenizer as the page has it, and its rules of normalising.

    Raises:
        ConfigError: the page does not cut texts as it does.
    """
    if model.startswith(b"{"):  # an imported one
        raise not_exported(bundle, "a tokenizer that is not one SentencePiece model")
    pieces = read_pieces(model)
    if (lacks := pieces.lacks_in_page) is not None:
        raise not_exported(bundle, lacks)
    return {
        "segmentation": pieces.segmentation,
        "pieces": pieces.subwords,
        "scores": pieces.scores,
        "types": pieces.types,
        "byteFallback": pieces.byte_fallback,
        "dummyPrefix": pieces.dummy_prefix,
        "removeExtra": pieces.remove_extra,
        "unknown": pieces.unknown,
    }, pieces.charsmap


def not_exported(bundle: Bundle, lacks: str) -> ConfigError:
    """The error for a model that a page cannot run."""
    return ConfigError(
        "this model cannot be exported to a page.",
        expected="a model that the native engine serves",
        got=lacks,
        place=Location(bundle.folder),
    )
