"""Going back, the keyboard, faults, strange links and strange signs."""

import threading
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from jumok.inspection.findings import SearchLeaf, SearchTree
from jumok.inspection.page.document import page as html
from jumok.inspection.trace import Axis, Site, Trace
from jumok.kinds import KINDS, Kind
from jumok.serving.answers import answers
from jumok.serving.local import LocalServer
from jumok.tracing.comparison import Comparison
from tests.browser.conftest import PATIENCE, open_controls, open_view, take, views_of
from tests.inspection.traces import node, read_findings, softmax, trace

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect


def selected(reader: object) -> str:
    return reader.page.locator('.views [aria-selected="true"]').get_attribute("id")


def wait_for_view(reader: object, tab: str) -> None:
    """After Back, which takes effect a moment later."""
    reader.page.locator(f'#{tab}[aria-selected="true"]').wait_for()


def test_back_leads_to_the_view_before(opened):
    reader = opened(trace())
    reader.page.locator("#map").focus()
    reader.page.keyboard.press("Enter")
    assert selected(reader) == "tab-row"
    reader.choose("Head", "3")  # no view of its own: Back does not stop here
    reader.page.locator("#question-where").click()
    reader.page.locator("#tab-grid").click()
    reader.page.go_back()
    wait_for_view(reader, "tab-overview")
    reader.page.go_back()
    wait_for_view(reader, "tab-row")
    assert reader.page.get_by_label("Head", exact=True).input_value() == "2"
    reader.page.go_back()
    wait_for_view(reader, "tab-board")
    reader.page.go_forward()
    wait_for_view(reader, "tab-row")


def test_enter_in_a_map_leaves_the_focus_in_the_view(opened):
    reader = opened(trace())
    reader.page.locator("#map").focus()
    reader.page.keyboard.press("Enter")
    focused = "document.activeElement.closest('#panel') !== null"
    assert reader.page.evaluate(focused)
    reader.page.keyboard.press("Tab")
    assert reader.page.evaluate(focused)


def test_home_and_end_lead_to_the_first_and_the_last_view(opened):
    reader = opened(trace())
    reader.page.locator("#tab-board").focus()
    reader.page.keyboard.press("End")
    last = reader.page.locator(".views [role=tab]").last.get_attribute("id")
    assert selected(reader) == last
    assert reader.page.evaluate("document.activeElement.id") == last
    reader.page.keyboard.press("Home")
    assert selected(reader) == "tab-overview"


def test_an_open_table_of_all_heads_stays_open(opened):
    reader = opened(trace())
    reader.page.locator("#every-head summary").click()
    expect(reader.page.locator("#every-head tbody tr")).to_have_count(6)
    reader.choose("Layer", "2")
    expect(reader.page.locator("#every-head")).to_have_attribute("open", "")
    expect(reader.page.locator("#every-head tbody tr")).to_have_count(6)


@pytest.mark.parametrize(
    "link",
    [
        "view=row&key=-3&query=-2",
        "lang=__proto__",
        "lang=constructor",
        "view=board&query=-9&key=-9&click=link",
        "view=grid&at=-4&part=__proto__",
        "view=layers&show=__proto__",
        "view=__proto__&head=-1&layer=-1",
        "view=overview&query=99&key=-3&head=77&part=nobody",
        "scale=__proto__&value=constructor",
    ],
)
def test_a_strange_link_shows_a_page(opened, link):
    reader = opened(trace())
    reader.page.evaluate(f"location.hash = '{link}'")
    expect(reader.page.locator("#panel .help")).not_to_be_empty()


def test_signs_that_turn_text_around_are_shown_and_do_nothing(opened):
    names = ("a\u202eb", "\x1b[31m", "\ufeffcat")
    reader = opened(trace(source=names))
    reader.choose("Show as", "table")
    assert reader.table()[0][1:4] == ["aU+202Eb", "␛[31m", "U+FEFFcat"]
    assert "\u202e" not in reader.page.locator("main").inner_text()


def narrow(reader: object) -> None:
    reader.page.set_viewport_size({"width": 400, "height": 800})


@pytest.mark.parametrize("view", ["overview", "board", "row", "grid", "heads", "theatre", "beam"])
def test_nothing_is_wider_than_a_phone(opened, view):
    reader = opened(trace(dim=64))
    narrow(reader)
    reader.page.evaluate(f"location.hash = 'view={view}'")
    reader.page.wait_for_timeout(50)
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 400


