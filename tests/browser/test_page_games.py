"""Games of prediction: every revealed answer is computed again, from the trace."""

import re

import pytest

from jumok.inspection.page.document import page as html
from jumok.inspection.trace import Trace
from tests.browser.conftest import PATIENCE, Reader
from tests.browser.kinds import VIEWS
from tests.browser.test_page_overview import opened_at, percent, word_map

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

OFFERED = {
    "Transformer": ["look", "head", "next"],
    "Bahdanau's RNN": ["look", "next"],
    "captioner": ["next"],
    "language model": ["look", "head", "next"],
    "CNN": ["head", "next"],
    "masked model": ["look", "head", "next"],
    "text classifier": ["look", "head", "next"],
    "BERT": ["look"],
}


def right_ones(page: object) -> set[int]:
    """The options that the page shows as right."""
    shown = page.locator(".options .right").all()
    return {int(each.get_attribute("id").removeprefix("option-")) for each in shown}


def looked(recorded: Trace, reader: Reader, question: str) -> set[int]:
    """The words with the largest weight of the word that the question is about."""
    site, head = opened_at(recorded, reader)
    values = word_map(recorded, site, head, recorded.findings.at_input)
    row = int(reader.page.locator(".rows [aria-pressed=true]").get_attribute("id")[4:])
    assert f"“{reader.page.locator(f'#row-{row} span').inner_text()}”" in question
    return {int(column) for column in (values[row] > values[row].max() - 1e-5).nonzero()[0]}


def ablated(recorded: Trace, number: int) -> set[int]:
    order = ["cross", "encoder", "decoder", "image"]
    sites = [site for site in recorded.sites if len(site.weights) > 1]
    sites.sort(key=lambda site: order.index(site.part))
    sums = recorded.findings.ablation[sites[number].name].sum(1)
    return {int(head) for head in (sums < sums.min() + 1e-5).nonzero()[0]}


def predicted(recorded: Trace, number: int) -> set[int]:
    first = recorded.findings.prompt if recorded.task == "language-model" else 0
    best = recorded.steps[min(first, len(recorded.steps) - 1) + number].best
    top = max(probability for _, probability in best)
    return {n for n, (_, each) in enumerate(best) if each > top - 1e-6}


@pytest.mark.parametrize("kind", VIEWS)
def test_every_answer_is_the_traces(opened, traces, kind):
    """By keyboard: Enter guesses, and again goes to the next question; Escape ends the game."""
    recorded = traces(kind)
    reader = opened(recorded, view="overview")
    page = reader.page
    page.locator("#tours").click()
    offered = page.locator("#tour-list [id^=start-game-]").all()
    assert [each.get_attribute("id")[11:] for each in offered] == OFFERED[kind]
    page.keyboard.press("Escape")
    for game in OFFERED[kind]:
        page.locator("#tours").click()
        page.locator(f"#start-game-{game}").focus()
        page.keyboard.press("Enter")
        total = int(page.locator("#game .tour-count").inner_text().split()[-1])
        right = 0
        for number in range(total):
            expect(page.locator(".options button").first).to_be_focused()
            expect(page.locator("#panel")).to_be_hidden()  # it has the answer
            assert page.locator("header dd").nth(1).is_visible() == (
                game != "next" and bool(recorded.steps)
            )
            guess = int(page.locator(".options button").first.get_attribute("id")[7:])
            question = page.locator("#game-ask").inner_text()
            page.keyboard.press("Enter")
            expect(page.locator("#panel")).to_be_visible()
            found = (
                looked(recorded, reader, question)
                if game == "look"
                else (ablated if game == "head" else predicted)(recorded, number)
            )
            assert right_ones(page) <= found
            right += guess in found
            said = page.locator("#game-verdict").inner_text()
            assert said.startswith("Right." if guess in found else "Not this one.")
            assert not re.search(r"undefined|NaN", said)
            score = page.locator("#game-score").inner_text()
            assert score == f"{right} of {number + 1} right"
            if number < total - 1:
                expect(page.locator("#game-next")).to_be_focused()
                page.keyboard.press("Enter")
        expect(page.locator("#game-end")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("#game")).to_be_hidden()
        expect(page.locator("#tours")).to_be_focused()


def test_the_number_that_is_shown_is_the_probability(opened, traces):
    recorded = traces("Transformer")
    page = opened(recorded, "ko-KR", view="beam&game=next").page
    assert re.search("[가-힣]", page.locator("#game-ask").inner_text())
    page.locator(".options button").last.click()
    said = page.locator("#game-verdict").inner_text()
    shown = percent(re.search(r"\(([\d.]+)%\)", said)[1] + " %")
    best = recorded.steps[0].best
    assert shown == pytest.approx(2.718281828 ** max(each for _, each in best), abs=0.0051)


def test_the_result_is_a_text_to_post(opened, traces):
    """After the last question, with a mark for each guess; it is read where it cannot be copied."""
    reader = opened(traces("Transformer"), view="beam&game=next")
    page = reader.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    marks = ""
    total = int(page.locator("#game .tour-count").inner_text().split()[-1])
    for number in range(total):
        assert page.locator("#game-copy").is_hidden()
        page.locator(".options button").nth(number % 2).click()
        marks += "✓" if page.locator("#game-verdict").inner_text().startswith("Right.") else "✗"
        if number < total - 1:
            page.locator("#game-next").click()
    page.locator("#game-copy").click()
    post = page.locator("#game-post").inner_text()
    title = page.locator("#game-title").inner_text()
    right = marks.count("✓")
    assert post == f"{right} of {total} – {title}\n{marks}\nmodel · jumok"
    expect(page.locator("#game-copy")).to_have_text(re.compile("^Cop|yourself"))
    assert reader.serious() == []


def test_a_finger_plays_on_a_narrow_screen(browser, traces, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(html(traces("Transformer")), encoding="utf-8")
    context = browser.new_context(
        locale="ko-KR", has_touch=True, viewport={"width": 400, "height": 800}, color_scheme="dark"
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(file.as_uri())
    page.locator("#tours").tap()
    page.locator("#start-game-head").tap()
    option = page.locator(".options button").nth(1)
    assert option.bounding_box()["height"] >= 36
    option.tap()
    expect(page.locator("#game-verdict")).to_contain_text("헤드")
    expect(page.locator("#tab-heads")).to_have_attribute("aria-selected", "true")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#game-next").tap()
    expect(page.locator("#panel")).to_be_hidden()
    page.locator("#game-end").tap()
    expect(page.locator("#panel")).to_be_visible()
    context.close()


def test_nothing_keeps_anybody_out_of_a_game(opened, traces):
    reader = opened(traces("Transformer"), view="overview&game=look")
    assert reader.serious() == []
    reader.page.locator(".options button").first.click()
    assert reader.serious() == []
