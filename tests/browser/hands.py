"""Somebody at a page with only a keyboard, or only a finger: what there is to do in each view."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from jumok.inspection.trace import Site, Trace
from tests.browser.comparing import whole_map
from tests.browser.test_page_overview import percent

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect


class Hand:
    """A page, and the trace that it shows."""

    def __init__(self, page: Any, recorded: Trace) -> None:
        self.page, self.recorded = page, recorded

    def views(self) -> list[str]:
        """The ids of all views, question by question."""
        found = []
        for question in self.page.locator(".questions [role=tab]").all():
            question.tap()
            tabs = self.page.locator(".views [role=tab]").all()
            found += [tab.get_attribute("id").removeprefix("tab-") for tab in tabs]
        return found

    def reset(self) -> None:
        """The page as it was opened, but for its language, which the button changes."""
        korean = self.page.locator("html").get_attribute("lang") == "ko"
        self.page.evaluate(f"location.hash = '{'lang=ko' if korean else ''}'")
        expect(self.page.locator(".questions [role=tab]").first).to_have_attribute(
            "aria-selected", "true"
        )

    def open_by_keys(self, name: str) -> None:
        """From tab to tab, by Home and the arrow."""
        self.reset()
        press = self.page.keyboard.press
        self.page.locator(".questions [aria-selected=true]").focus()
        press("Home")
        for _ in range(self.page.locator(".questions [role=tab]").count()):
            if self.page.locator(f"#tab-{name}").count():
                break
            press("ArrowRight")
        press("Tab")
        for _ in range(self.page.locator(".views [role=tab]").count()):
            if self.opened() == name:
                break
            press("ArrowRight")
        assert self.opened() == name
        expect(self.page.locator(f"#tab-{name}")).to_be_focused()

    def open_by_finger(self, name: str) -> None:
        self.reset()
        for question in self.page.locator(".questions [role=tab]").all():
            question.tap()
            if self.page.locator(f"#tab-{name}").count():
                break
        self.page.locator(f"#tab-{name}").tap()
        assert self.opened() == name

    def opened(self) -> str:
        return self.page.locator(".views [aria-selected=true]").get_attribute("id")[4:]

    def address(self) -> str:
        return self.page.evaluate("location.hash")

    def said(self) -> str:
        return self.page.locator("#panel .said").first.text_content()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def chosen(self, view: str) -> list[str]:
        """The values of the controls of a view, in their order."""
        return self.page.evaluate(
            "(view) => [...document.querySelectorAll(`[id^=control-${view}-]`)]"
            ".map(({ value }) => value)",
            view,
        )

    def site(self, part: str, layer: str) -> Site:
        sites = self.recorded.sites
        return next(site for site in sites if (site.part, str(site.layer)) == (part, layer))


def numbers(text: str) -> list[float]:
    return [float(each.replace("−", "-")) for each in re.findall(r"[−-]?\d+\.\d+", text)]


# Each act is in a view that was just opened, at the state that a page begins with.


def overview_keys(hand: Hand) -> None:
    """Words are walked over and kept; of a picture of cells, the cells."""
    words = hand.page.locator("#panel .rows .word")
    (words.first if words.count() else hand.page.locator("#overview-image")).focus()
    hand.press("ArrowRight", "Enter")
    assert "query=" in hand.address()
    if words.count():
        last = min(1, words.count() - 1)
        expect(hand.page.locator(f"#row-{last}")).to_have_attribute("aria-pressed", "true")


def overview_finger(hand: Hand) -> None:
    words = hand.page.locator("#panel .rows .word")
    (words.last if words.count() else hand.page.locator("#overview-image")).tap()
    assert "query=" in hand.address()
    assert hand.page.locator("#sentence").inner_text()


def scrubber_keys(hand: Hand) -> None:
    hand.page.locator("#look").focus()
    hand.press("Home", "ArrowLeft", "ArrowRight")
    told = numbers(hand.said())
    assert told
    slider = hand.page.locator("#word")
    slider.focus()
    hand.press("Home")
    assert slider.input_value() == "0"
    assert "query=" in hand.address()


def scrubber_finger(hand: Hand) -> None:
    words = hand.page.locator("[id^=word-]")
    (words.last if words.count() else hand.page.locator("#look")).tap()
    assert "query=" in hand.address()


def board_keys(hand: Hand) -> None:
    """The first cell has the weight of the first word for the first; Enter opens its row."""
    hand.page.locator("#map").focus()
    hand.press("Control+Home")
    part, layer, head, *_ = hand.chosen("board")
    site = hand.site(part, layer)
    reads = hand.recorded.findings.at_input
    if len(site.weights) > int(head if head.isdigit() else 0) and by_words(hand.recorded):
        matrix = whole_map(hand.recorded, site, int(head) if head.isdigit() else None, reads)
        assert numbers(hand.said())[0] == pytest.approx(matrix[0, 0], abs=0.0016)
    hand.press("Enter")
    assert "query=" in hand.address()
    assert hand.opened() == ("board" if site.kind == "given" else "row")


def by_words(recorded: Trace) -> bool:
    """A page of texts of one word is by tokens."""
    return any(len(axis.texts) > 1 for axis in recorded.axes.values())


def board_finger(hand: Hand) -> None:
    given = hand.site(*hand.chosen("board")[:2]).kind == "given"
    box = hand.page.locator("#map").bounding_box()
    hand.page.locator("#map").tap(position={"x": box["width"] * 0.6, "y": box["height"] - 20})
    assert "query=" in hand.address()
    assert hand.opened() == ("board" if given else "row")


def row_keys(hand: Hand) -> None:
    """The query's numbers are walked through; all weights add up to 1."""
    part, layer, head, query, _ = hand.chosen("row")
    strip = hand.page.locator("#panel figure canvas").first
    strip.focus()
    hand.press("ArrowRight")
    told = numbers(hand.page.locator("#panel figure .said").first.text_content())
    site = hand.site(part, layer)
    assert told == [pytest.approx(site.query[int(head), int(query), 0], abs=6e-5)]
    rows = hand.page.locator("#panel table").first.locator("tbody tr").all()
    weights = [float(row.locator("td").nth(2).inner_text()) for row in rows[:-1]]
    np.testing.assert_allclose(weights, site.weights[int(head), int(query)], atol=6e-5)


