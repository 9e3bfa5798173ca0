"""What a reader sees first: the picture, large, still, and nothing that is not so."""

from dataclasses import replace

import pytest

from jumok.inspection.page.document import page as html
from tests.browser.conftest import close_menu, open_view
from tests.browser.kinds import traced
from tests.browser.test_page_kinds import served
from tests.inspection.traces import HOSTILE, trace

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

__all__ = ["served"]  # a fixture

PLACES = "(words) => words.map((word) => word.getBoundingClientRect().left)"


def test_an_unchanged_model_is_not_called_changed_on_a_phone(reading):
    reader = reading(html(trace()))
    reader.page.set_viewport_size({"width": 400, "height": 800})
    expect(reader.page.locator("h1 small.changes")).to_be_attached()
    expect(reader.page.locator("h1 small.changes")).not_to_be_visible()


def test_words_stay_where_they_are_when_one_is_pointed_at(reading):
    page = reading(html(trace())).page
    words = page.locator(".rows .word")
    before = words.evaluate_all(PLACES)
    for word in words.all():
        word.hover()
        assert words.evaluate_all(PLACES) == before


def test_an_empty_output_opens_with_tokens(reading):
    whole = trace()
    target = whole.axes["target"]
    wordless = replace(target, words=(None,) * len(target.tokens), texts=())
    reader = reading(html(replace(whole, output="", axes={**whole.axes, "target": wordless})))
    for view in ("overview", "board", "grid", "row"):
        open_view(reader.page, view)
        expect(reader.page.locator(f"#tab-{view}[aria-selected='true']")).to_be_visible()
    assert reader.page.locator("#panel").inner_text()


def test_of_every_other_word_only_the_strongest_band_is_drawn(reading):
    """Of even weights a hundred bands would be seen."""
    page = reading(html(trace())).page
    page.locator(".bands path.on").first.wait_for(state="attached")
    others = page.locator(".rows .word").count() - 1
    assert others
    assert page.locator(".bands path.off").count() <= others


def test_values_that_are_no_shares_are_not_called_shares(opened, traces):
    page = opened(traces("Transformer"), view="mattered").page
    page.evaluate("location.hash += '&as=table'")
    page.locator("#panel table").first.wait_for()
    captions = page.locator("#panel table caption").all_inner_texts()
    assert sum("in its own unit" in each for each in captions) == 1
    assert not any("shares of each measure in %" in each for each in captions)


FIRST = "document.querySelector('#panel .word').getBoundingClientRect().top"
SIDEWAYS = "document.documentElement.scrollWidth - innerWidth"
KINDS = ("Transformer", "Bahdanau's RNN", "text classifier", "language model", "captioner")
CROSSED = """() => {
  const inside = ([x, y], box) =>
    x > box.left + 1 && x < box.right - 1 && y > box.top + 2 && y < box.bottom - 2;
  const texts = [...document.querySelectorAll(".lines .word, .lines .side")]
    .map(each => each.getBoundingClientRect());
  const svg = document.querySelector(".bands").getBoundingClientRect();
  return [...document.querySelectorAll(".bands path:not(.stem)")].filter(path =>
    Array.from({ length: 41 }, (_, i) => path.getPointAtLength(path.getTotalLength() * i / 40))
      .some(({ x, y }) => texts.some(box => inside([x + svg.left, y + svg.top], box)))).length;
}"""
LONG = tuple(f"word{i}" for i in range(40))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("size", "least"), [((1280, 900), 200), ((400, 800), 800)])
def test_the_first_word_is_near_the_top(opened, folders, kind, size, least):
    page = opened(traced(folders, kind), view="overview").page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    assert page.evaluate(FIRST) < least
    assert page.evaluate(SIDEWAYS) <= 0
    size = page.locator("#panel .word").first.evaluate("each => getComputedStyle(each).fontSize")
    assert float(size.removesuffix("px")) >= 24


@pytest.mark.parametrize("kind", ["Transformer", "text classifier", "language model"])
@pytest.mark.parametrize(("size", "least"), [((1280, 900), 200), ((400, 800), 800)])
def test_the_first_word_of_a_live_page_is_near_the_top(served, kind, size, least):
    page = served(kind)
    open_view(page, "overview")
    page.locator("#panel .word").first.wait_for()
    page.set_viewport_size({"width": size[0], "height": size[1]})
    assert page.evaluate(FIRST) < least
    assert page.evaluate(SIDEWAYS) <= 0


def test_a_labels_image_is_near_the_top_and_its_bars_beside_their_numbers(served):
    page = served("CNN")
    open_view(page, "overview")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator("#label-image").wait_for()
    assert page.locator("#label-image").bounding_box()["y"] < 200
    assert page.locator("dl dd").last.is_hidden()  # the bars name the label
    for row in page.locator(".labels tr").all():
        number, bar = (row.locator(part).first.bounding_box() for part in ("td >> nth=1", "i"))
        middles = [box["y"] + box["height"] / 2 for box in (number, bar)]
        assert abs(middles[0] - middles[1]) < 2


NARROWED = """() => {
  document.body.style.width = "400px";
  return document.querySelector("#page").scrollWidth; // before anything in it could follow
}"""


def test_a_page_that_is_narrowed_is_at_once_narrow(served):
    """A browser of a phone that was turned zooms out for what is too wide, if only for a moment."""
    page = served("language model")
    open_view(page, "overview")
    page.locator("#panel .word").first.wait_for()
    assert page.evaluate(NARROWED) == 400


