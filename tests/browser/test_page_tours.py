"""Tours: every one that a kind of model is offered, step by step, in both languages."""

import re
from dataclasses import replace
from urllib.parse import parse_qs, parse_qsl

import pytest

from jumok.inspection.page.document import page as html
from jumok.inspection.page.tours import Tour, built_in, read_tour, unmet
from tests.browser.conftest import Reader, open_view, wait_until
from tests.browser.effects import chance, says_effect
from tests.browser.kinds import VIEWS

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

OFFERED = {
    "Transformer": {"translating-head", "switch-off", "attention-is-not-use", "why-the-mask"},
    "Bahdanau's RNN": {"attention-is-not-use", "bottleneck"},
    "captioner": set(),  # one head of one module
    "language model": {"switch-off", "attention-is-not-use", "why-the-mask"},
    "CNN": {"switch-off"},
    "masked model": {"switch-off"},
    "text classifier": {"switch-off"},
    "BERT": set(),
}


def tour_of(name: str) -> Tour:
    return next(tour for tour in built_in() if tour.name == name)


def address(reader: Reader) -> dict[str, str]:
    found = parse_qs(
        reader.page.evaluate("location.hash").removeprefix("#"), keep_blank_values=True
    )
    return {name: values[0] for name, values in found.items()}


def view_of(reader: Reader) -> str:
    return reader.page.locator(".views [aria-selected=true]").get_attribute("id")[4:]


@pytest.mark.parametrize("kind", VIEWS)
def test_the_tours_that_fit_are_offered(opened, traces, kind):
    """The page and Python decide by the same needs; what has no views here is left out."""
    recorded = traces(kind)
    assert {tour.name for tour in built_in() if unmet(tour, recorded) is None} == OFFERED[kind]
    reader = opened(recorded, view="overview")
    if not OFFERED[kind]:
        assert not reader.page.locator("[id^=start-]:not([id^=start-game])").count()
        return
    reader.page.locator("#tours").click()
    listed = reader.page.locator("#tour-list button:not([id^=start-game])").all()
    assert {each.get_attribute("id")[6:] for each in listed} == OFFERED[kind]


def test_why_a_tour_does_not_fit_is_named(traces):
    recorded = traces("Bahdanau's RNN")
    assert unmet(tour_of("translating-head"), recorded) == "heads = 2"
    assert unmet(tour_of("why-the-mask"), recorded) == "parts = decoder"
    assert unmet(tour_of("bottleneck"), traces("Transformer")) == "recurrent = true"
    assert unmet(tour_of("attention-is-not-use"), traces("captioner")) == "reads = text"


@pytest.mark.parametrize("kind", [kind for kind, names in OFFERED.items() if names])
def test_every_step_opens_what_its_link_says(opened, traces, kind):
    """Forth in English and back in Korean; Escape ends each tour."""
    reader = opened(traces(kind), view="overview")
    page = reader.page
    for name in sorted(OFFERED[kind]):
        tour = tour_of(name)
        page.locator("#tours").click()
        page.locator(f"#start-{name}").click()
        expect(page.locator("#tour-title")).to_have_text(tour.title["en"])
        expect(page.locator("#tour-next")).to_be_focused()
        for number, step in enumerate(tour.steps, start=1):
            expect(page.locator("#tour .tour-count")).to_have_text(f"{number} of 5")
            check_step(reader, tour, number)
            text = page.locator("#tour-text").inner_text()
            assert text.startswith(step.text["en"].partition("{")[0].strip())
            if number < len(tour.steps):
                page.locator("#tour-next").click()
        assert page.locator("#tour-next").is_disabled()
        expect(page.locator("#tour-end")).to_be_focused()
        page.locator("#language").click()
        for number in range(len(tour.steps), 0, -1):
            expect(page.locator("#tour .tour-count")).to_have_text(f"5단계 중 {number}단계")
            assert re.search("[가-힣]", page.locator("#tour-text").inner_text())
            check_step(reader, tour, number)
            if number > 1:
                page.locator("#tour-back").click()
        page.keyboard.press("Escape")
        expect(page.locator("#tour")).to_be_hidden()
        expect(page.locator("#tours")).to_be_focused()
        assert "tour" not in address(reader)
        page.locator("#language").click()