def row_finger(hand: Hand) -> None:
    hand.page.locator("#panel figure canvas").first.tap()
    assert numbers(hand.page.locator("#panel figure .said").first.text_content())


def walk_keys(hand: Hand) -> None:
    hand.page.locator("#walk").focus()
    hand.press("End", "Home", "ArrowRight")
    assert hand.page.locator("#walk-at").input_value() == "1"
    expect(hand.page.locator("#walk")).to_be_focused()


def walk_finger(hand: Hand) -> None:
    hand.page.locator("#walk-first").tap()
    hand.page.locator("#walk-next").tap()
    assert hand.page.locator("#walk-at").input_value() == "1"
    hand.page.locator(".walk-path button").last.tap()
    assert hand.page.locator("#walk-next").is_disabled()


def flow_keys(hand: Hand) -> None:
    """The words are stepped through, and a block leads to its map."""
    hand.page.locator("#flow").focus()
    hand.press("End", "Home")
    assert hand.page.locator("#flow-at").input_value() == "0"
    hand.page.locator("[id^=flow-self], [id^=flow-cross]").first.focus()
    hand.press("Enter")
    assert hand.opened() in ("board", "scrubber")


def flow_finger(hand: Hand) -> None:
    hand.page.locator("#flow-first").tap()
    assert hand.page.locator("#flow-at").input_value() == "0"


def grid_keys(hand: Hand) -> None:
    hand.page.locator("#panel .grid button").first.focus()
    hand.press("Enter")
    assert hand.opened() in ("board", "scrubber")


