"""A model in a page without the page around it: it answers in plain JSON what a test asks it.

Run as a program it writes such a page, and the answers of the engine in Python on another level of
processors:

    JUMOK_CPU=v2 python -m tests.browser.bare BUNDLE int8 texts.json answers.npz page.html
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from jumok.attention.role import Part
from jumok.bundle.reading import read_bundle
from jumok.config.recurrent import RecurrentConfig
from jumok.data.tokenizer import END, PAD, START, UNKNOWN
from jumok.decoding import DecodingOptions
from jumok.decoding.native import rules_of
from jumok.engine import Precision
from jumok.engine.forced import Keeping, WatchedAttention
from jumok.engine.request import Request
from jumok.engine.searching import SearchRules
from jumok.inspection.page.document import document
from jumok.inspection.page.source import source_folder
from jumok.kernels.libraries.levels import machine
from jumok.systems.in_page.language_model import WebLanguageModel
from jumok.systems.in_page.page import PageModel
from jumok.systems.in_page.translator import WebTranslator
from jumok.systems.text_writer import native_writer, written_tokens

ROOT = Path(__file__).parents[2]
CONTINUED = 24
"""What a page writes after the beginning of a text."""

GREEDY = DecodingOptions(beam=1, forbidden=(PAD, UNKNOWN, START), maximum_ratio=None)
SHORT = DecodingOptions(maximum_ratio=3.0, maximum_length=15)
"""An untrained model seldom ends."""

ENTRY = """
import {{ drawn, shares, uniforms }} from "{model}/drawing.js";
import {{ MODELS }} from "{model}/kinds.js";
import {{ decoded, scaled }} from "{model}/pixels.js";
import {{ bytesOf }} from "{web}/arrays.js";
const held = (name) => {{
  const node = document.getElementById(name);
  return node && bytesOf(node.textContent);
}};
const facts = JSON.parse(document.getElementById("data").textContent);
const blobs = {{ wasm: held("wasm"), model: held("model"), charsmap: held("charsmap") }};
const plain = ({{ arrays: {{ weights }}, ...site }}) => (
  {{ ...site, shape: weights.shape, weights: [...new Float32Array(weights.data.buffer)] }});
