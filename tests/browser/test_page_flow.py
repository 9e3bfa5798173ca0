"""The whole model as a picture: the trace's numbers, and parts that lead to other views."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from jumok.inspection.trace import Axis, Site, Step, Trace
from tests.browser.conftest import open_view, take
from tests.browser.kinds import VIEWS, traced

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

THINNEST, THICKEST, FAINTEST = 0.8, 13, 0.04
"""Pixels of a band, by its weight; smaller weights have none."""
EFFECT = 'fill="#b85300"'


def by_words(trace: Trace, site: Site) -> np.ndarray:
    """(words words): the mean of the heads, summed over a word's tokens as keys, a mean as queries.

    Where the model writes, a query is the step that writes the word.
    """
    queries, keys = trace.axes[site.queries], trace.axes[site.keys]
    shift = 1 if site.part in ("decoder", "cross") else 0
    found = np.zeros((len(queries.texts), len(keys.texts)))
    counts = np.zeros(len(queries.texts))
    for row, weights in enumerate(site.weights.mean(axis=0)):
        named = row + shift
        if named >= len(queries.words) or queries.words[named] is None:
            continue
        counts[queries.words[named]] += 1
        for column, word in enumerate(keys.words):
            if word is not None:
                found[queries.words[named], word] += weights[column]
    return found / np.maximum(counts, 1)[:, None]


def still(page: object, *more: str) -> object:
    """The view, where nothing moves by itself."""
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(f"location.hash = '{'&'.join(['view=flow', *more])}'")
    page.locator("#flow canvas").wait_for()
    return page


def of(trace: Trace, part: str) -> list[Site]:
    return [site for site in trace.sites if site.part == part]


def tables(page: object) -> list[list[list[str]]]:
    """The tables of the moment: cross-attention first."""
    page.locator("#flow-numbers summary").click()
    page.locator("#flow-numbers table").first.wait_for()
    return [
        [row.locator("th, td").all_inner_texts() for row in table.locator("tr").all()]
        for table in page.locator("#flow-numbers table").all()
    ]


@pytest.mark.parametrize("kind", VIEWS)
def test_its_numbers_are_those_of_the_trace(opened, folders, kind):
    trace = traced(folders, kind)
    parts = [part for part in ("cross", "decoder", "encoder", "image") if of(trace, part)]
    if "cross" in parts or "decoder" in parts:
        parts = [part for part in parts if part in ("cross", "decoder")]
    words = trace.axes[of(trace, parts[0])[-1].queries].words
    shift = 0 if parts[0] in ("encoder", "image") else 1
    for query in {0, len(words) // 2, len(words) - 2}:
        # What was given is not shown as being written.
        if words[query + shift] is None or query < trace.findings.prompt:
            continue
        part = "" if parts[0] != "encoder" else "&part=encoder"
        page = still(opened(trace).page, f"unit=words&query={query}{part}")
        for part, (_, *rows) in zip(parts, tables(page), strict=True):
            shown = np.array([[float(cell) for cell in row[1:]] for row in rows]).T
            wanted = [by_words(trace, site)[words[query + shift]] for site in of(trace, part)]
            np.testing.assert_allclose(shown, wanted, atol=6e-4)
    assert "undefined" not in page.locator("#panel").inner_text()
    assert "NaN" not in page.locator("#panel").inner_text()


def saved(page: object, tmp_path: Path) -> str:
    with page.expect_download() as download:
        take(page, "save-svg")
    file = tmp_path / "flow.svg"
    download.value.save_as(file)
    return file.read_text("utf-8")


def test_bands_are_as_thick_as_weights_and_bars_as_high_as_effects(opened, traces, tmp_path):
    trace = traces("Transformer")
    page = still(opened(trace).page, "query=1")
    drawn = saved(page, tmp_path)
    thick = [float(each) for each in re.findall(r'<polyline [^>]*stroke-width="([\d.]+)"', drawn)]
    word = trace.axes["target"].words[2]
    for site in trace.sites:
        if site.part not in ("cross", "decoder"):
            continue
        for weight in by_words(trace, site)[word]:
            wanted = THINNEST + (THICKEST - THINNEST) * weight
            near = min(abs(each - wanted) for each in thick)
            assert weight < FAINTEST or near < 1e-3, (site.name, weight)
    high = np.array(
        [
            float(re.search(r'height="([\d.]+)"', each)[1])
            for each in drawn.split("<rect")
            if EFFECT in each
        ]
    )
    effects = [np.abs(trace.findings.ablation[site.name].sum(axis=1)) for site in trace.sites]
    wanted = np.concatenate(effects)
    assert len(high) == len(wanted)
    largest = high.max() / wanted.max()
    np.testing.assert_allclose(np.sort(high), np.sort(np.maximum(1.5, wanted * largest)), atol=1e-3)


def test_its_sentence_says_the_weights_and_the_probability(opened, folders):
    trace = traced(folders, "Transformer")
    page = still(opened(trace).page, "query=0")
    said = page.locator("#flow-says").inner_text()
    word = trace.axes["target"].words[1]
    written = trace.axes["target"].words[1:]
    steps = [step for step, own in zip(trace.steps, written, strict=False) if own == word]
    probability = np.exp(sum(step.log_probability for step in steps))
    last = [site for site in trace.sites if site.part == "cross"][-1]
    weights = by_words(trace, last)[word]
    assert trace.axes["target"].texts[word] in said
    key = trace.axes["source"].texts[weights.argmax()]
    assert f"In layer {last.layer + 1} it attends most to “{key}”" in said
    shares = [float(each) for each in re.findall(r"([\d.]+) %", said)]
    assert shares[0] == pytest.approx(100 * weights.max(), abs=0.51)
    assert shares[-1] == pytest.approx(100 * probability, abs=0.51)


@pytest.mark.parametrize("kind", ["CNN", "text classifier", "masked model"])
def test_every_probability_is_in_the_picture(opened, folders, tmp_path, kind):
    drawn = saved(still(opened(traced(folders, kind)).page), tmp_path)
    width = float(re.search(r'<svg [^>]*width="([\d.]+)"', drawn)[1])
    shares = re.findall(r'translate\(([\d.]+) [^>]*font-size="12"[^>]*>([\d.]+ %)<', drawn)
    assert shares
    for x, text in shares:
        assert float(x) + 12 * 0.6 * len(text) < width, text


def test_blocks_and_words_lead_to_the_other_views(opened, folders):
    trace = traced(folders, "Transformer")
    page = opened(trace, view="flow").page
    page.locator("#flow-self-decoder-1").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#tab-board")).to_have_attribute("aria-selected", "true")
    assert page.get_by_label("Layer", exact=True).input_value() == "1"
    assert page.get_by_label("Attention kind", exact=True).input_value() == "decoder"
    page.locator("#path-overview").click()
    expect(page.locator("#tab-flow")).to_have_attribute("aria-selected", "true")
    page.locator("#flow-fed-cross-0").click()
    expect(page.locator("#walk-says")).to_have_attribute("data-op", "hidden")
    open_view(page, "flow")
    last = page.locator("[id^=flow-word-]").last
    last.click()
    word = int(last.get_attribute("id").rsplit("-", 1)[1])
    assert trace.axes["target"].texts[word] in page.locator("#flow-says").inner_text()
    open_view(page, "row")
    query = int(page.get_by_label("Query", exact=True).input_value())
    assert trace.axes["target"].words[query + 1] == word, (
        "the cursor of all views has moved with it"
    )


def test_a_click_on_an_image_chooses_a_cell(opened, folders):
    trace = traced(folders, "CNN")
    page = still(opened(trace).page)
    down, across = trace.axes[trace.sites[-1].queries].grid
    # The first image, left in the picture: where its canvas is opaque.
    rows, columns = page.locator("#flow canvas").evaluate(
        """canvas => {
          const context = canvas.getContext("2d");
          const { data, width, height } = context.getImageData(0, 0, 160, canvas.height);
          const opaque = (x, y) => data[4 * (y * width + x) + 3] === 255;
          const rows = [...Array(height).keys()].filter(y => opaque(60, y));
          return [rows, [...Array(width).keys()].filter(x => opaque(x, rows[rows.length >> 1]))];
        }"""
    )
    for row, column in ((0, 0), (1, across - 1), (down - 1, 2)):
        x = columns[0] + (column + 0.5) * len(columns) / across
        y = rows[0] + (row + 0.5) * len(rows) / down
        page.locator("#flow canvas").click(position={"x": x, "y": y})
        page.wait_for_url(re.compile(rf"query={row * across + column}\b"))


def test_stepping_leaves_a_module_that_does_not_write(opened, folders):
    trace = traced(folders, "Transformer")
    page = still(opened(trace).page, "part=encoder")
    page.locator("#flow").focus()
    page.keyboard.press("End")
    open_view(page, "row")
    last = max(word for word in trace.axes["target"].words if word is not None)
    query = int(page.get_by_label("Query", exact=True).input_value())
    assert page.get_by_label("Attention kind", exact=True).input_value() == "cross"
    assert trace.axes["target"].words[query + 1] == last


def test_it_plays_once_by_itself_and_then_on_demand(opened, folders):
    trace = traced(folders, "Transformer")
    page = opened(trace, view="flow").page
    slider = page.locator("#flow-at")
    layers = len([site for site in trace.sites if site.part == "encoder"])
    expect(page.locator("#flow-says")).to_contain_text("Reading")
    expect(slider).to_have_value(re.compile(rf"^({layers}|{layers + 1})$"))
    before = page.url
    page.locator("#flow").focus()
    page.keyboard.press("End")
    last = slider.get_attribute("max")
    assert slider.input_value() == last
    assert page.url != before, "the cursor moves by hand"
    page.keyboard.press("Home")
    page.locator("#flow-speed").select_option("4")
    page.locator("#flow-play").click()
    expect(slider).to_have_value(last)
    expect(page.locator("#flow-play")).to_have_text("▶")


def test_nothing_moves_where_less_motion_is_wanted(opened, folders):
    page = opened(traced(folders, "Transformer")).page
    page.emulate_media(reduced_motion="reduce")
    open_view(page, "flow")
    page.locator("#flow canvas").wait_for()
    page.evaluate("() => { window.requestAnimationFrame = () => { window.moved = true; }; }")
    assert page.locator("#flow-play, #save-film").count() == 0
    for _ in range(3):
        page.evaluate("document.getElementById('flow-next').click()")
    assert page.evaluate("window.moved") is None


def deep(layers: int, words: int) -> Trace:
    """A translator of many layers, with random weights."""
    random = np.random.default_rng(5)
    axis = lambda name: Axis(  # noqa: E731
        ("<s>", *(f"▁{name}{i}" for i in range(words))),
        (None, *range(words)),
        tuple(f"{name}{i}" for i in range(words)),
    )
    axes = {"source": axis("read"), "target": axis("written")}
    parts = (
        ("encoder", "source", "source"),
        ("decoder", "target", "target"),
        ("cross", "target", "source"),
    )
    sites = []
    for part, queries, keys in parts:
        for layer in range(layers):
            power = np.exp(random.normal(size=(12, words + 1, words + 1))).astype(np.float32)
            weights = power / power.sum(-1, keepdims=True)
            sites.append(Site(f"{part}.{layer}", "scaled-dot", part, layer, queries, keys, weights))
    steps = tuple(Step(f"▁written{i}", -0.5, ((f"▁written{i}", -0.5),)) for i in range(words))
    return Trace("deep", "weights", "read", "written", axes, tuple(sites), steps)


@pytest.mark.parametrize(("scheme", "language"), [("light", "ko-KR"), ("dark", "en-US")])
@pytest.mark.parametrize(
    "make", [lambda folders: traced(folders, "Transformer"), lambda _: deep(12, 60)]
)
def test_it_is_for_everybody(opened, folders, scheme, language, make: Callable[[object], Trace]):
    reader = opened(make(folders), language)
    reader.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    for width in (1280, 400):
        reader.page.set_viewport_size({"width": width, "height": 900})
        open_view(reader.page, "flow")
        reader.page.locator("#flow").focus()
        reader.page.keyboard.press("End")  # in a long text, other words are drawn with this one
        assert reader.serious() == []
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= width
        boxes = reader.page.locator(".flow-picture button").evaluate_all(
            "e => e.map(x => [x.offsetWidth, x.offsetHeight])"
        )
        blocks = [box for box in boxes if box[1] == 30]
        assert min(wide for wide, _ in blocks) >= 22
        open_view(reader.page, "board")
