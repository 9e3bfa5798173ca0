"""A model in a page: offline, the same translations and attention as the engine's in Python."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from jumok.bundle.reading import read_bundle
from jumok.data.tokenizer import END
from jumok.engine.forced import Watched
from jumok.engine.structures import library
from jumok.engine.wasm import SHIPPED
from jumok.smallworld.corpus import pairs
from jumok.systems.translation.native import NativeTranslator
from jumok.systems.translation.web import WebTranslator
from tests.browser.exporting import bare_page
from tests.systems.test_ordinary_module import transformer

pytestmark = [
    pytest.mark.skipif(library() is None, reason="needs a C compiler"),
    pytest.mark.skipif(
        find_spec("ziglang") is None and not SHIPPED.exists(), reason="needs the package ziglang"
    ),
]

SENTENCES = [pair.source for pair, _ in zip(pairs("test"), range(60), strict=False)]
LARGEST = 3_000_000


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return transformer(tmp_path_factory.mktemp("exported") / "model")


@pytest.fixture
def asked(browser, tmp_path):
    """Opens a bare page offline: a function calls what it offers."""
    context = browser.new_context(offline=True)

    def open_bare(translator: WebTranslator, **changes: object):
        page = context.new_page()
        page.goto(bare_page(translator, tmp_path / "bare.html", **changes).as_uri())
        page.wait_for_function("document.title === 'ready'")
        return lambda name, given: page.evaluate(f"(given) => window.{name}(given)", given)

    yield open_bare
    context.close()


def searched(translator: WebTranslator, text: str):
    """The same on this machine: the hypothesis, and the weights of every attention by name."""
    config = translator.config
    stacks = {"encoder": config.encoder_layers, "decoder": config.decoder_layers}
    watched = [
        Watched(part, layer)
        for part in ("encoder", "decoder", "cross")
        for layer in range(stacks["encoder" if part == "encoder" else "decoder"])
    ]
    source = [*translator.tokenizer.encode(text), END]
    rules = NativeTranslator(translator.bundle).rules(translator.options, [source])
    (found,) = translator.engine.search([source], rules, watched)
    return found, {
        (each.part, each.layer): w for each, w in zip(watched, found.attention, strict=True)
    }


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("int8", {}),
        ("int8", {"norm": "post", "tied": "target"}),
        ("int8", {"positions": "learned", "max_length": 300, "tied": "none"}),
        ("bf16", {"positions": "none"}),
        ("fp32", {}),
    ],
    ids=str,
)
def test_translations_and_attention_are_those_of_the_engine(asked, tmp_path, kind, changes):
    translator = WebTranslator(read_bundle(transformer(tmp_path / "model", **changes)), kind)
    look = asked(translator)
    for text in SENTENCES if not changes else SENTENCES[:6]:
        found, (expected, weights) = look("looked", text), searched(translator, text)
        assert tuple(found["findings"]["written"]) == expected.tokens, text
        assert found["output"] == translator.tokenizer.decode(expected.tokens)
        sites = {(site["part"], site["layer"]): site for site in found["sites"]}
        assert sites.keys() == weights.keys()
        for place, site in sites.items():
            shown = np.array(site["weights"]).reshape(site["shape"])
            np.testing.assert_allclose(shown, weights[place], atol=1e-3)
