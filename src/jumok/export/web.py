"""A page that runs the model, in any browser."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from jumok.bundle.reading import TOKENIZER, Bundle
from jumok.data.texts.tokenizer import load_text_tokenizer
from jumok.decoding.options import FOR_CAPTIONS, FOR_TRANSLATION
from jumok.engine.wasm import is_built, missing_compiler
from jumok.errors import ConfigError
from jumok.export.format import ExportFormat, ExportOptions, Obstacle
from jumok.systems.in_page.captioner import WebCaptioner, captioner_section
from jumok.systems.in_page.language_model import WebLanguageModel, causal_section, page_texts
from jumok.systems.in_page.page import PageModel, page_tokens
from jumok.systems.in_page.translator import WebTranslator, exported_section
from jumok.systems.loading import load_tokenizer


def _check_translator(bundle: Bundle) -> None:
    exported_section(bundle)
    page_tokens(bundle, load_tokenizer(bundle).model)


def _check_language_model(bundle: Bundle) -> None:
    causal_section(bundle)
    page_texts(bundle, load_text_tokenizer(bundle.folder / TOKENIZER))


def _check_captioner(bundle: Bundle) -> None:
    captioner_section(bundle)
    page_tokens(bundle, load_tokenizer(bundle).model)


def _translator(bundle: Bundle, options: ExportOptions) -> PageModel:
    return WebTranslator(bundle, options.precision, replace(FOR_TRANSLATION, beam=options.beam))


def _language_model(bundle: Bundle, options: ExportOptions) -> PageModel:
    return WebLanguageModel(bundle, options.precision)


def _captioner(bundle: Bundle, options: ExportOptions) -> PageModel:
    return WebCaptioner(bundle, options.precision, replace(FOR_CAPTIONS, beam=options.beam))


KINDS_OF_PAGES: dict[
    str, tuple[Callable[[Bundle], None], Callable[[Bundle, ExportOptions], PageModel]]
] = {
    "translation": (_check_translator, _translator),
    "captioning": (_check_captioner, _captioner),
    "language-model": (_check_language_model, _language_model),
}
"""By the task: what raises a ConfigError where the page cannot run a model, and what makes it."""


def obstacle(bundle: Bundle) -> Obstacle | None:
    """What the page cannot run."""
    if bundle.config.task not in KINDS_OF_PAGES:
        known = ", ".join(KINDS_OF_PAGES)
        return Obstacle(f"a page is for {known}, and this model for {bundle.config.task}")
    check, _ = KINDS_OF_PAGES[bundle.config.task]
    try:
        check(bundle)
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
    _, make = KINDS_OF_PAGES[bundle.config.task]
    file.write_text(
        make(bundle, options).page(options.title, options.examples, options.address),
        encoding="utf-8",
    )
    return ""


WEB = ExportFormat(
    name="web",
    reads="any browser",
    precisions=("int8", "bf16", "fp32"),
    obstacle=obstacle,
    write=write,
    file="index.html",
)