const fileOf = (bytes) => new File([Uint8Array.from(bytes)], "given.png");
const USUAL = {{ temperature: 0, topK: 0, tokens: 24, seed: 1 }};
MODELS[facts.task].load(facts, blobs).then((model) => {{
  const {{ tokenizer }} = model;
  Object.assign(window, {{
    looked: async ({{ text, picture, ...writing }}) => {{
      const found = await model.answer({{ text, picture, writing: {{ ...USUAL, ...writing }} }});
      return {{ ...found, sites: found.sites.map(plain) }};
    }},
    answered: (question) => model.answer({{ writing: USUAL, ...question }}),
    said: async (text) => {{
      const [said, now] = [[], performance.now.bind(performance)];
      let at = 0;
      performance.now = () => now() + (at += 50); // every step is shown
      const say = (each) => said.push(each);
      const found = await model.answer({{ text, writing: USUAL }}, {{ say }});
      return [said, found.output];
    }},
    resized: async ([bytes, shape]) => [...scaled(await decoded(fileOf(bytes)), shape).bytes],
    received: (bytes) => model.receive(fileOf(bytes)),
    remembered: (picture) => [...model.encoder.read(model.given.get(picture).pixels).memory],
    shared: ([logs, temperature, topK]) => [...shares(Float32Array.from(logs), temperature, topK)],
    counted: ([probabilities, seed, count]) => {{
      const uniform = uniforms(seed);
      const counts = probabilities.map(() => 0);
      for (let i = 0; i < count; i++) counts[drawn(probabilities, uniform())] += 1;
      return counts;
    }},
    cores: (texts) => texts.map((text) => {{
      const span = model.core(text);
      return span && text.slice(...span);
    }}),
    encoded: (texts) => texts.map((text) => tokenizer.encode(text)),
    decoded: (lists) => lists.map((ids) => [tokenizer.decode(ids), tokenizer.words(ids)]),
  }});
  document.title = "ready";
}});
"""


def bare_page(model: PageModel, file: Path, wasm: bytes | None = None, **facts: object) -> Path:
    """Writes a page that only answers `looked({text})` and the like.

    Args:
        wasm: another module of the engine.
        facts: others than the model's own.
    """
    entry, web = file.with_suffix(".js"), source_folder()
    entry.write_text(ENTRY.format(model=web / "model", web=web), "utf-8")
    known, blobs = model.contents("model")
    charsmap = facts.pop("charsmap", None)
    blobs |= {} if wasm is None else {"wasm": wasm}
    blobs |= {"charsmap": charsmap} if isinstance(charsmap, bytes) and charsmap else {}
    file.write_text(document(str(entry), known | facts, blobs=blobs), "utf-8")
    return file


def engine_answers(translator: WebTranslator, texts: list[str]) -> dict[str, np.ndarray]:
    """By "number of the text/what": tokens, log-probabilities, and the weights of each part."""
    config = translator.config
    if isinstance(config, RecurrentConfig):
        layers: dict[Part, int] = {"cross": int(config.looks)}
    else:
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


def written_texts(model: WebLanguageModel, texts: list[str]) -> dict[str, np.ndarray]:
    """The same of a language model, whose tokens are those of the prompt and of what follows."""
    config, engine = model.config, model.engine
    watched = [WatchedAttention("decoder", n) for n in range(config.layers)]
    found = {}
    for number, text in enumerate(texts):
        prompt = model.tokenizer.encode(text)
        options = replace(GREEDY, maximum_length=len(prompt) + CONTINUED)
        writer = native_writer(engine, prompt, options, None)
        written = [*written_tokens(writer, engine.pass_reader())]
        seen = [*prompt, *written][: engine.context - 1]
        rules = SearchRules(1, START, END, (), 0, [engine.context - 1], (), 0)
        request = Request([None], rules, Keeping(watched, config.heads))
        with engine.session() as session, request.read_by(session):
            (forced,) = request.force(session, [seen], config.layers)
        found[f"{number}/tokens"] = np.array(written)
        found[f"{number}/log_probabilities"] = np.array(forced.log_probabilities)
        for each, weights in zip(watched, forced.attention, strict=True):
            found[f"{number}/decoder.{each.layer}"] = weights
    return found


def on_plain_processor(
    folder: Path, kind: str, texts: list[str], home: Path
) -> tuple[dict[str, np.ndarray], Path]:
    """The answers of the engine in Python, compiled without fused multiply-add, and a page.

    Both are of one process: numpy may sum a product of matrices in another order in another one.
    """
    given, to, page = home / "texts.json", home / "answers.npz", home / "page.html"
    given.write_text(json.dumps(texts), "utf-8")
    level = {"JUMOK_CPU": "v2"} if machine() == "x86_64" else {}
    files = folder, kind, given, to, page
    command = [sys.executable, "-m", "tests.browser.bare", *map(str, files)]
    subprocess.run(command, cwd=ROOT, env=os.environ | level, check=True)
    return dict(np.load(to)), page


def check_weights(sites: list[dict], number: int, expected: dict[str, np.ndarray]) -> None:
    """Every weight of the page is that of the engine in Python."""
    for site in sites:
        shown = np.array(site["weights"], np.float32).reshape(site["shape"])
        weights = expected[f"{number}/{site['part']}.{site['layer']}"]
        if machine() == "x86_64":
            np.testing.assert_array_equal(shown, weights)
        else:  # elsewhere no level lacks fused multiply-add
            np.testing.assert_allclose(shown, weights, atol=0.05)


if __name__ == "__main__":
    folder, precision, given, to, page = sys.argv[1:]
    kind: Precision = precision  # type: ignore[assignment]
    bundle, texts = read_bundle(Path(folder)), json.loads(Path(given).read_text("utf-8"))
    model: PageModel
    if bundle.config.task == "language-model":
        model = WebLanguageModel(bundle, kind)
        np.savez(to, **written_texts(model, texts))
    else:
        model = WebTranslator(bundle, kind, SHORT)
        np.savez(to, **engine_answers(model, texts))
    bare_page(model, Path(page))