def test_tabs_stand_in_one_row(opened):
    reader = opened(trace())
    for width in (1280, 400):
        reader.page.set_viewport_size({"width": width, "height": 800})
        for row in (".questions", ".views"):
            tabs = reader.page.locator(f"{row} [role=tab]").all()
            assert len({tab.bounding_box()["y"] for tab in tabs}) == 1


def test_twelve_heads_fit_beside_one_another(opened):
    names = tuple("abcde")
    weights = softmax(np.random.default_rng(1).normal(size=(12, 5, 5)))
    site = Site("encoder.0", "scaled-dot", "encoder", 0, "text", "text", weights)
    axis = Axis(names, tuple(range(5)), names)
    reader = opened(Trace("b", "weights", "a b", "", {"text": axis}, (site,), task="bert"))
    reader.page.set_viewport_size({"width": 1280, "height": 800})
    reader.tab("All heads")
    box = reader.page.locator(".grid").evaluate(
        "grid => [grid.scrollWidth, grid.parentElement.clientWidth]"
    )
    assert box[0] <= box[1]
    assert reader.page.locator(".grid button").count() == 12


def test_one_head_has_no_view_of_all(opened):
    recorded = trace(heads=1, layers=1)
    cross = tuple(site for site in recorded.sites if site.part == "cross")
    assert opened(replace(recorded, sites=cross)).page.locator("#tab-grid").count() == 0


def language_model() -> Trace:
    """A prompt of two tokens and two that were written; the search counts the prompt as well."""
    tokens = ("▁a", "▁b", "▁c", "d")
    axis = Axis(("<s>", *tokens), (None, 0, 1, 2, 2), ("a", "b", "cd"))
    weights = np.tril(np.ones((2, 5, 5), dtype=np.float32))
    site = Site(
        "decoder.0",
        "scaled-dot",
        "decoder",
        0,
        "text",
        "text",
        weights / weights.sum(-1, keepdims=True),
    )
    nodes = [
        node(-1, "▁c", -0.5, -30.5, "kept", 7),
        node(-1, "▁x", -0.7, -30.7, "kept", 9),
        node(0, "d", -0.9, -31.4, "kept", 8),
        node(1, "y", -0.1, -30.8, "kept", 6),
    ]
    search = SearchTree(tuple(nodes), (SearchLeaf(3), SearchLeaf(2)))
    ranks = [[[None, None], [None, None]], [[1, 0.5], [0.5, 1]], [[1, 0.5], [0.5, 1]]]
    bars = [[1.0, 0, 0], [0.5, 0.5, 0], [0.2, 0.5, 0.3]]
    words = {
        "read": "text", "own": "text", "ranks": ranks, "mean_ranks": ranks[1], "shares": {},
        "measures": {"weights": {"text": bars}, "slope": {"text": bars}},
        "rest": {"weights": {"text": [0.4, 0.3, 0.2]}},
    }  # fmt: skip
    plain = {"written": [7, 8], "prompt": 2, "own_rows": True}
    known = read_findings(plain | {"attribution": {"words": words, "pieces": words}})
    step = trace().steps[0]
    steps = tuple(replace(step, token=token) for token in tokens)
    findings = replace(known, search=search)
    return Trace(
        "lm", "weights", "a b", " cd", {"text": axis}, (site,), steps, findings, "language-model"
    )


def test_the_tree_of_a_language_model_begins_after_the_prompt(opened):
    reader = opened(language_model())
    reader.tab("Beam search tree")
    assert reader.page.locator("#node-0 small").inner_text() == "-0.50"
    assert reader.page.locator("#node-3 small").inner_text() == "-0.80"
    chosen = reader.page.locator('.tree [aria-pressed="true"]')
    assert chosen.get_attribute("id") == "node-2", "what was written, though another one is better"
    assert reader.page.locator("#hypothesis summary").inner_text() == "cd"


def test_who_mattered_begins_with_the_first_word_that_was_written(opened):
    reader = opened(language_model())
    reader.tab("Attribution")
    pressed = reader.page.locator('[id^=written-][aria-pressed="true"]')
    assert pressed.inner_text() == "cd"
    reader.choose("Show as", "table")
    assert reader.table()[-1][:2] == ["rest (<s>)", "0.2000"]
    reader.page.locator("#written-0").click()
    assert "nothing to rank" in reader.page.locator("#panel").inner_text()