def check_step(reader: Reader, tour: Tour, number: int) -> None:
    """The view, the address, and a text without gaps."""
    known, wanted = address(reader), dict(parse_qsl(tour.steps[number - 1].link))
    assert view_of(reader) == wanted["view"]
    assert (known["tour"], known["step"]) == (tour.name, str(number))
    for key, value in wanted.items():
        # What depends on the model is a number in the address, or the name of a part.
        assert "{" not in known.get(key, "")
        assert "{" in value or known.get(key, value) == value
    text = reader.page.locator("#tour-text").inner_text()
    assert not re.search(r"[{}]|undefined|NaN|null| \.", text)


AROUND = """(() => {
  const [ring, target] = [".laser", NAME].map((name) => document.querySelector(name));
  if (!ring || !target) return false;
  ring.getAnimations().forEach((each) => { each.pause(); each.currentTime = 900; });
  const [inner, outer] = [ring, target].map((each) => each.getBoundingClientRect());
  return inner.left > outer.left - 12 && inner.top > outer.top - 12
    && inner.right < outer.right + 12 && inner.bottom < outer.bottom + 12;
})()"""
POINTED = {"overview": ".word.chosen", "board": "#map", "heads": ".switches", "beam": ".written"}


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_next_points_at_what_the_step_is_about(opened, traces, motion):
    """A ring closes around it, or the moment plays; nothing moves where less motion is wanted."""
    reader = opened(traces("Transformer"), view="overview")
    page = reader.page
    page.emulate_media(reduced_motion=motion)
    pointed = set()
    for name in sorted(OFFERED["Transformer"]):
        page.locator("#tours").click()
        page.locator(f"#start-{name}").click()
        for _ in range(len(tour_of(name).steps)):
            view = view_of(reader)
            if motion == "reduce":
                page.wait_for_timeout(60)
                assert page.locator(".laser").count() == 0
            elif view == "walk":
                assert page.locator("#walk-at").input_value() != "0"
                pointed.add(view)
            elif view in POINTED:
                wait_until(page, AROUND.replace("NAME", repr(POINTED[view])))
                pointed.add(view)
            if page.locator("#tour-next").is_enabled():
                page.locator("#tour-next").click()
        page.keyboard.press("Escape")
    assert motion == "reduce" or pointed == {*POINTED, "walk"}
    assert reader.serious() == []


def test_the_sentences_have_the_numbers_of_the_trace(opened, traces):
    recorded = traces("Transformer")
    effects = {
        (site.part, site.layer, head): float(change.sum())
        for site in recorded.sites
        for head, change in enumerate(recorded.findings.ablation[site.name])
    }
    reader = opened(recorded, view="overview&tour=switch-off&step=2")
    said = reader.page.locator("#tour-text").inner_text()
    part, layer, head = min(effects, key=effects.get)
    kind = {"cross": "cross-attention", "encoder": "encoder", "decoder": "decoder"}[part]
    assert f"depends most on head {head + 1} of layer {layer + 1} in the {kind}" in said
    assert says_effect(said, -effects[part, layer, head], chance(recorded))
    reader.page.locator("#tour-next").click()
    known = address(reader)
    assert (known["part"], known["layer"], known["head"]) == (part, str(layer), str(head))
    mask = next(site for site in recorded.sites if site.part == "decoder").allowed
    reader.page.evaluate("location.hash = 'tour=why-the-mask&step=1&view=board&part=decoder'")
    forbidden = f"forbids {int((~mask.astype(bool)).sum())} "
    expect(reader.page.locator("#tour-text")).to_contain_text(forbidden)


def test_attention_and_occlusion_are_counted(opened, traces):
    recorded = traces("Transformer")
    facts = recorded.findings.attribution["words"]
    weights, blank = (facts.measures[name]["source"] for name in ("weights", "blank"))
    count = len(recorded.axes["source"].texts)
    same = sum(
        int(seen[:count].argmax() == used[:count].argmax())
        for seen, used in zip(weights, blank, strict=True)
    )
    reader = opened(recorded, view="mattered&tour=attention-is-not-use&step=4")
    said = reader.page.locator("#tour-text")
    expect(said).to_contain_text(f"For {same} of {len(weights)} words")


