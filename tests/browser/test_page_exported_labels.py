"""Classifiers in a page: offline, the labels and probabilities of `jumok classify`."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import jumok
from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.quantising import write_quantised
from jumok.bundle.reading import read_bundle
from jumok.bundle.writing import write_bundle
from jumok.config import TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.section import ModelSection
from jumok.data.tokenizer import END, START, Tokenizer
from jumok.engine.structures import library
from jumok.engine.wasm import missing_compiler
from jumok.models.catalog import DataSizes, build
from jumok.systems.in_page.image_classifier import WebImageClassifier
from jumok.systems.in_page.text_classifier import WebTextClassifier
from jumok.tracing.catalog import load_family
from jumok.tracing.request import Analyses
from smallworld.corpus import pairs
from tests.browser.test_page_exported_pictures import file_of, noise
from tests.conftest import TINY_TEXT
from tests.parity.torch_weights import roughen

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
from playwright.sync_api import expect

pytestmark = [
    pytest.mark.skipif(library() is None, reason="needs a C compiler"),
    pytest.mark.skipif(missing_compiler() is not None, reason="needs zig"),
]

LABELS = ("bad", "fair", "good", "new", "old", "none", "좋음")
LONGEST = 23
TEXTS = [pair.source for pair, _ in zip(pairs("test"), range(16), strict=False)]
TEXTS += ["고양이가 잔다.", "cat", "A CAT\tsat ½ 👍🏽", " ".join(TEXTS)]
EXTRAS = Analyses(attribution=False, ablation=False)


def write(folder: Path, config: ModelSection, tokenizer: Tokenizer | None = None) -> Path:
    """A classifier that nobody trained, and that is sure of something."""
    torch.manual_seed(1)
    vocabulary = 0 if tokenizer is None else tokenizer.size
    model = roughen(build(config, DataSizes(vocabulary=vocabulary, labels=len(LABELS))))
    with torch.no_grad():
        model.output.weight.mul_(3 if tokenizer is not None else 30)
        if isinstance(config, ImageClassifierConfig):  # no label is the usual one
            height, width, colours, *_ = config.input_shape
            seen = model.summary(torch.randint(0, 256, (16, colours, height, width)).byte())
            model.output.bias.copy_(-model.output.weight @ seen.mean(0))
    task = "text-classification" if tokenizer is not None else "image-classification"
    told = BundleConfig(
        task, config.model_dump(mode="json"), vocabulary, max_tokens=LONGEST, labels=LABELS
    )
    return write_bundle(folder, model.state_dict(), told, tokenizer, Card("untrained"))


def write_texts(folder: Path, **changes: object) -> Path:
    sizes = {"dim": 24, "heads": 3, "layers": 2, "feedforward": 37, "max_length": LONGEST + 2}
    config = TextClassifierConfig.model_validate({**sizes, **changes})
    return write(folder, config, Tokenizer.train(TINY_TEXT, "bpe", 350))


def write_pictures(folder: Path, **changes: object) -> Path:
    sizes = {"height": 12, "width": 10, "channels": (8, 12), "attention_heads": 2}
    return write(folder, ImageClassifierConfig.model_validate({**sizes, **changes}))


def check_label(found: dict, expected: object) -> None:
    """The page names the labels of Python, with their probabilities."""
    assert found["output"] == expected.label
    (step,) = found["steps"]
    best = list(expected.probabilities.items())[:5]
    assert [name for name, _ in step["best"]] == [name for name, _ in best]
    shown = np.exp([value for _, value in step["best"]])
    np.testing.assert_allclose(shown, [value for _, value in best], atol=1e-4)
    assert step["token"] == expected.label
    assert LABELS[found["findings"]["written"][0]] == expected.label


def check_sites(found: dict, traced: object) -> None:
    """The page shows the attention of Python."""
    sites = {each.name: each for each in traced.sites}
    assert [each["name"] for each in found["sites"]] == [*sites]
    for shown in found["sites"]:
        site = sites[shown["name"]]
        for name in ("kind", "part", "layer", "queries", "keys"):
            assert shown[name] == getattr(site, name), name
        assert shown["scale"] == pytest.approx(site.scale)
        assert shown["residual_gate"] == pytest.approx(site.residual_gate)
        weights = np.array(shown["weights"]).reshape(shown["shape"])
        np.testing.assert_allclose(weights, site.weights, atol=2e-5)
        axis, own = found["axes"][shown["keys"]], traced.axes[site.keys]
        assert [axis["tokens"], axis["texts"]] == [list(own.tokens), list(own.texts)]
        assert axis["words"] == list(own.words)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"pooling": "first", "norm": "post", "positions": "sinusoidal"},
        {"window": 3, "positions": "rotary", "kv_heads": 1, "norm_kind": "rms"},
    ],
    ids=str,
)
def test_texts_have_the_labels_of_python(asked, tmp_path, changes):
    folder = write_texts(tmp_path / "model", **changes)
    page = asked(WebTextClassifier(read_bundle(folder), "fp32"))
    known = jumok.load(folder, device="cpu").classify(TEXTS)
    for text, expected in zip(TEXTS, known, strict=True):
        check_label(page("looked", {"text": text}), expected)
    assert len({each.label for each in known}) > 1
    traced = load_family(folder, device="cpu").trace(TEXTS[0], extras=EXTRAS)
    check_sites(page("looked", {"text": TEXTS[0]}), traced)


@pytest.mark.parametrize("in_groups", [None, False, True])
def test_int8_is_that_of_the_engine(asked, tmp_path, in_groups):
    """Also where the bundle is in int8, with a scale for each row, or for 32 inputs."""
    sizes = {"dim": 32, "heads": 2, "feedforward": 64}
    bundle = read_bundle(write_texts(tmp_path / "model", **sizes))
    if in_groups is not None:
        folder = write_quantised(
            tmp_path / "small", bundle, "int8", bundle.card, in_groups=in_groups
        )
        bundle = read_bundle(folder)
    model = WebTextClassifier(bundle, "int8")
    page = asked(model)
    weight, bias = (model.weights[f"output.{name}"] for name in ("weight", "bias"))
    for text in TEXTS:
        ids = [START, *model.tokenizer.encode(text)[:LONGEST], END]
        (states,) = model.engine.states([ids])
        logits = weight @ states.mean(0) + bias
        chances = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        (step,) = page("looked", {"text": text})["steps"]
        for name, value in step["best"]:
            # processors with fused multiply-add round an input of int8 otherwise at times
            assert np.exp(value) == pytest.approx(chances[LABELS.index(name)], abs=0.02)


@pytest.mark.parametrize(
    "changes",
    [
        {"attention_after": (2,)},
        {"attention_after": (1, 2), "mixing_after": (2,), "blocks": 2, "patch": 2},
        {"colours": 1, "mixing_after": (1,), "channels": (8, 12, 20)},
    ],
    ids=str,
)
def test_pictures_have_the_labels_of_python(asked, tmp_path, changes):
    folder = write_pictures(tmp_path / "model", **changes)
    page = asked(WebImageClassifier(read_bundle(folder)))
    files = []
    for number in range(20):
        files.append(tmp_path / f"{number}.png")
        size = np.random.default_rng(number).integers(3, 60, 2)
        files[-1].write_bytes(file_of(Image.fromarray(noise(*size, seed=number))))
    known = jumok.load(folder, device="cpu").classify(files)
    for file, expected in zip(files, known, strict=True):
        name = page("received", list(file.read_bytes()))["picture"]
        check_label(page("looked", {"picture": name}), expected)
    assert len({each.label for each in known}) > 1
    if "attention_after" in changes:
        found = page("looked", {"picture": name})
        check_sites(found, load_family(folder, device="cpu").trace(str(files[-1]), extras=EXTRAS))


@pytest.mark.parametrize("text", ["", " \t", "\ud800"], ids=["empty", "blank", "half"])
def test_texts_without_a_word_are_refused(asked, tmp_path, text):
    page = asked(WebTextClassifier(read_bundle(write_texts(tmp_path / "model"))))
    told = "faultHalf" if text == "\ud800" else "faultEmpty"
    assert page("answered", {"text": text})["error"] == {"known": told, "numbers": []}


def test_a_label_is_named_while_one_types(reading, tmp_path):
    folder = write_texts(tmp_path / "model")
    model = WebTextClassifier(read_bundle(folder), "fp32")
    texts = ["the cat", "a dog sat on the mat"]
    known = jumok.load(folder, device="cpu").classify(texts)
    reader = reading(model.page("a model", texts[:1]))
    page, (first, second) = reader.page, known
    bars = page.locator("header .step tr")
    expect(bars).to_have_count(5)
    for row, (name, value) in zip(bars.all(), first.probabilities.items(), strict=False):
        said = row.inner_text().splitlines()
        assert (said[0], said[-1]) == (name, f"{100 * value:.1f} %")
    page.locator("#text").press("End")
    page.locator("#text").press_sequentially("x")  # every key classifies
    expect(page).to_have_title(re.compile("the catx$"))
    page.locator("#text").fill(texts[1])
    expect(page).to_have_title(re.compile("on the mat$"))
    assert page.locator("dd").nth(1).inner_text() == second.label
    assert page.locator("header .written th").inner_text() == second.label
    for _ in reader.views():
        assert reader.serious() == []


@pytest.mark.parametrize("attention_after", [(2,), ()], ids=["attention", "none"])
def test_a_photograph_is_classified(reading, tmp_path, attention_after):
    folder = write_pictures(tmp_path / "model", attention_after=attention_after)
    file = tmp_path / "one.png"
    file.write_bytes(file_of(Image.fromarray(noise(29, 37))))
    (expected,) = jumok.load(folder, device="cpu").classify([file])
    reader = reading(WebImageClassifier(read_bundle(folder)).page("모델"), "ko-KR")
    page = reader.page
    page.get_by_text("사진을 고르거나").wait_for()
    page.set_input_files("#file", file)
    expect(page).to_have_title(re.compile("one.png$"))
    assert page.locator("header .written th").inner_text() == expected.label
    assert reader.serious() == []
    if attention_after:
        for _ in reader.views():
            assert reader.serious() == []
    else:
        page.get_by_text("이 모델에는 보여 줄 어텐션이 없습니다.").wait_for()