def grid_finger(hand: Hand) -> None:
    hand.page.locator("#panel .grid button").last.tap()
    assert hand.opened() in ("board", "scrubber")


def heads_keys(hand: Hand) -> None:
    """A saved page switches nothing off: its table is reached, and every effect is the trace's."""
    hand.page.locator("#panel .scroll").first.focus()
    shown = {}
    for button in hand.page.locator(".switches button").all():
        name, head = button.get_attribute("id").removeprefix("switch-").rsplit(":", 1)
        shown[name, int(head)] = numbers(button.get_attribute("aria-label"))[-1]
        assert button.is_disabled()
    known = {
        (name, head): float(sum(drops))
        for name, heads in hand.recorded.findings.ablation.items()
        for head, drops in enumerate(heads)
    }
    assert shown == pytest.approx(known, abs=6e-4)


def heads_finger(hand: Hand) -> None:
    rows = hand.page.locator("#panel tbody tr")
    sums = [float(row.locator("td").first.inner_text()) for row in rows.all()]
    assert sums == sorted(sums)
    assert len(sums) == hand.page.locator(".switches button").count()


def mattered_keys(hand: Hand) -> None:
    """Of every measure the strongest share, of the sum of all sizes."""
    hand.page.locator("[id^=written-]").first.focus()
    hand.press("Enter")
    expect(hand.page.locator("#written-0")).to_have_attribute("aria-pressed", "true")
    expect(hand.page.locator("#written-0")).to_be_focused()
    facts = hand.recorded.findings.attribution["words" if by_words(hand.recorded) else "pieces"]
    if facts.read == facts.own:
        return  # the first word of a text has read nothing
    names = [name for name, values in facts.measures.items() if facts.read in values]
    rest = {name: facts.rest.get(name, {}).get(facts.read) for name in names}
    label = hand.page.locator("#panel canvas").first.get_attribute("aria-label")
    for name, text in zip(names, label.split("; ")[-len(names) :], strict=True):
        sizes = np.abs(np.array(facts.measures[name][facts.read][0], dtype=float))
        if any(values is not None for values in rest.values()):
            sizes = np.append(sizes, abs(rest[name][0]) if rest[name] is not None else 0.0)
        told = percent(re.search(r"(\d+ %)$", text)[1])
        assert told == pytest.approx(sizes.max() / sizes.sum(), abs=0.0051), name


def mattered_finger(hand: Hand) -> None:
    hand.page.locator("[id^=written-]").last.tap()
    expect(hand.page.locator("[id^=written-]").last).to_have_attribute("aria-pressed", "true")


def theatre_keys(hand: Hand) -> None:
    """The arrows move through the tree; a total is the sum along the path."""
    search = hand.recorded.findings.search
    chosen = hand.page.locator("[id^=node-][aria-pressed=true]")
    if search is None or not search.nodes:
        hand.page.locator("#panel").focus()
        said = hand.page.locator("#panel").inner_text()
        assert "did not find this output" in said or "찾은 출력이 아니어서" in said
        return
    chosen.focus()
    at = chosen.get_attribute("id")
    parent = search.nodes[int(at.removeprefix("node-"))].parent
    hand.press("ArrowLeft" if parent >= 0 else "ArrowDown")
    if parent >= 0:
        assert chosen.get_attribute("id") == f"node-{parent}"
        expect(hand.page.locator(f"#node-{parent}")).to_be_focused()
    for node in hand.page.locator("[id^=node-]").all():
        place, total = int(node.get_attribute("id").removeprefix("node-")), 0.0
        while place >= 0:
            total += search.nodes[place].log_probability
            place = search.nodes[place].parent
        assert numbers(node.get_attribute("aria-label"))[-1] == pytest.approx(total, abs=2e-3)


def theatre_finger(hand: Hand) -> None:
    nodes = hand.page.locator("[id^=node-]")
    if nodes.count():
        nodes.first.tap()
        expect(hand.page.locator("#node-0")).to_have_attribute("aria-pressed", "true")
        assert "node=0" in hand.address()