def test_the_short_link_of_a_step_opens_it_and_back_returns(opened, traces):
    reader = opened(traces("Transformer"), view="")
    page = reader.page
    page.evaluate("location.hash = 'tour=translating-head&step=4'")
    expect(page.locator("#tab-board")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#tour .tour-count")).to_have_text("4 of 5")
    page.locator("#tour-next").click()
    expect(page.locator("#tab-row")).to_have_attribute("aria-selected", "true")
    page.go_back()
    expect(page.locator("#tab-board")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#tour .tour-count")).to_have_text("4 of 5")
    # The page stays usable: what is opened by hand is in the link, with the step.
    open_view(page, "grid")
    expect(page.locator("#tour .tour-count")).to_have_text("4 of 5")
    assert (address(reader)["view"], address(reader)["step"]) == ("grid", "4")


def test_the_arrows_are_the_views_outside_of_the_panel(opened, traces):
    reader = opened(traces("Transformer"), view="overview&tour=translating-head&step=1")
    page = reader.page
    page.locator("#key-0").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#key-1")).to_be_focused()
    expect(page.locator("#tour .tour-count")).to_have_text("1 of 5")
    page.locator("#tour-next").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tour .tour-count")).to_have_text("2 of 5")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#tour .tour-count")).to_have_text("1 of 5")
    # Escape hides what a term means first, and then ends the tour.
    page.locator("#panel .term").first.focus()
    expect(page.locator(".tooltip")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#tour")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#tour")).to_be_hidden()
    page.locator("#tours").click()
    expect(page.locator("#tour-list button").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#tour-list")).to_be_hidden()


def test_nothing_keeps_anybody_out_of_a_tour(opened, traces):
    """The list and the panel: axe-core, narrow and at 200 %, in both themes and languages."""
    reader = opened(traces("Transformer"), view="overview&tour=switch-off&step=4")
    page = reader.page
    for wide, high, theme in [(1280, 800, "light"), (400, 800, "dark"), (640, 400, "light")]:
        page.set_viewport_size({"width": wide, "height": high})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.locator("#language").click()
        assert reader.serious() == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#tours").click()
    assert reader.serious() == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_page_opens_with_a_tour_of_ones_own(reading, traces, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        """
        [title]
        en = "Mine"
        ko = "내 것"
        [text]
        en = "Of a teacher."
        ko = "선생님이 만든 것."
        [[steps]]
        link = "http://127.0.0.1:80/?token=secret#view=board&part=encoder"
        text.en = "Layer by layer: {head}."
        text.ko = "층마다 봅니다: {head}."
        [[steps]]
        link = "view=run"
        text.en = "How it learned."
        text.ko = "어떻게 배웠는지 봅니다."
        """,
        "utf-8",
    )
    tour = read_tour(file)
    assert "secret" not in str(tour.payload())
    reader = reading(html(traces("Transformer"), tour=tour))
    said = reader.page.locator("#tour-text")
    missing = "This tour needs views that this page does not have: Learning curves."
    expect(said).to_have_text(missing)
    reader.page.locator("#tour-end").click()
    expect(reader.page.locator("#tour")).to_be_hidden()
    shorter = replace(tour, steps=tour.steps[:1])
    reader = reading(html(traces("Transformer"), tour=shorter), "ko-KR")
    expect(reader.page.locator("#tour-title")).to_have_text("내 것")
    expect(reader.page.locator("#tour-text")).to_contain_text("인코더")
    assert view_of(reader) == "board"


def test_a_live_page_switches_the_head_off(live):
    page, traced = live
    page.locator("#tours").click()
    page.locator("#start-switch-off").click()
    for _ in range(4):
        page.locator("#tour-next").click()
    expect(page.locator("dd.changed")).to_have_count(1)
    expect(page.locator("#tour-text")).to_contain_text("With the ablation, the output is")
    # Another text: the step is about its words, and what was switched off is again.
    page.locator("#tour-back").click()
    page.locator("#text").fill("the dog barked")
    output = traced("the dog barked").output
    expect(page.locator("dd").nth(1)).to_have_text(output)
    expect(page.locator("#tour .tour-count")).to_have_text("4 of 5")
    page.keyboard.press("Escape")
    expect(page.locator("#tour")).to_be_hidden()