@pytest.fixture
def empty(browser):
    """The live page of a model that was given nothing yet; a text of "bad" is refused."""

    def traced(text, target=None, **asked):
        if text.startswith("bad"):
            raise jumok_error()
        return replace(trace(), text=text)

    nothing = Trace("tiny", "qk", "", "", {}, ())
    server = LocalServer(partial(html, nothing), answers(Comparison(traced)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context = browser.new_context(locale="ko-KR")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(server.link)
    yield page, server
    context.close()
    server.shutdown()
    server.server_close()
    assert faults == []


def jumok_error() -> Exception:
    from jumok.errors import DataError

    return DataError("this text cannot be looked at.", expected="another one", do="type it")


def test_a_page_without_a_text_waits_for_one(empty):
    page, _ = empty
    assert page.get_by_role("tab").count() == 0
    assert "텍스트를 입력하세요" in page.locator("main").inner_text()
    page.locator("#text").fill("a cat ran")
    expect(page.locator("#sentence")).to_be_visible()
    assert page.locator("#text").input_value() == "a cat ran"
    open_controls(page)
    assert page.get_by_label("정렬 추출 단계", exact=True).input_value() == "writes"
    page.locator("#text").fill("a cat ran away")
    expect(page.locator("h1")).to_be_visible()


def test_faults_are_told_in_the_language_of_the_page(empty):
    page, _ = empty
    page.locator("#text").fill("bad")
    fault = page.locator(".fault")
    expect(fault).to_contain_text(
        "처리하지 못했습니다. 프로그램의 메시지: this text cannot be looked at."
    )
    assert fault.locator("dt").all_inner_texts() == ["기대한 것", "해결 방법"]
    assert fault.locator("dd").all_inner_texts() == ["another one", "type it"]
    page.locator("#text").fill("")
    expect(fault).to_have_text("텍스트를 입력하세요.")
    page.route("**/trace", lambda route: route.abort())  # nobody answers any more
    page.locator("#text").fill("a cat")
    expect(fault).to_contain_text("응답이 없습니다")


def test_what_was_written_is_listed_though_it_was_not_likely(opened):
    recorded = trace()
    unlikely = replace(recorded.steps[0], token="없다", log_probability=-6.0)
    reader = opened(replace(recorded, steps=(unlikely, *recorded.steps[1:])))
    reader.tab("Predictions")
    first = reader.page.locator(".step").first
    assert first.locator(".written th").inner_text() == "없다"
    assert first.locator(".written td").last.inner_text() == "0.2 %"


def test_a_saved_picture_is_called_after_model_view_and_text(opened):
    reader = opened(replace(trace(), model="a/b"))
    with reader.page.expect_download() as found:
        take(reader.page, "save-svg")
    assert found.value.suggested_filename == "a-b-board-a-cat-ran.svg"


def test_an_example_is_one_click_away(browser):
    """The live page offers texts; a click enters one and asks for its trace."""
    asked: list[str] = []

    def traced(text, target=None, **options):
        asked.append(text)
        return replace(trace(), text=text)

    texts = ["a cat ran", "<b>two</b> dogs ran"]
    first = partial(html, traced(texts[0]), examples=texts)
    server = LocalServer(first, answers(Comparison(traced)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context = browser.new_context(locale="en-US")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(server.link)
    page.locator("#text").focus()
    buttons = page.locator(".examples button")
    assert buttons.all_inner_texts() == texts
    assert page.get_by_role("group", name="Examples").is_visible()
    with page.expect_response("**/trace"):
        buttons.nth(1).click()
    assert page.locator("#text").input_value() == texts[1]
    assert asked[-1] == texts[1]
    context.close()
    server.shutdown()
    server.server_close()


KIND = Kind(
    verb="look",
    reads="text",
    system="a_plugin:Summarizer",
    writes="label",
    texts={"en": {"output": "Summary of it"}, "ko": {"output": "요약문"}},
)


@pytest.mark.parametrize(
    ("language", "output", "labels"),
    [("en-US", "Summary of it", "Labels"), ("ko-KR", "요약문", "레이블")],
)
def test_a_kind_from_outside_has_its_views_and_texts_without_javascript(
    opened, monkeypatch, language, output, labels
):
    monkeypatch.setitem(KINDS, "summaries", KIND)
    page = opened(replace(trace(), task="summaries"), language).page
    assert page.locator("header dt").all_inner_texts()[-1] == output
    assert "theatre" not in views_of(page), "a label is not searched for"
    open_view(page, "beam")
    assert page.locator("#tab-beam").inner_text() == labels
