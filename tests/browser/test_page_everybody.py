"""For everybody: every view of every kind, by keyboard, by finger and by mouse.

By keyboard at 200 %, by finger at 400 px, by mouse on a wide screen. On the latter two every two of
width, theme and language meet. On all of them axe-core finds nothing, every text that is drawn on a
canvas can be read, and nothing is wider than the screen. What is read on the way is computed again
from the trace, of every kind: weights, effects, probabilities, sums.

A Transformer's page is walked in every manner, that of any other kind in one of them. All kinds in
all manners, and in every width with every theme and language: `pytest -m ""`.

axe-core does not see canvases, so the contrast there is computed while the text is drawn: of its
colour with the colours that are under it.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from jumok.data.files.run_log import RunLog
from jumok.inspection.page.document import page as html
from jumok.inspection.page.run_report import RunReport, UnseenExample
from jumok.inspection.trace import Trace
from jumok.tracing.catalog import load_family
from jumok.tracing.request import NOTHING, Analyses
from tests.browser.conftest import PATIENCE, click_view, open_view, views_of, violations
from tests.browser.hands import ACTS, Hand
from tests.browser.kinds import SHORT, VIEWS
from tests.browser.test_page_elsewhere import TRACES
from tests.inspection.test_run_report import check, step
from tests.systems.pictures import READER, write_captioner, write_noise
from tests.systems.untrained import write_rnn

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

LEAST = 4.5
"""WCAG 2.2, 1.4.3: the contrast of text of ordinary size."""

WATCH = (Path(__file__).parent / "contrast.js").read_text("utf-8")
BROKEN = re.compile(r"undefined|NaN|\[object|\bnull\b")

MORE = {
    "Luong's RNN": {"overview", "board", "row", "walk", "theatre", "beam", "mattered", "layers"},
    "captioner, image self-attention": VIEWS["captioner"] | {"grid", "mattered"},
}
MEASURED = {
    "Transformer",
    "Bahdanau's RNN",
    "captioner",
    "language model",
    "CNN",
    "text classifier",
    *MORE,
}
"""Kinds whose words are attributed to what was read."""

LEAST_VIEWS = VIEWS | MORE | {kind: least for kind, (_, least) in TRACES.items()}
SECOND = {
    "language model": "a <c",
    "masked model": "the [MASK] ran",
    "BERT": "the cat sat",
}


def report() -> RunReport:
    log = RunLog("a", [step(number, 4.0) for number in (10, 20)], [check(20, 2.0, True, bleu=9.0)])
    return RunReport(log, {"look": "jumok look a/model"}, (UnseenExample("a", "b", "b"),))


@pytest.fixture(scope="module")
def saved(tmp_path_factory, folders) -> Callable[[str], tuple[Trace, Path]]:
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

    @cache
    def written(kind: str) -> tuple[Trace, Path]:
        recorded, text = traced(kind)
        file = folder / f"{kind}.html"
        file.write_text(text, encoding="utf-8")
        return recorded, file

    return written


@pytest.fixture
def shown(browser, saved):
    """Opens the page of a kind, watched from the outside; no script of it fails."""
    opened, faults = [], []

    def show(kind: str, **screen: object) -> tuple[object, Trace]:
        recorded, file = saved(kind)
        context = browser.new_context(locale="en-US", reduced_motion="reduce", **screen)
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


@dataclass(frozen=True)
class Manner:
    """How somebody walks: on what screen, how a view is opened, and in which language.

    kinds: which are walked in this manner besides Transformers.
    """

    width: int
    height: int
    theme: str
    opens: Callable[[Hand, str], None]
    kinds: tuple[str, ...]
    korean: bool = False


def open_by_mouse(hand: Hand, name: str) -> None:
    hand.reset()
    click_view(hand.page, name)


def open_at_once(hand: Hand, name: str) -> None:
    hand.reset()
    open_view(hand.page, name)


MANNERS = {
    "keyboard at 200 %": Manner(
        640, 400, "dark", Hand.open_by_keys,
        ("captioner, image self-attention", "masked model", "cross"),
    ),
    "finger at 400 px": Manner(
        400, 800, "light", Hand.open_by_finger,
        ("captioner", "text classifier", "gpt2"), korean=True,
    ),
    "dark at 400 px": Manner(400, 800, "dark", open_at_once, ("Luong's RNN", "CNN", "bert")),
    "mouse": Manner(1280, 800, "light", open_by_mouse, ("language model", "BERT", "image")),
    "mouse in the dark": Manner(
        1280, 800, "dark", open_by_mouse, ("Bahdanau's RNN", "t5", "self"), korean=True
    ),
}  # fmt: skip


def walks() -> Iterator[object]:
    """Every kind in every manner; most of them are slow tests."""
    for name, manner in MANNERS.items():
        for kind in LEAST_VIEWS:
            usual = kind == "Transformer" or kind in manner.kinds
            yield pytest.param(kind, name, marks=() if usual else pytest.mark.nightly)


@pytest.fixture
def in_hand(shown):
    """Opens it on a screen that can also be touched, which becomes that of the manner."""

    def show(kind: str, manner: Manner = MANNERS["keyboard at 200 %"]) -> Hand:
        small = manner.width < 1280
        page, recorded = shown(kind, device_scale_factor=2 if small else 1, has_touch=True)
        page.set_viewport_size({"width": manner.width, "height": manner.height})
        page.emulate_media(color_scheme=manner.theme)
        if manner.korean:
            page.locator("#language").tap() if small else page.locator("#language").click()
        return Hand(page, recorded)

    return show


def healthy(page: object, view: str) -> int:
    """Nothing is wider than the screen or unwritten, every letter can be read, axe is content.

    Returns:
        how many texts were drawn on canvases.
    """
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    assert not BROKEN.search(page.locator("main").inner_text()), view
    drawn = page.evaluate("window.drawn.splice(0)")
    assert [(view, *each) for each in drawn if each[2] < LEAST] == []
    assert [(view, *each) for each in violations(page)] == []
    return len(drawn)


def in_korean(page: object) -> None:
    """The names of tabs and controls, and what is said of the view."""
    texts = [tab.inner_text() for tab in page.get_by_role("tab").all()]
    texts += [label.text_content() for label in page.locator(".controls label > span").all()]
    for text in [*texts, page.locator("#panel .help").inner_text()]:
        assert text == "A | B" or re.search("[가-힣]", text), text


def test_every_kind_is_walked():
    """Without the slow tests: each kind in some manner."""
    walked = [kind for manner in MANNERS.values() for kind in manner.kinds]
    assert sorted(["Transformer", *walked]) == sorted(LEAST_VIEWS)


@pytest.mark.parametrize(("kind", "way"), walks())
def test_every_view(in_hand, kind, way):
    manner = MANNERS[way]
    hand = in_hand(kind, manner)
    page, names = hand.page, hand.views()
    least = LEAST_VIEWS[kind]
    assert set(names) >= least | {"run"}
    for view in ("grid", "theatre", "scrubber"):
        assert (view in names) == (view in least) or kind in TRACES, view
    assert ("compare" in names) == (kind not in TRACES)
    assert ("mattered" in names) == (kind in MEASURED)
    count = 0
    for name in names:
        manner.opens(hand, name)
        assert hand.opened() == name
        count += healthy(page, name)
        if manner.korean:
            in_korean(page)
        if manner.opens is Hand.open_by_finger:
            ACTS[name].finger(hand)
            open_at_once(hand, name)
        ACTS[name].keys(hand)
        assert page.evaluate("document.activeElement.tagName") != "BODY", name
    assert count > 100


LOOKS = tuple(itertools.product((1280, 400), ("light", "dark"), ("en", "ko")))


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.nightly) for kind in LEAST_VIEWS]
)
def test_every_view_in_every_look(shown, kind):
    """Each width with each theme and each language: all of them, where a manner has one of each."""
    page, _ = shown(kind)
    for view in views_of(page):
        for width, theme, language in LOOKS:
            page.set_viewport_size({"width": width, "height": 800})
            page.evaluate(
                "look => { location.hash = new URLSearchParams(look); }",
                {"view": view, "theme": theme, "lang": language},
            )
            root = page.locator(f"html[lang={language}][data-theme={theme}]")
            root.locator(f"#tab-{view}[aria-selected=true]").wait_for(state="attached")
            healthy(page, f"{view}, {width} px, {theme}, {language}")


def test_what_is_checked_can_fail(in_hand):
    """The numbers on the page are those of its own trace: of another one they differ."""
    hand = in_hand("Transformer")
    recorded = hand.recorded
    twice = {name: 2 * np.asarray(drop) for name, drop in recorded.findings.ablation.items()}
    steps = tuple(
        replace(step, log_probability=step.log_probability - 1) for step in recorded.steps
    )
    findings = replace(recorded.findings, ablation=twice)
    hand = Hand(hand.page, replace(recorded, findings=findings, steps=steps))
    for name in ("heads", "beam"):
        hand.open_by_keys(name)
        with pytest.raises(AssertionError):
            ACTS[name].keys(hand)


def test_faint_text_is_found(shown):
    """The watch itself: grey on paper, and white on white, are told apart from ink."""
    page, _ = shown("Transformer")
    told = page.evaluate("""() => {
      window.drawn = [];
      const context = document.createElement("canvas").getContext("2d");
      context.font = "13px sans-serif";
      for (const [y, fill] of [[20, "#1c1e26"], [60, "#9a9a9a"], [100, "#fdfdfb"]]) {
        context.fillStyle = fill;
        context.fillText("word", 10, y);
      }
      return window.drawn.map(([, , ratio]) => Math.round(10 * ratio) / 10);
    }""")
    assert told == [16.3, 2.8, 1.0]
