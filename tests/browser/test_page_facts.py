"""What Python writes of a model into a page has the names and types that the page expects."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumok.bundle.reading import read_bundle
from jumok.engine.structures import library
from jumok.engine.wasm import missing_compiler
from jumok.systems.in_page.captioner import WebCaptioner
from jumok.systems.in_page.image_classifier import WebImageClassifier
from jumok.systems.in_page.language_model import WebLanguageModel
from jumok.systems.in_page.page import PageModel
from jumok.systems.in_page.text_classifier import WebTextClassifier
from jumok.systems.in_page.translator import WebTranslator
from tests.browser.bare import SHORT
from tests.browser.test_page_exported_labels import write_pictures, write_texts
from tests.browser.test_page_exported_texts import write_model
from tests.browser.test_page_payload import ROOT, names_in, pytestmark, wrong
from tests.systems.pictures import READER, write_captioner
from tests.systems.test_ordinary_module import transformer
from tests.systems.untrained import write_rnn

FACTS = ROOT / "web" / "model" / "facts.d.ts"

pytestmark = [
    pytestmark,
    pytest.mark.skipif(library() is None, reason="needs a C compiler"),
    pytest.mark.skipif(missing_compiler() is not None, reason="needs zig"),
]


def models(folder: Path) -> Iterator[tuple[str, PageModel]]:
    """A type, and a model whose facts should be of it."""
    yield "TranslatorFacts", WebTranslator(read_bundle(transformer(folder / "a")), "int8", SHORT)
    yield "TranslatorFacts", WebTranslator(read_bundle(write_rnn(folder / "b")), "int8", SHORT)
    yield "LanguageModelFacts", WebLanguageModel(read_bundle(write_model(folder / "c")))
    yield "LanguageModelFacts", WebLanguageModel(read_bundle(write_model(folder / "d", "lines")))
    yield "CaptionerFacts", WebCaptioner(read_bundle(write_captioner(folder / "e")))
    read = write_captioner(folder / "f", reader=READER)
    yield "CaptionerFacts", WebCaptioner(read_bundle(read))
    one = write_captioner(folder / "g", memory="one")
    yield "CaptionerFacts", WebCaptioner(read_bundle(one))
    yield "TextClassifierFacts", WebTextClassifier(read_bundle(write_texts(folder / "h")))
    pictures = write_pictures(folder / "i", attention_after=(1, 2), mixing_after=(2,))
    yield "ImageClassifierFacts", WebImageClassifier(read_bundle(pictures))


def test_what_python_writes_of_a_model_is_what_its_page_expects(tmp_path):
    """Every name that is written has a type, every value is of it, and no type has other names."""
    typed = [(kind, model.contents("a")[0]) for kind, model in models(tmp_path)]
    assert wrong(tmp_path, typed, FACTS) == ""
    expected = re.findall(r"^  (\w+)\??:(?! undefined)", FACTS.read_text("utf-8"), re.MULTILINE)
    blobs = {"wasm", "model", "charsmap"}
    assert set(expected) - names_in([each for _, each in typed]) - blobs == set()
