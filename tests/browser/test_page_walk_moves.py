"""Walking: by keyboard and by itself, what a page holds, and other kinds of attention."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import jumok
from jumok.inspection.page.document import page as html
from jumok.inspection.trace import Trace
from tests.browser.by_hand import heads, times
from tests.browser.conftest import open_controls, open_view
from tests.browser.walking import ONLY, REDONE, Walk, near, number, numbers, translated_by_hand
from tests.systems.test_ordinary_module import transformer

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect


@pytest.fixture(scope="module")
def translated(tiny_bundle):
    """A translator of three layers and its trace, with every block by hand."""
    return translated_by_hand(tiny_bundle)


def test_a_page_holds_what_it_has_room_for_and_says_so(opened, translated, monkeypatch):
    trace, layers, _ = translated
    monkeypatch.setattr("jumok.inspection.page.packing.WALK_BYTES", 1024)
    reader, layer = opened(trace), trace.findings.setting.layer
    walk = Walk(reader, part="cross", layer=layer, head=0, query=0)
    assert walk.page.locator(".walk-missing").count() == 0
    walk = Walk(reader, part="cross", layer=layer, head=0, query=2)
    assert "at most 1 KiB" in walk.page.locator(".walk-missing").inner_text()
    found = walk.vectors()
    assert "state" not in found
    near(found["z"], layers[layer]["cross"]["z"][0, 2])
    assert len(html(trace)) < 1024 * 4 / 3 + len(html(without_walk(trace))) + 4000


def without_walk(trace: Trace) -> Trace:
    return replace(trace, walk=None)


def test_a_trace_without_a_walk_shows_the_attention(opened, translated):
    trace, layers, _ = translated
    walk = Walk(opened(without_walk(trace)), part="cross", layer=2, head=0, query=0)
    assert "jumok look MODEL TEXT" in walk.page.locator(".walk-missing").inner_text()
    near(walk.vectors()["z"], layers[2]["cross"]["z"][0, 0])


LANGUAGES = {"en-US": ("Play", "Step forward"), "ko-KR": ("재생", "한 단계 앞으로")}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_walk_goes_by_keyboard_by_buttons_and_by_itself(opened, translated, language):
    play, forward = LANGUAGES[language]
    reader = opened(translated[0], language)
    walk = Walk(reader, part="cross", layer=2)
    page, slider = walk.page, walk.page.locator("#walk-at")
    page.locator("#walk").focus()
    page.keyboard.press("Home")
    first = page.locator("#walk-says").text_content()
    page.keyboard.press("ArrowRight")
    assert slider.input_value() == "1"
    assert page.locator("#walk-says").text_content() != first
    page.keyboard.press("End")
    assert page.locator(".walk-path button").last.get_attribute("aria-current") == "step"
    assert page.locator("#walk-next").is_disabled()
    page.keyboard.press("Home")
    assert page.locator("#walk-says").text_content() == first
    page.get_by_role("button", name=forward).click()
    page.get_by_role("button", name=forward).click()
    assert slider.input_value() == "2"
    assert "moment=2" in page.url  # a link keeps the moment
    page.locator("#walk-speed").select_option("4")
    page.get_by_role("button", name=play).click()
    expect(slider).to_have_value(re.compile(r"^([4-9]|\d\d)$"))
    page.locator("#walk").focus()
    page.keyboard.press(" ")
    stopped = slider.input_value()
    assert page.get_by_role("button", name=play).is_visible()
    page.wait_for_timeout(400)
    assert slider.input_value() == stopped
    page.reload()
    assert slider.input_value() == stopped
    reader.requests.pop()


def test_the_walk_opens_computed_and_plays_once_when_it_is_first_seen(opened, translated):
    """It comes to rest where it opens, and never begins out of sight."""
    trace, layers, _ = translated
    reader = opened(trace)
    page = reader.page
    page.set_viewport_size({"width": 1000, "height": 260})
    page.evaluate("location.hash = '#view=walk&part=cross&layer=2&query=1&head=1'")
    slider, weights = page.locator("#walk-at"), page.locator('.walk-key [data-cell="weight"]')
    result = slider.input_value()
    page.wait_for_timeout(400)
    assert slider.input_value() == result, "its picture is below the screen"
    shown = weights.all_text_contents()
    near([number(each) for each in shown], layers[2]["cross"]["weights"][1, 1])
    page.set_viewport_size({"width": 1000, "height": 1000})
    expect(slider).not_to_have_value(result)
    expect(page.locator("#walk-says")).to_have_attribute("data-op", "products")
    expect(slider).to_have_value(result)
    assert weights.all_text_contents() == shown
    expect(page.locator("#walk-play")).to_have_text("▶")
    open_view(page, "row")
    open_view(page, "walk")
    page.wait_for_timeout(400)
    assert slider.input_value() == result, "it has been seen"


def test_nothing_plays_out_of_sight(opened, translated):
    page = opened(translated[0]).page
    page.evaluate("location.hash = '#view=walk&part=cross&layer=2'")
    slider = page.locator("#walk-at")
    expect(slider).to_have_value("3")
    page.evaluate("document.querySelector('main').style.paddingTop = '2000px'")
    page.wait_for_timeout(200)
    held = slider.input_value()
    page.wait_for_timeout(1500)
    assert slider.input_value() == held
    page.evaluate("document.querySelector('main').style.paddingTop = ''")
    expect(slider).not_to_have_value(held)


def test_nothing_moves_by_itself_where_less_motion_is_wanted(opened, translated):
    reader = opened(translated[0])
    reader.page.emulate_media(reduced_motion="reduce")
    walk = Walk(reader, part="cross", layer=2, head=1, query=1)
    assert walk.page.locator("#walk-play").count() == 0
    assert walk.page.locator(".walk-still").is_visible()
    frames = "() => { window.requestAnimationFrame = () => { window.moved = true; }; }"
    walk.page.evaluate(frames)
    for stage in ("softmax", "feed", "next"):  # a click of the driver would wait for frames itself
        walk.page.evaluate(f"document.getElementById('walk-stage-{stage}').click()")
    assert walk.page.evaluate("window.moved") is None
    shown = walk.page.locator('#walk [data-cell="probability"]').first.text_content()
    near(number(shown), translated[2][1].softmax(dim=0).max())


@pytest.mark.parametrize(("scheme", "language"), [("light", "ko-KR"), ("dark", "en-US")])
def test_the_walk_is_for_everybody(opened, translated, scheme, language):
    reader = opened(translated[0], language)
    reader.page.emulate_media(color_scheme=scheme)
    for width, moment in ((1200, 4), (400, 99)):
        reader.page.set_viewport_size({"width": width, "height": 900})
        walk = Walk(reader, part="cross", layer=2, query=1, moment=moment)
        assert reader.serious() == []
        assert walk.page.evaluate("document.documentElement.scrollWidth") <= width
        assert "undefined" not in walk.page.locator("main").inner_text()
        assert "NaN" not in walk.page.locator("main").inner_text()


def test_a_live_page_asks_for_the_vectors_that_it_does_not_hold(live, monkeypatch):
    page, traced = live
    monkeypatch.setattr("jumok.inspection.page.packing.WALK_BYTES", 1024)
    page.locator("#text").fill("the dog barked")
    trace = traced("the dog barked")
    expect(page.locator("header dd").last).to_have_text(trace.output)
    open_view(page, "walk")
    open_controls(page)
    for query in range(3):
        page.get_by_label("Word", exact=True).select_option(str(query))
        page.locator("#walk-stage-output").wait_for()
        page.locator("#walk-vectors summary").click()
        text = page.locator('[data-vector="output"]').text_content()
        shown = [number(each) for each in text.rsplit(": ", 1)[1].split()]
        chosen = page.get_by_label("Layer", exact=True).input_value()
        name = f"decoder.blocks.{chosen}.cross_attention"
        near(shown, trace.walk.sites[name].arrays["output"][query])


VARIANTS = {
    "sinks, gated": {"sinks": True, "process_output": ("head-gate",), "logit_cap": 3.0},
    "differential": {"attention_kind": "differential", "heads": 4, "norm_kind": "rms"},
    "linear": {"attention_kind": "linear", "bias": False, "norm": "post"},
    "capped, rotary": {"score_cap": 2.0, "positions": "rotary"},
    "cosine, biased": {"score": "cosine", "positions": "alibi"},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_other_kinds_of_attention_end_in_the_recorded_weights(opened, tmp_path, name):
    system = jumok.load(transformer(tmp_path / "m", **VARIANTS[name]), device="cpu")
    trace = jumok.trace(system, "the cat sat", "개가 짖었다", extras=ONLY)
    site = next(each for each in reversed(trace.sites) if each.part == "decoder")
    module = system.models[0].get_submodule(site.name)
    walk = Walk(opened(trace), part="decoder", layer=site.layer, head=1, query=2)
    found = walk.vectors()
    z = torch.from_numpy(site.weights[1, 2] @ site.value[1])
    near(found["z"], z)
    columns = walk.columns("mixed")
    near(columns["weight"], site.weights[1, 2])
    with torch.no_grad():
        mixed = torch.tensor(found["mixed"])
        near(found["output"], times(mixed, module.output), REDONE)
        near(found["sum"], torch.tensor(found["state"]) + torch.tensor(found["output"]), REDONE)
        query = times(torch.tensor(found["input"]), module.query)
    if name == "linear":
        near(found["query"], F.elu(heads(query[None], module.heads)[1, 0]) + 1, REDONE)
    if name == "cosine, biased":
        factor = module.score.sharpness.detach()[1].exp()
        near(
            found["query"],
            F.normalize(heads(query[None], module.heads)[1, 0], dim=0) * factor,
            REDONE,
        )
    if name == "capped, rotary":
        best = int(site.weights[1, 2].argmax())
        cap, before, after = numbers("2.0 " + walk.says("cap"))
        near(after, cap * np.tanh(before / cap), REDONE)
        products = site.query[1, 2] @ site.key[1, best]
        near(before, products * (site.query.shape[2] ** -0.5))
    near(numbers(walk.says("norm"))[:1], [wanted_norm(found["sum"], name)], REDONE)


def wanted_norm(total: list[float], name: str) -> float:
    """The first number of the norm's sentence: the root mean square, or the mean."""
    values = torch.tensor(total)
    return float(values.square().mean().sqrt() if name == "differential" else values.mean())
