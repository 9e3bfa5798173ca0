"""What every intervention of the live page changed: before, after, and the difference."""

import pytest

from jumok.inspection.hooks.intervene import Change, RowEdit
from jumok.tracing.catalog import load_family
from jumok.tracing.request import NOTHING
from tests.browser.comparing import check_heads, check_largest
from tests.browser.conftest import open_view
from tests.browser.kinds import SHORT, VIEWS
from tests.browser.test_page_kinds import CONTROLS, named, served

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

__all__ = ["served"]  # a fixture

CHANGED = [kind for kind in VIEWS if kind != "BERT"]  # which writes nothing, so no head is ablated


def link(page: object, fragment: str) -> None:
    page.evaluate(f"location.hash = '{fragment}'")


@pytest.mark.parametrize("kind", CHANGED)
def test_a_head_that_is_off_has_a_difference_map_in_every_kind(served, folders, kind):
    """The numbers are those of the model run twice here, without and with its first head."""
    folder, given = folders[kind]
    family = load_family(folder, device="cpu")
    first = family.trace(given, None, SHORT, extras=NOTHING)
    reads = first.findings.at_input
    site = first.sites[0]
    second = family.trace(given, None, SHORT, change=Change(off={site.name: (0,)}), extras=NOTHING)
    page = served(kind)
    last = first.sites[-1]
    link(
        page,
        f"view=heads&part={last.part}&layer={last.layer}&head=0"
        f"&unit=words&reading={'reads' if reads else 'writes'}",
    )
    page.locator(f"[id='switch-{site.name}:0']").click()
    expect(page.locator("dd.changed")).to_have_text(second.output)
    check_largest(page, first, second, last.name, 0, reads)
    check_heads(page, first, second, reads)
    assert page.locator("#compared figcaption b").all_inner_texts() == [
        "before",
        "after",
        "after − before",
    ]
    said = page.locator(".compare-says").first.inner_text()
    assert all(f"“{CONTROLS.sub(named, each.output)}”" in said for each in (first, second))
    page.locator("#undo").click()
    expect(page.locator("#compared")).to_have_count(0)


def test_a_row_that_is_set_and_a_word_that_is_hidden_are_compared_the_same_way(served, folders):
    folder, given = folders["Transformer"]
    family = load_family(folder, device="cpu")
    first = family.trace(given, None, SHORT, extras=NOTHING)
    cross = next(site for site in first.sites if site.part == "cross")
    page = served("Transformer")
    link(
        page,
        f"view=row&part=cross&layer={cross.layer}&head=0&query=0&key=1&unit=words&reading=writes",
    )
    page.locator("#look-only").click()
    page.locator("#compared").wait_for()
    row = RowEdit(cross.name, 0, (0.0, 1.0), 0)
    second = family.trace(given, None, SHORT, change=Change(rows=(row,)), extras=NOTHING)
    expect(page.locator("dd.changed")).to_have_text(second.output)
    check_largest(page, first, second, cross.name, 0, False)
    check_heads(page, first, second, False)
    page.locator("#undo").click()
    expect(page.locator("#compared")).to_have_count(0)
    link(
        page,
        f"view=mattered&part=cross&layer={cross.layer}&head=0&unit=words&reading=writes&blank=1",
    )
    hidden = family.trace(given, None, SHORT, change=Change(blank=(1,)), extras=NOTHING)
    expect(page.locator("dd.changed")).to_have_text(hidden.output)
    check_largest(page, first, hidden, cross.name, 0, False)
    check_heads(page, first, hidden, False)


def test_a_forced_beginning_is_compared_with_the_free_output(served, folders):
    folder, given = folders["Transformer"]
    family = load_family(folder, device="cpu")
    first = family.trace(given, None, SHORT)
    page = served("Transformer")
    link(page, "view=theatre&part=cross&layer=0&head=0&unit=words&reading=writes&lost=show")
    nodes = first.findings.search.nodes
    other = next(
        i
        for i, node in enumerate(nodes)
        if node.parent < 0 and node.token != first.findings.written[0] and node.fate != "finished"
    )
    page.locator(f"#node-{other}").click()
    page.locator("#go-on").click()
    second = family.trace(given, None, SHORT, prefix=(nodes[other].token,), extras=NOTHING)
    page.locator("#compared").wait_for()
    expect(page.locator("dd").nth(1)).to_have_text(second.output)
    check_largest(
        page, first, second, next(s.name for s in first.sites if s.part == "cross"), 0, False
    )
    page.locator("#from-start").click()
    expect(page.locator("#compared")).to_have_count(0)


def test_an_edited_text_is_compared_with_the_one_the_page_opened_with(served, folders):
    folder, given = folders["Transformer"]
    family = load_family(folder, device="cpu")
    page = served("Transformer")
    page.locator("#text").fill("the dog sat down")
    first, second = (
        family.trace(text, None, SHORT, extras=NOTHING) for text in (given, "the dog sat down")
    )
    expect(page.locator("dd").nth(1)).to_have_text(second.output)
    link(
        page,
        "view=compare&part=encoder&layer=0&head=1&unit=words&reading=writes&text=the+dog+sat+down",
    )
    expect(page.locator("#panel figcaption b").first).to_have_text("before")
    check_largest(
        page, first, second, next(s.name for s in first.sites if s.part == "encoder"), 1, False
    )
    check_heads(page, first, second, False)


def test_the_maps_are_moved_through_by_keyboard_and_touch(browser, served, folders):
    page = served("Transformer")
    open_view(page, "heads")
    page.locator(".switches button").first.click()
    page.locator("#map-2").focus()
    page.keyboard.press("Control+Home")
    said = page.locator("#compared .said")
    assert len({each.split(":")[0] for each in said.all_inner_texts()}) == 1
    page.keyboard.press("ArrowRight")
    before, after, less = (float(each.rsplit(": ", 1)[1]) for each in said.all_inner_texts())
    assert less == pytest.approx(after - before, abs=0.0011)
    assert page.locator("#apart-says").count() == 1