def test_a_text_that_the_picture_shows_is_not_said_again(opened, folders):
    recorded = traced(folders, "Transformer")
    page = opened(recorded, view="overview").page
    assert recorded.text not in page.locator("header").inner_text()
    assert recorded.output not in page.locator("header").inner_text()
    open_view(page, "board")  # whose words are in another order
    assert recorded.text in page.locator("header").inner_text()
    open_view(page, "overview")
    page.evaluate("location.hash += '&part=encoder'")  # both lines are the source
    expect(page.locator("header dd").nth(1)).to_be_visible()
    expect(page.locator("header dd").first).not_to_be_visible()


@pytest.mark.parametrize("words", [HOSTILE, LONG])
@pytest.mark.parametrize("wide", [1280, 400])
def test_no_band_crosses_a_word_or_a_label(reading, words, wide):
    page = reading(html(trace(source=words))).page
    page.set_viewport_size({"width": wide, "height": 800})
    page.locator(".bands path.on").first.wait_for(state="attached")
    page.wait_for_timeout(300)
    assert page.evaluate(CROSSED) == 0
    assert page.evaluate(SIDEWAYS) <= 0


def test_the_scale_is_said_and_shared(opened, folders):
    """The strongest colour of the bands is the largest weight of their map, or all of it."""
    recorded = traced(folders, "text classifier")
    page = opened(recorded, view="overview").page
    said = page.locator("#panel .legend >> nth=0").inner_text()
    low, high = (float(each.split()[-1]) for each in said.split("—")[0].split("%")[:2])
    assert low == 0
    rows = page.locator(".rows .word")
    shares = []
    for row in rows.all():
        row.hover()
        shares += [float(each.rstrip(" %\u202f")) for each in page.locator(
            ".keys .word small").all_inner_texts() if each]  # fmt: skip
    assert high == pytest.approx(100 if max(shares) >= 50 else max(shares), abs=0.6)
    most = 100 * max(float(site.weights.max()) for site in recorded.sites)
    assert f"the strongest colour is {most:.0f} %" in page.locator(".heads > p").inner_text()


def test_a_link_skips_to_the_picture(reading):
    page = reading(html(trace())).page
    before = page.url
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.closest('.line') !== null")
    assert page.url == before


MOVED = """async () => {
  const at = () => document.querySelector(".bands path.on").getAttribute("d");
  document.querySelector(".rows .word:not(.chosen)").focus();
  const first = at();
  await new Promise(done => setTimeout(done, 400));
  return at() !== first;
}"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_bands_glide_unless_nothing_is_to_move(reading, motion):
    page = reading(html(trace())).page
    page.emulate_media(reduced_motion=motion)
    page.locator(".bands path.on").first.wait_for(state="attached")
    page.wait_for_timeout(400)
    assert page.evaluate(MOVED) == (motion == "no-preference")


def test_the_theme_is_chosen_and_kept_in_the_link(reading):
    page = reading(html(trace())).page
    assert page.locator("html").get_attribute("data-theme") == "light"
    page.locator("#theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert "theme=dark" in page.url
    page.locator("#theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.evaluate("location.hash = ''")
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_one_menu_has_what_is_taken_away(reading):
    page = reading(html(trace())).page
    assert page.locator("#share button:visible").count() == 0
    page.locator("#share-open").click()
    assert {"copy-link", "copy-figure", "save-svg", "save-png", "pin"} <= {
        each.get_attribute("id") for each in page.locator("#share button:visible").all()
    }
    page.keyboard.press("Escape")
    expect(page.locator("#share-open")).to_be_focused()
    assert page.locator("#share button:visible").count() == 0
    page.locator("#share-open").click()
    page.mouse.click(20, 700)
    assert page.locator("#share[open]").count() == 0
    close_menu(page)


def test_the_input_is_changed_where_it_stands(served):
    page = served("Transformer")
    open_view(page, "overview")
    page.locator("#panel .word").first.wait_for()
    line = page.locator(".keys")
    before = line.bounding_box()
    page.locator("#edit").click()
    field = page.locator("#text")
    expect(field).to_be_focused()
    box = field.bounding_box()
    assert before["x"] <= box["x"]
    assert abs(box["y"] + box["height"] - before["y"] - before["height"]) < 20
    page.keyboard.press("End")
    page.keyboard.type(" down")
    expect(page.locator("#panel .keys .word > span").last).to_have_text("down")
    expect(field).to_be_focused()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.closest('.line') !== null")
    assert "\n" not in field.input_value()


def test_an_edge_fades_where_more_lies_behind(opened, folders):
    """Of tabs on a phone, and of a tree: a scroll bar is not always to be seen."""
    page = opened(traced(folders, "Transformer"), view="theatre").page
    page.set_viewport_size({"width": 400, "height": 800})
    page.locator("nav.questions.more-after").wait_for()
    tree = page.locator(".scroll:has(> .tree)")
    page.set_viewport_size({"width": 150, "height": 800})
    assert tree.evaluate("each => each.scrollWidth > each.clientWidth")
    page.locator(".scroll.more-after:has(> .tree)").wait_for()
    tree.evaluate("each => { each.scrollLeft = each.scrollWidth; }")
    page.locator(".scroll.more-before:not(.more-after):has(> .tree)").wait_for()


def test_what_is_taken_away_has_another_colour_than_attention(opened, folders):
    page = opened(traced(folders, "Transformer"), view="overview").page
    style = "(each, name) => getComputedStyle(each)[name]"
    bar = page.locator(".strip i").first.evaluate(style, "backgroundImage")
    band = page.locator(".bands path.on").first.evaluate(style, "stroke")
    assert "rgb(184, 83, 0)" in bar
    assert band == "rgb(59, 76, 192)"
