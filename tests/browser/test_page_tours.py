"""Tours: every one that a kind of model is offered, step by step, in both languages."""

import re
from urllib.parse import parse_qs

import pytest

from jumok.inspection.page.tours import Tour, built_in, unmet
from jumok.inspection.trace import Trace
from jumok.tracing.catalog import load_family
from jumok.tracing.request import Analyses
from tests.browser.conftest import Reader
from tests.browser.test_page_kinds import SHORT, VIEWS, bundles

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
TOURS = [(kind, name) for kind, names in OFFERED.items() for name in sorted(names)]


@pytest.fixture(scope="module")
def traces(tmp_path_factory, tiny_bundle):
    """The trace of a kind, made once."""
    folders = bundles(tmp_path_factory.mktemp("models"), tiny_bundle)
    known: dict[str, Trace] = {}

    def trace_of(kind: str) -> Trace:
        if kind not in known:
            folder, usual = folders[kind]
            family = load_family(folder, device="cpu")
            known[kind] = family.trace(usual, options=SHORT, extras=Analyses())
        return known[kind]

    return trace_of


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


@pytest.mark.parametrize(("kind", "name"), TOURS)
def test_every_step_opens_what_its_link_says(opened, traces, kind, name):
    """Forth and back, with the text of each step in both languages, and no gap in any of them."""
    tour = tour_of(name)
    reader = opened(traces(kind), view="overview")
    reader.page.locator("#tours").click()
    reader.page.locator(f"#start-{name}").click()
    expect(reader.page.locator("#tour-title")).to_have_text(tour.title["en"])
    expect(reader.page.locator("#tour-next")).to_be_focused()
    for number, step in enumerate(tour.steps, start=1):
        expect(reader.page.locator(".tour-count").first).to_have_text(f"{number} of 5")
        wanted = dict(each.split("=") for each in step.link.split("&"))
        assert view_of(reader) == wanted["view"]
        assert address(reader)["tour"] == name
        assert address(reader).get("step") == str(number)
        for key, value in wanted.items():
            # What depends on the model is in the address as a number, or a part's name.
            assert "{" not in address(reader).get(key, "")
            if "{" not in value and key in address(reader):
                assert address(reader)[key] == value
        text = reader.page.locator("#tour-text").inner_text()
        assert not re.search(r"[{}]|undefined|NaN|null", text)
        first = re.split(r"\{", step.text["en"])[0].strip()
        assert text.startswith(first)
        reader.page.locator("#language").click()
        korean = reader.page.locator("#tour-text").inner_text()
        assert re.search("[가-힣]", korean)
        assert not re.search(r"[{}]|undefined|NaN|null", korean)
        reader.page.locator("#language").click()
        if number < len(tour.steps):
            reader.page.locator("#tour-next").click()
    assert reader.page.locator("#tour-next").is_disabled()
    for number in range(len(tour.steps) - 1, 0, -1):
        reader.page.locator("#tour-back").click()
        expect(reader.page.locator(".tour-count").first).to_have_text(f"{number} of 5")
    expect(reader.page.locator("#tour-next")).to_be_focused()
    reader.page.keyboard.press("Escape")
    expect(reader.page.locator("#tour")).to_be_hidden()
    expect(reader.page.locator("#tours")).to_be_focused()
    assert "tour" not in address(reader)
