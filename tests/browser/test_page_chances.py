"""Predictions with other temperatures, top-k and top-p: the whole distribution is cut again."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import jumok
from jumok.decoding.sampling import Sampling, softmax
from jumok.inspection.trace import STEP_CHOICES, TEMPERATURES, Trace
from jumok.tracing.adapters import MOST_SCALED, partitions_of
from jumok.tracing.forced import tracer_of
from jumok.tracing.request import NOTHING, TraceRequest
from tests.browser.conftest import Reader, wait_until
from tests.browser.kinds import SHORT, traced

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

KINDS = ("Transformer", "Bahdanau's RNN", "captioner", "language model", "CNN", "masked model")
SETTINGS = [(0.5, 0, 1), (1.7, 0, 1), (1, 3, 1), (1, 0, 0.1), (1.3, 4, 0.5), (0.7, 0, 0.95)]


def distributions(folders, kind: str) -> np.ndarray:
    """(steps choices): the log-probabilities of everything, from the model."""
    folder, given = folders[kind]
    system = jumok.load(folder, device="cpu")
    forced = tracer_of(system).force(system, given, TraceRequest(SHORT, extras=NOTHING))
    return forced.run(1)[0].detach().numpy()


def told(reader: Reader) -> list[list[tuple[float, float]]]:
    """The ranges of every step, as shares."""
    found = []
    for table in reader.page.locator("table.step").all():
        cells = [
            text.removesuffix(" %") for text in table.locator("td:last-child").all_inner_texts()
        ]
        ends = [tuple(float(end) / 100 for end in cell.split("–")) for cell in cells[:STEP_CHOICES]]
        found.append([(each[0], each[-1]) for each in ends])
    return found


def truth(logs: np.ndarray, ids: tuple[int, ...], setting: tuple[float, int, float]) -> np.ndarray:
    temperature, top_k, top_p = setting
    sampling = Sampling(float(temperature), top_k or None, float(top_p), None)
    return softmax(sampling.of(logs))[list(ids)]


def link(setting: tuple[float, int, float]) -> str:
    heat, few, nucleus = setting
    return f"beam&heat={heat}&few={few}&nucleus={nucleus}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("recorded", ["sums", "no sums"])
def test_every_probability_is_in_its_range(opened, folders, kind, recorded):
    """By jumok's own sampling; with the recorded sums, a temperature alone is exact."""
    known = traced(folders, kind)
    logs = distributions(folders, kind)
    whole = len(logs[0]) <= STEP_CHOICES
    if recorded == "no sums":
        known = replace(known, steps=tuple(replace(step, partitions=()) for step in known.steps))
    reader = opened(known, view="beam")
    for setting in SETTINGS:
        if setting[1] > min(STEP_CHOICES, len(logs[0])):
            continue
        reader.page.evaluate(f"location.hash = 'view={link(setting)}'")
        exact = setting[1] or (setting[2] == 1 and (recorded == "sums" or setting[0] == 1))
        for step, of_step, ranges in zip(known.steps, logs, told(reader), strict=True):
            right = truth(of_step, step.ids, setting)
            for share, (least, most) in zip(right, ranges, strict=True):
                assert least - 0.00051 <= share <= most + 0.00051
                assert most - least < 0.00051 or not (exact or whole)


def test_the_sums_are_those_of_all_choices(folders):
    logs = distributions(folders, "Transformer")
    known = traced(folders, "Transformer")
    for step, of_step in zip(known.steps, logs, strict=True):
        sums = [np.log(np.exp(of_step.astype(float) / each).sum()) for each in TEMPERATURES]
        np.testing.assert_allclose(step.partitions, sums, atol=1e-4)
        assert list(step.ids) == list(np.argsort(-of_step, kind="stable")[:STEP_CHOICES])
    assert logs.size < MOST_SCALED
    assert partitions_of(torch.zeros(2, MOST_SCALED // 2 + 1)) == [(), ()]


def test_sliders_move_the_bars_and_the_address(opened, folders):
    known = traced(folders, "Transformer")
    reader = opened(known, view="beam")
    note = reader.page.locator("#chances-note")
    expect(note).to_have_text("These are the model's own probabilities.")
    before = told(reader)
    heat = reader.page.locator("#chances-temperature")
    heat.focus()
    for _ in range(5):
        reader.page.keyboard.press("ArrowLeft")
    expect(reader.page.locator("output").first).to_have_text("0.5")
    expect(heat).to_be_focused()
    expect(note).to_have_text("Exact: they follow from the recorded probabilities.")
    assert "heat=0.5" in reader.page.url
    after = told(reader)
    assert max(first[0][0] for first in after) > max(first[0][0] for first in before)
    widths = reader.page.locator("table.step").first.locator("i:not(.possible)")
    assert float(widths.first.evaluate("node => parseFloat(node.style.width)")) == pytest.approx(
        100 * after[0][0][0], abs=0.06
    )


def test_what_is_drawn_may_be_drawn(opened, folders):
    """One token alone can be drawn with a top-k of 1; what is not exact is not drawn from."""
    known = traced(folders, "Transformer")
    reader = opened(known, view=link((1.5, 1, 1)))
    reader.page.locator("#draw").click()
    best = [step.best[0][0] for step in known.steps]
    drawn = reader.page.locator("tr.drawn")
    assert drawn.count() == len(best)
    rows = reader.page.locator("table.step").all()
    assert all(table.locator("tr").first.get_attribute("class").endswith("drawn") for table in rows)
    bare = replace(known, steps=tuple(replace(step, partitions=()) for step in known.steps))
    assert opened(bare, view=link((1.5, 0, 1))).page.locator("#draw").is_disabled()


@pytest.mark.parametrize("link", ["heat=x&few=-1&nucleus=9", "heat=99&few=1e9&nucleus=NaN"])
def test_a_link_may_say_anything(opened, folders, link):
    reader = opened(traced(folders, "Transformer"), view=f"beam&{link}")
    for ranges in told(reader):
        assert all(0 <= least <= most <= 1 for least, most in ranges)


def test_a_prediction_is_gone_on_from(live):
    """In the live page: the second token of the first step, and what the model writes after it."""
    page, run = live
    page.evaluate("location.hash = 'view=beam'")
    button = page.locator("table.step").first.locator("th button").nth(1)
    button.wait_for()
    first: Trace = run("the cat sat")
    wanted = run("the cat sat", prefix=[first.steps[0].ids[1]])
    button.click()
    wait_until(page, f"document.querySelector('header').innerText.includes({wanted.output!r})")
    captions = page.locator("table.step caption").all_inner_texts()
    assert len(captions) == len(wanted.steps)


@pytest.mark.parametrize(("language", "theme"), [("en-US", "light"), ("ko-KR", "dark")])
def test_sliders_are_for_everybody(opened, folders, language, theme):
    reader = opened(traced(folders, "Transformer"), language, view=link((1.5, 0, 0.9)))
    reader.page.emulate_media(color_scheme=theme)
    for width in (1280, 400):
        reader.page.set_viewport_size({"width": width, "height": 800})
        assert reader.serious() == []
        assert reader.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
