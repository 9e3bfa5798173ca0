"""A page that runs the model, in any browser."""

from dataclasses import replace
from pathlib import Path

from jumok.bundle.reading import Bundle
from jumok.engine.wasm import is_built, missing_compiler
from jumok.errors import ConfigError
from jumok.export.format import ExportFormat, ExportOptions, Obstacle
from jumok.systems.in_page.captioner import WebCaptioner
from jumok.systems.in_page.image_classifier import WebImageClassifier
from jumok.systems.in_page.language_model import WebLanguageModel
from jumok.systems.in_page.page import PageModel
from jumok.systems.in_page.text_classifier import WebTextClassifier
from jumok.systems.in_page.translator import WebTranslator

PAGES: dict[str, type[PageModel]] = {
    "translation": WebTranslator,
    "captioning": WebCaptioner,
    "language-model": WebLanguageModel,
    "text-classification": WebTextClassifier,
    "image-classification": WebImageClassifier,
}
"""By the task."""


def obstacle(bundle: Bundle) -> Obstacle | None:
    """What the page cannot run."""
    if bundle.config.task not in PAGES:
        known = ", ".join(PAGES)
        return Obstacle(f"a page is for {known}, and this model for {bundle.config.task}")
    try:
        PAGES[bundle.config.task].check(bundle)
    except ConfigError as error:
        return Obstacle(str(error.got))
    return None


def write(bundle: Bundle, file: Path, options: ExportOptions) -> str:
    """The page computes what the engine of this machine computes, which its tests compare.

    Raises:
        ConfigError: there is no compiler for WebAssembly.
    """
    if (lacking := missing_compiler()) is not None:
        raise lacking
    if not is_built():
        options.say("compiling the engine to WebAssembly, once: about a minute ...")
    kind = PAGES[bundle.config.task]
    model = kind(bundle, options.precision, replace(kind.usual, beam=options.beam))
    file.write_text(model.page(options.title, options.examples, options.address), encoding="utf-8")
    return ""


WEB = ExportFormat(
    name="web",
    reads="any browser",
    precisions=("int8", "bf16", "fp32"),
    obstacle=obstacle,
    write=write,
    file="index.html",
)
