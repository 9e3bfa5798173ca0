"""A pinned state: what follows is compared with it; a link restores it where that is possible."""

import re

import pytest

from jumok.tracing.catalog import load_family
from jumok.tracing.request import NOTHING
from tests.browser.comparing import check_heads, check_largest, less
from tests.browser.conftest import open_view, take, views_of
from tests.browser.kinds import SHORT
from tests.browser.test_page_kinds import CONTROLS, named, served
from tests.inspection.traces import HOSTILE, trace

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

__all__ = ["served"]  # a fixture

# Every two of width, theme and language meet in one of the four.
SCREENS = [(1280, "light", "en"), (1280, "dark", "ko"), (400, "dark", "en"), (400, "light", "ko")]

TYPED = {
    "Transformer": "the old dog sat",
    "Bahdanau's RNN": "the dog sat",
    "language model": "a b",
    "masked model": "a [MASK] sat",
    "text classifier": "the dog sat",
    "BERT": "the cat sat down",
}


@pytest.mark.parametrize("kind", TYPED)
def test_what_is_typed_is_compared_with_the_pinned_sentence(served, folders, kind):
    folder, given = folders[kind]
    family = load_family(folder, device="cpu")
    first, second = (
        family.trace(text, None, SHORT, extras=NOTHING) for text in (given, TYPED[kind])
    )
    reads = first.findings.at_input
    site = first.sites[-1]
    page = served(kind)
    reading = "reads" if reads else "writes"
    page.evaluate(
        f"location.hash = 'view=board&part={site.part}&layer={site.layer}&head=0"
        f"&unit=words&reading={reading}'"
    )
    take(page, "pin")
    page.locator("#text").fill(TYPED[kind])
    expect(page.locator("#compared figcaption b")).to_have_text(["pinned", "now", "now − pinned"])
    page.locator("#compared .pairs").first.wait_for()  # the answer has come: the words differ
    check_largest(page, first, second, site.name, 0, reads)
    check_heads(page, first, second, reads)
    said = page.locator(".compare-says").first.inner_text()
    if first.steps:
        verb = "wrote" if family.system.task in ("translation", "language-model") else "gave"
        assert said.startswith(f"The pinned sentence {verb} “{CONTROLS.sub(named, first.output)}”")
    # The link says both, and brings both back.
    page.reload()
    expect(page.locator("#compared figcaption b")).to_have_text(["pinned", "now", "now − pinned"])
    expect(page.locator(".compare-says").first).to_have_text(said)
    check_largest(page, first, second, site.name, 0, reads)
    take(page, "pin")
    expect(page.locator("#compared")).to_have_count(0)
    assert "pin=" not in page.url


def test_a_pin_keeps_the_changes_of_the_model(served, folders):
    """Pinned with a head off; then the head is on again: the difference is that head's."""
    page = served("Transformer")
    open_view(page, "heads")
    page.locator(".switches button").first.click()
    changed = page.locator("dd.changed")
    changed.wait_for()
    output = changed.inner_text()
    take(page, "pin")
    page.locator("#undo").click()
    expect(changed).to_have_count(0)
    expect(page.locator(".compare-says").first).to_contain_text(output)
    said = page.locator(".compare-says").all_inner_texts()
    assert said[0].startswith("The pinned state wrote")
    page.reload()
    expect(page.locator(".compare-says").first).to_have_text(said[0])


def test_two_heads_of_a_saved_page_are_compared(opened):
    recorded = trace()
    reader = opened(recorded, view="board")
    assert "compare" not in views_of(reader.page)
    reader.tab("board")
    reader.choose("Attention kind", "encoder self-attention (source → source)")
    reader.choose("Layer", "1")
    reader.choose("Head", "1")
    reader.page.locator("#share-open").click()
    reader.page.locator("#pin").focus()
    reader.page.keyboard.press("Enter")
    assert reader.page.evaluate("document.activeElement.id") == "share-open"
    reader.choose("Head", "3")
    site = next(site for site in recorded.sites if site.name == "encoder.0")
    change = site.weights[2] - site.weights[0]
    said = reader.page.locator(".compare-says").all_inner_texts()
    assert f"{100 * abs(change).max():.1f} points" in said[1]
    assert reader.page.locator("#apart").count() == 0, "it is one trace"
    assert less(recorded, recorded, "encoder.0", 0, False).max() == 0
    reader.choose("Attention kind", "cross-attention (target → source)")
    expect(reader.page.locator("#compared")).to_have_count(0)
    assert "another kind of attention" in reader.page.locator(".compare-says").inner_text()
    reader.choose("Attention kind", "encoder self-attention (source → source)")
    reader.choose("Layer", "2")
    before = reader.page.locator(".compare-says").all_inner_texts()
    reader.page.reload()
    reader.requests.pop()
    reader.page.locator(".compare-says").first.wait_for()  # the page unpacks itself
    assert reader.page.locator(".compare-says").all_inner_texts() == before
    assert "compare" in views_of(reader.page)


@pytest.mark.parametrize(
    ("language", "says"), [("en-US", "cannot be restored here"), ("ko-KR", "되살릴 수 없습니다")]
)
@pytest.mark.parametrize(
    "pin", ["text=something+else", "text=a+cat+ran%26off%3Dx:0", "%3Cb%3E", "__proto__=1&text=1"]
)
def test_a_saved_page_says_what_it_cannot_restore(opened, language, says, pin):
    reader = opened(
        trace(), language, view=f"board&pin={pin.replace('=', '%3D').replace('&', '%26')}"
    )
    assert says in reader.page.locator("#pinned").inner_text()
    assert reader.serious() == []
    reader.page.locator("#unpin").click()
    expect(reader.page.locator("#pinned")).to_have_count(0)


def test_a_live_page_says_why_a_pin_cannot_be_restored(served, folders):
    page = served("BERT")
    page.evaluate("location.hash = 'view=board&pin=text%3D' + 'cat%20'.repeat(900)")
    expect(page.locator("#pinned")).to_contain_text("cannot be restored here")
    expect(page.locator("#pinned")).to_contain_text(
        re.compile(r"“(cat ){29}cat…”.* This text has \d+ tokens, and the model reads at most \d+")
    )


@pytest.mark.parametrize("every", [2, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("width", "theme", "language"), SCREENS)
def test_a_pinned_state_is_for_everybody(opened, width, theme, language, every):
    """Every second view: each is seen on two of the screens, one wide and one narrow."""
    first = SCREENS.index((width, theme, language)) % every
    locale = {"en": "en-US", "ko": "ko-KR"}[language]
    reader = opened(trace(source=HOSTILE), locale, view="overview")
    reader.page.emulate_media(color_scheme=theme)
    reader.page.set_viewport_size({"width": width, "height": 800})
    take(reader.page, "pin")
    for view in views_of(reader.page)[first::every]:
        open_view(reader.page, view)
        assert reader.serious() == []
    open_view(reader.page, "compare")
    assert "undefined" not in reader.page.locator("main").inner_text()
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= width
    assert reader.page.evaluate("window.ran") is None