def beam_keys(hand: Hand) -> None:
    """Every probability is e to the recorded logarithm, beside the one that was written."""
    hand.page.locator("#panel").focus()
    tables = hand.page.locator("table.step").all()
    assert len(tables) == len(hand.recorded.steps)
    for step, table in zip(hand.recorded.steps, tables, strict=True):
        told = numbers(table.locator("caption").inner_text().rpartition("(")[2])
        assert told == [pytest.approx(step.log_probability, abs=6e-4)]
        shares = [percent(cell) for cell in table.locator("td:last-child").all_inner_texts()]
        best = [math.exp(each) for _, each in step.best]
        np.testing.assert_allclose(shares[: len(best)], best, atol=6e-4)


def beam_finger(hand: Hand) -> None:
    assert hand.page.locator("tr.written").count() == len(hand.recorded.steps)


def layers_keys(hand: Hand) -> None:
    """The cells of the lens are walked over; where nothing is predicted, the controls are."""
    if hand.page.locator("#map").count() == 0:
        hand.page.locator("#more summary").focus()
        hand.press("Enter", "Tab")
        expect(hand.page.locator("#control-layers-0")).to_be_focused()
        return
    hand.page.locator("#map").focus()
    hand.press("Control+Home")
    stacks = hand.recorded.findings.layers.stacks.values()
    lens = next((stack for stack in stacks if stack.best), None)
    if lens:
        _, probability = lens.best[0][0][0]
        assert numbers(hand.said())[-1] == pytest.approx(probability, abs=6e-4)
    hand.press("Enter")
    assert "cell=0%2C0" in hand.address() or not lens


def layers_finger(hand: Hand) -> None:
    if hand.page.locator("#map").count():
        hand.page.locator("#map").tap()
        assert hand.said()


def compare_keys(hand: Hand) -> None:
    """One cursor over all three maps; the difference is the second number less the first."""
    hand.page.locator("#map-0").focus()
    hand.press("Control+Home", "ArrowRight", "ArrowLeft")
    said = hand.page.locator("#panel .beside .said").all_text_contents()
    assert len(said) == 3
    assert len({text.rpartition(": ")[0] for text in said}) == 1
    cells = [numbers(text.rpartition(": ")[2]) for text in said]
    if all(cells):
        first, second, difference = (cell[0] for cell in cells)
        assert difference == pytest.approx(second - first, abs=0.0016)


def compare_finger(hand: Hand) -> None:
    hand.page.locator("#map-2").tap()
    assert hand.page.locator("#panel .beside .said").last.text_content()


def run_keys(hand: Hand) -> None:
    slider = hand.page.locator("#panel input[type=range]")
    slider.focus()
    hand.press("Home")
    assert slider.input_value() == slider.get_attribute("min")


def run_finger(hand: Hand) -> None:
    hand.page.locator("#panel input[type=range]").tap()
    assert hand.said()


@dataclass(frozen=True)
class Acts:
    """What there is to do in a view; both assert what follows from it."""

    keys: Callable[[Hand], None]
    finger: Callable[[Hand], None]


ACTS = {
    "overview": Acts(overview_keys, overview_finger),
    "scrubber": Acts(scrubber_keys, scrubber_finger),
    "board": Acts(board_keys, board_finger),
    "row": Acts(row_keys, row_finger),
    "walk": Acts(walk_keys, walk_finger),
    "flow": Acts(flow_keys, flow_finger),
    "grid": Acts(grid_keys, grid_finger),
    "heads": Acts(heads_keys, heads_finger),
    "mattered": Acts(mattered_keys, mattered_finger),
    "theatre": Acts(theatre_keys, theatre_finger),
    "beam": Acts(beam_keys, beam_finger),
    "layers": Acts(layers_keys, layers_finger),
    "compare": Acts(compare_keys, compare_finger),
    "run": Acts(run_keys, run_finger),
}
