"""A model before and after it was trained further: every kind, from the weights of both."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from jumok.inspection.page.document import page as html
from jumok.serving.answers import answers
from jumok.serving.local import LocalServer
from jumok.tracing.catalog import Family, load_family
from jumok.tracing.comparison import Comparison
from jumok.tracing.request import NOTHING
from tests.browser.comparing import check_heads, check_largest
from tests.browser.conftest import open_view
from tests.browser.kinds import SHORT, VIEWS
from tests.systems.tuned import tune

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect


@pytest.mark.parametrize("kind", VIEWS)
def test_every_head_of_a_tuned_model_is_compared_with_what_it_was(reading, folders, kind, tmp_path):
    folder, given = folders[kind]
    after = load_family(tune(folder, tmp_path / "tuned"), device="cpu")
    was = load_family(folder, device="cpu")
    sides = Comparison(
        partial(after.trace, options=SHORT), partial(was.trace, options=SHORT), before=True
    )
    second, _ = both = sides.look(given, extras=NOTHING)
    # Computed again: the tokens of the tuned model's output, forced on the model as it was.
    first = was.trace(
        given, second.findings.written if second.steps else None, SHORT, extras=NOTHING
    )
    assert first.steps == both[1].steps
    reads = second.findings.at_input
    for site in second.sites:
        at = f"part={site.part}&layer={site.layer}&head=0&unit=words"
        link = f"compare&{at}&reading={'reads' if reads else 'writes'}"
        reader = reading(html(second, other=both[1], before=True), view=link)
        check_largest(reader.page, first, second, site.name, 0, reads)
    check_heads(reader.page, first, second, reads)
    titles = reader.page.locator("#panel figcaption b").all_inner_texts()
    assert titles == ["before", "after", "after − before"]
    if second.steps:
        own = was.trace(given, None, SHORT, extras=NOTHING).output
        said = reader.page.locator(".compare-says").first.inner_text()
        assert said.startswith("Before training" if own != second.output else "Before and after")
        assert both[1].findings.own_output == own
    assert reader.serious() == []


def test_the_live_page_compares_what_is_typed_with_the_model_as_it_was(browser, folders, tmp_path):
    folder, given = folders["Transformer"]
    after, was = (
        load_family(tune(folder, tmp_path / "tuned"), device="cpu"),
        load_family(folder, device="cpu"),
    )
    with served(after, was, given) as link:
        page = browser.new_page(locale="ko-KR", viewport={"width": 400, "height": 800})
        page.goto(f"{link}#view=compare")
        page.locator("#text").fill("the dog barked")
        second = after.trace("the dog barked", None, SHORT, extras=NOTHING)
        expect(page.locator("dd").nth(1)).to_have_text(second.output)
        expect(page.locator("#panel figcaption b").first).to_have_text("전")
        expect(page.locator("#apart-says")).to_contain_text("헤드")
        open_view(page, "overview")
        open_view(page, "compare")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        page.close()


@contextmanager
def served(after: Family, was: Family, given: str) -> Iterator[str]:
    """The link to the live page of both, as `jumok look --before` serves it."""
    traced = (partial(each.trace, options=SHORT) for each in (after, was))
    sides = Comparison(*traced, before=True)
    first = sides.look(given, extras=NOTHING)
    server = LocalServer(lambda token: html(first[0], token, first[1], before=True), answers(sides))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.link
    server.shutdown()
    server.server_close()
