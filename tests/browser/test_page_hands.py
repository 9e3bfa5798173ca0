"""Every view of every kind: by keyboard at 200 %, by finger on a phone. One page for each kind.

What is read on the way is computed again from the trace: weights, effects, probabilities, sums.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from jumok.inspection.page.document import page as html
from jumok.inspection.trace import Trace
from jumok.tracing.catalog import load_family
from jumok.tracing.request import NOTHING, Analyses
from tests.browser.conftest import PATIENCE
from tests.browser.hands import ACTS, Hand
from tests.browser.kinds import SHORT, VIEWS
from tests.browser.test_page_elsewhere import TRACES
from tests.browser.test_page_everybody import LEAST, WATCH, report
from tests.systems.pictures import READER, write_captioner, write_noise
from tests.systems.untrained import write_rnn

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

MORE = {
    "Luong's RNN": {"overview", "board", "row", "walk", "theatre", "beam", "mattered", "layers"},
    "captioner, image self-attention": VIEWS["captioner"] | {"grid", "mattered"},
}
MEASURED = {"Transformer", "Bahdanau's RNN", "captioner", "language model", *MORE}
"""Kinds whose words are attributed to what was read."""

SECOND = {
    "language model": "a <c",
    "masked model": "the [MASK] ran",
    "BERT": "the dogs sat",
}
BROKEN = re.compile(r"undefined|NaN|\[object|\bnull\b")


@pytest.fixture(scope="module")
def saved(tmp_path_factory, folders) -> Callable[[str], tuple[Trace, str]]:
    """The trace of a kind with everything that is computed, and its page."""
    folder = tmp_path_factory.mktemp("models")
    noise = str(write_noise(folder / "noise.png"))
    other = folders["captioner"][1]
    luong = write_rnn(folder / "luong", attention="dot", order="luong")
    reading = write_captioner(folder / "reader", reader=READER)
    more = {
        "Luong's RNN": (luong, "the cat sat"),
        "captioner, image self-attention": (reading, noise),
    }

    @cache
    def traced(kind: str) -> tuple[Trace, str]:
        if kind in TRACES:
            recorded = TRACES[kind][0]()
            return recorded, html(recorded, run=report())
        model, usual = more[kind] if kind in more else folders[kind]
        family = load_family(model, device="cpu")
        pictures = family.reads == "picture"
        target = "the cat sat" if kind == "captioner" else None  # forced: it has no search
        given, second = (noise, other) if pictures else (usual, SECOND.get(kind, "the dog sat"))
        recorded = family.trace(given, target, SHORT, extras=Analyses())
        against = family.trace(second, target, SHORT, extras=NOTHING)
        return recorded, html(recorded, other=against, run=report())

    return traced


@pytest.fixture
def in_hand(browser, saved, tmp_path):
    """A page on a screen of twice the pixels that can also be touched; no script of it fails."""
    opened, faults = [], []

    def show(kind: str) -> tuple[object, Trace]:
        recorded, text = saved(kind)
        file = tmp_path / "page.html"
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(
            locale="en-US", viewport={"width": 640, "height": 400}, device_scale_factor=2,
            has_touch=True, color_scheme="dark", reduced_motion="reduce",
        )  # fmt: skip
        context.add_init_script(WATCH)
        opened.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(file.as_uri())
        page.locator("#panel").wait_for()
        return page, recorded

    yield show
    for context in opened:
        context.close()
    assert faults == []


def healthy(page: object, view: str) -> None:
    """Nothing is wider than the screen, nothing is unwritten, every drawn letter can be read."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    assert not BROKEN.search(page.locator("main").inner_text()), view
    drawn = page.evaluate("window.drawn.splice(0)")
    assert [(view, *each) for each in drawn if each[2] < LEAST] == []


@pytest.mark.parametrize("kind", [*VIEWS, *MORE, *TRACES])
def test_every_view_by_keyboard_and_by_finger(in_hand, kind):
    """Dark and in English at 200 %, light and in Korean on a phone: each view acts and tells."""
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
    page, recorded = in_hand(kind)
    page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text("utf-8"))
    hand = Hand(page, recorded)
    names = hand.views()
    least = TRACES[kind][1] if kind in TRACES else (VIEWS | MORE)[kind]
    assert set(names) >= least | {"run"}
    assert ("compare" in names) == (kind not in TRACES)
    assert ("mattered" in names) == (kind in MEASURED)
    for name in names:
        hand.open_by_keys(name)
        healthy(page, name)
        ACTS[name].keys(hand)
        assert page.evaluate("document.activeElement.tagName") != "BODY", name
        if name in ("mattered", "compare"):  # which the walk of test_page_everybody does not open
            found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
            assert [(name, each["id"], each["nodes"][0]["html"]) for each in found] == []
            page.evaluate("window.drawn = []")
    page.set_viewport_size({"width": 400, "height": 800})
    page.emulate_media(color_scheme="light")
    page.locator("#language").tap()
    for name in names:
        hand.open_by_finger(name)
        healthy(page, name)
        assert re.search("[가-힣]", page.locator("#panel .help").inner_text())
        ACTS[name].finger(hand)


def test_what_is_checked_can_fail(in_hand):
    """The numbers on the page are those of its own trace: of another one they differ."""
    page, recorded = in_hand("Transformer")
    twice = {name: 2 * np.asarray(drop) for name, drop in recorded.findings.ablation.items()}
    steps = tuple(
        replace(step, log_probability=step.log_probability - 1) for step in recorded.steps
    )
    findings = replace(recorded.findings, ablation=twice)
    hand = Hand(page, replace(recorded, findings=findings, steps=steps))
    for name in ("heads", "beam"):
        hand.open_by_keys(name)
        with pytest.raises(AssertionError):
            ACTS[name].keys(hand)
