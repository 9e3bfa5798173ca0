"""A language model in a page: offline, what the engine in Python writes, token by token."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.reading import TOKENIZER, read_bundle
from jumok.bundle.writing import write_bundle
from jumok.config.causal import CausalConfig
from jumok.data.texts.tokenizer import ByteTokenizer, load_text_tokenizer, train_text_tokenizer
from jumok.decoding.sampling import Sampling, softmax
from jumok.engine.structures import library
from jumok.engine.wasm import missing_compiler
from jumok.models.catalog import DataSizes, build
from jumok.systems.in_page.language_model import WebLanguageModel
from tests.browser.bare import check_weights, on_plain_processor
from tests.conftest import TINY_TEXT
from tests.parity.torch_weights import roughen

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
from playwright.sync_api import expect

pytestmark = [
    pytest.mark.skipif(library() is None, reason="needs a C compiler"),
    pytest.mark.skipif(missing_compiler() is not None, reason="needs zig"),
]

CONTEXT = 19
PROMPTS = ["the cat", "", "가\n\u00e9 e\u0301"]


def write_model(folder: Path, kind: str = "bytes", **changes: object) -> Path:
    """A language model that nobody trained, and that writes more than one letter."""
    tokenizer = ByteTokenizer() if kind == "bytes" else train_text_tokenizer(TINY_TEXT, "bpe", 350)
    sizes = {"dim": 48, "heads": 3, "layers": 2, "feedforward": 37, "max_length": CONTEXT}
    config = CausalConfig(**{**sizes, **changes})
    torch.manual_seed(1)
    model = roughen(build(config, DataSizes(vocabulary=tokenizer.size)))
    told = BundleConfig(
        "language-model", config.model_dump(), tokenizer.size, max_tokens=CONTEXT, documents="line"
    )
    return write_bundle(folder, model.state_dict(), told, tokenizer, Card("untrained"))


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> WebLanguageModel:
    folder = write_model(tmp_path_factory.mktemp("exported") / "model")
    return WebLanguageModel(read_bundle(folder), "int8")


@pytest.mark.parametrize(
    ("kind", "tokenizer", "changes"),
    [
        ("int8", "bytes", {}),
        ("int8", "lines", {"positions": "learned", "tied": False, "norm": "post"}),
        ("bf16", "bytes", {"positions": "alibi", "kv_heads": 1, "window": 5}),
        (
            "fp32",
            "lines",
            {"feedforward_kind": "gated", "activation": "silu", "norm_kind": "rms"},
        ),
    ],
    ids=str,
)
def test_the_page_writes_what_the_engine_writes(asked, tmp_path, kind, tokenizer, changes):
    """Also beyond the context, of which the last half is read again."""
    folder = write_model(tmp_path / "model", tokenizer, **changes)
    names = load_text_tokenizer(folder / TOKENIZER)
    expected, page = on_plain_processor(folder, kind, PROMPTS, tmp_path)
    look, longest = asked(page), 0
    for number, text in enumerate(PROMPTS):
        found = look("looked", {"text": text})
        prompt, written = names.encode(text), expected[f"{number}/tokens"].tolist()
        seen = [*prompt, *written][: CONTEXT - 1]
        longest = max(longest, len(prompt) + len(written))
        assert found["output"] == names.decode([*prompt, *written])[len(names.decode(prompt)) :]
        assert found["findings"]["written"] == seen[len(prompt) :]
        assert found["findings"]["prompt"] == len(prompt)
        assert found["axes"]["text"]["tokens"] == ["<s>", *names.pieces(seen)]
        assert found["axes"]["text"]["words"] == [None, *names.words(seen)]
        steps = [step["log_probability"] for step in found["steps"]]
        known = expected[f"{number}/log_probabilities"][: len(seen)]  # without END's
        np.testing.assert_allclose(steps, known, atol=1e-5)
        assert [site["layer"] for site in found["sites"]] == [0, 1]
        check_weights(found["sites"], number, expected)
    assert longest > CONTEXT


@pytest.mark.parametrize(("temperature", "top_k"), [(0.7, None), (1.3, 5), (1.0, 1)])
def test_samples_are_drawn_from_the_distribution_of_python(asked, exported, temperature, top_k):
    logs = np.random.default_rng(3).normal(size=17).astype(np.float32)
    logs[:2] = -np.inf
    logs[5] = logs[7]
    page = asked(exported)
    given = [None if np.isinf(each) else float(each) for each in logs]
    given = [-1e30 if each is None else each for each in given]
    shares = page("shared", [given, temperature, top_k or 0])
    expected = softmax(Sampling(temperature, top_k, None, None).of(logs))
    np.testing.assert_allclose(shares, expected, atol=1e-6)
    counts = np.array(page("counted", [shares, 1, 20_000]))
    assert counts[expected == 0].sum() == 0
    np.testing.assert_allclose(counts / 20_000, expected, atol=0.012)  # three standard deviations


def test_a_seed_names_a_sample_and_one_token_is_the_most_probable(asked, exported):
    page = asked(exported)

    def written(**writing: float) -> list[int]:
        return page("looked", {"text": "the", **writing})["findings"]["written"]

    hot = {"temperature": 5.0, "tokens": 12}
    assert written(**hot) == written(**hot)
    assert written(**hot) != written(**hot, seed=2)
    assert written(**hot, topK=1) == written(tokens=12)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a" * CONTEXT, {"known": "faultLong", "numbers": [CONTEXT, CONTEXT - 1]}),
        ("\ud800", {"known": "faultHalf", "numbers": []}),
    ],
)
def test_texts_that_the_model_does_not_read_are_refused(asked, exported, text, told):
    assert asked(exported)("answered", {"text": text})["error"] == told


def test_what_is_typed_goes_on_and_the_fields_change_how(reading, exported):
    reader = reading(exported.page("a model", ["the cat"]), view="board")
    page = reader.page
    written = page.locator("dd").nth(1)
    first = written.inner_text()
    page.locator("#text").fill("the dog\nsat")  # line breaks are a part of it
    expect(page).to_have_title(re.compile("the dog\\s+sat$"), timeout=60_000)
    assert "int8" in page.locator(".cost").inner_text()
    assert f"the first {CONTEXT - 1} of" in page.locator(".cost").inner_text()
    page.locator("#text").fill("the cat")
    expect(written).to_have_text(first)
    page.get_by_label("Temperature").fill("3")
    expect(written).not_to_have_text(first)
    drawn = written.inner_text()
    page.get_by_role("button", name="Another sample").click()
    expect(written).not_to_have_text(drawn)
    assert "temperature=3" in page.url
    assert "seed=2" in page.url
    page.get_by_label("Tokens").fill("2")
    expect(page.locator(".cost")).not_to_contain_text("the first")
    for _ in reader.views():
        assert reader.serious() == []


def test_a_text_is_shown_while_it_is_written(reading, exported):
    """Another one ends it."""
    page = reading(exported.page("a model")).page
    page.evaluate("""() => {
      window.seen = [];
      const note = () => window.seen.push(document.querySelectorAll("dd")[1].textContent);
      new MutationObserver(note).observe(document.querySelectorAll("dd")[1],
        { childList: true, characterData: true, subtree: true });
      const now = performance.now.bind(performance);
      let at = 0;
      performance.now = () => now() + (at += 50);  // every token is shown
    }""")
    page.get_by_label("Tokens").fill("5")
    page.locator("#text").fill("a")
    page.locator("#text").fill("the cat")
    expect(page).to_have_title(re.compile("the cat$"), timeout=60_000)
    seen = [each for each in page.evaluate("window.seen") if each]
    whole = page.locator("dd").nth(1).inner_text()
    assert len(set(seen)) >= 5
    assert seen[-1] == whole


def test_the_page_speaks_korean_and_fits_a_phone(reading, exported):
    reader = reading(exported.page("모델", ["the cat"]), "ko-KR")
    reader.page.set_viewport_size({"width": 360, "height": 740})
    assert "화면은 모델의 문맥에 들어가는" in reader.page.locator(".cost").inner_text()
    assert reader.page.get_by_label("온도").input_value() == "0"
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert reader.page.evaluate(wide) <= 0
