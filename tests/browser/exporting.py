"""A model in a page, without the page around it: what the tests ask it, it answers in plain JSON."""

from pathlib import Path

from jumok.inspection.page.document import document, source_folder
from jumok.systems.translation.web import WebTranslator

ENTRY = """
import {{ Translator }} from "{model}/translator.js";
import {{ bytesOf }} from "{web}/trace.js";
const held = (name) => {{
  const node = document.getElementById(name);
  return node && bytesOf(node.textContent);
}};
const facts = JSON.parse(document.getElementById("data").textContent);
const blobs = {{ wasm: held("wasm"), model: held("model"), charsmap: held("charsmap") }};
const list = (bytes) => [...new Float32Array(bytes.buffer)];
const plain = ({{ sites, ...rest }}) => ({{
  ...rest, sites: sites.map(({{ arrays, ...site }}) => ({{ ...site, shape: arrays.weights.shape, weights: list(arrays.weights.data) }})),
}});
Translator.load(facts, blobs).then((translator) => {{
  window.looked = (text) => plain(translator.look(text));
  window.encoded = (texts) => texts.map((text) => translator.tokenizer.encode(text));
  window.decoded = (lists) => lists.map((ids) => translator.tokenizer.decode(ids));
  window.wordsOf = (lists) => lists.map((ids) => translator.tokenizer.words(ids));
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
    entry = file.with_suffix(".js")
    web = source_folder()
    entry.write_text(ENTRY.format(model=web / "model", web=web), "utf-8")
    known, blobs = translator.contents("model")
    blobs |= {} if wasm is None else {"wasm": wasm}
    file.write_text(document(str(entry), known | facts, blobs=blobs), "utf-8")
    return file
