"""A model in a page without the page around it: it answers in plain JSON what a test asks it.

Run as a program it writes such a page, and the answers of the engine in Python on another level of
processors:

    JUMOK_CPU=v2 python -m tests.browser.bare BUNDLE int8 texts.json answers.npz page.html
"""

import json
import sys
from pathlib import Path

import numpy as np

from jumok.bundle.reading import read_bundle
from jumok.data.tokenizer import END
from jumok.decoding import DecodingOptions
from jumok.decoding.native import rules_of
from jumok.engine import Precision
from jumok.engine.forced import WatchedAttention
from jumok.inspection.page.document import document
from jumok.inspection.page.source import source_folder
from jumok.systems.translation.web import WebTranslator

SHORT = DecodingOptions(maximum_ratio=3.0, maximum_length=15)
"""An untrained model seldom ends."""

ENTRY = """
import {{ Translator }} from "{model}/translator.js";
import {{ bytesOf }} from "{web}/arrays.js";
const held = (name) => {{
  const node = document.getElementById(name);
  return node && bytesOf(node.textContent);
}};
const facts = JSON.parse(document.getElementById("data").textContent);
const blobs = {{ wasm: held("wasm"), model: held("model"), charsmap: held("charsmap") }};
const plain = ({{ arrays: {{ weights }}, ...site }}) => (
  {{ ...site, shape: weights.shape, weights: [...new Float32Array(weights.data.buffer)] }});
Translator.load(facts, blobs).then((translator) => {{
  const {{ tokenizer }} = translator;
  Object.assign(window, {{
    looked: (text) => {{
      const found = translator.look(text);
      return {{ ...found, sites: found.sites.map(plain) }};
    }},
    answered: (question) => translator.answer(question),
    cores: (texts) => texts.map((text) => {{
      const span = translator.core(text);
      return span && text.slice(...span);
    }}),
    encoded: (texts) => texts.map((text) => tokenizer.encode(text)),
    decoded: (lists) => lists.map((ids) => [tokenizer.decode(ids), tokenizer.words(ids)]),
  }});
  document.title = "ready";
}});
"""


def bare_page(
    translator: WebTranslator, file: Path, wasm: bytes | None = None, **facts: object
) -> Path:
    """Writes a page that only answers `looked(text)` and the like.

    Args:
        wasm: another module of the engine.
        facts: others than the model's own.
    """
    entry, web = file.with_suffix(".js"), source_folder()
    entry.write_text(ENTRY.format(model=web / "model", web=web), "utf-8")
    known, blobs = translator.contents("model")
    charsmap = facts.pop("charsmap", None)
    blobs |= {} if wasm is None else {"wasm": wasm}
    blobs |= {"charsmap": charsmap} if isinstance(charsmap, bytes) and charsmap else {}
    file.write_text(document(str(entry), known | facts, blobs=blobs), "utf-8")
    return file


def engine_answers(translator: WebTranslator, texts: list[str]) -> dict[str, np.ndarray]:
    """By "number of the text/what": tokens, log-probabilities, and the weights of each part."""
    config = translator.config
    layers = {"encoder": config.encoder_layers, "decoder": config.decoder_layers}
    layers["cross"] = config.decoder_layers
    watched = [WatchedAttention(part, n) for part, count in layers.items() for n in range(count)]
    found = {}
    for number, text in enumerate(texts):
        source = [*translator.tokenizer.encode(text), END]
        (best,) = translator.engine.search(
            [source], rules_of(translator.options, [len(source)]), watched
        )
        found[f"{number}/tokens"] = np.array(best.tokens)
        found[f"{number}/log_probabilities"] = np.array(best.log_probabilities)
        for each, weights in zip(watched, best.attention, strict=True):
            found[f"{number}/{each.part}.{each.layer}"] = weights
    return found


if __name__ == "__main__":
    folder, precision, given, to, page = sys.argv[1:]
    kind: Precision = precision  # type: ignore[assignment]
    model = WebTranslator(read_bundle(Path(folder)), kind, SHORT)
    np.savez(to, **engine_answers(model, json.loads(Path(given).read_text("utf-8"))))
    bare_page(model, Path(page))
