"""The numbers that a page has from its arrays, in every form that they travel in."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import jumok
from jumok.decoding import DecodingOptions
from jumok.inspection.page import document as page_module
from jumok.inspection.page import packing
from jumok.inspection.page.arrays import Parts, inlined
from jumok.inspection.page.document import content, document
from jumok.inspection.page.source import source_folder
from jumok.inspection.trace import ARRAYS, Trace
from tests.browser.conftest import wait_until
from tests.inspection.pages import numbers_of

TEXT = "the cat sat on the mat and the dog ran"

ENTRY = """
import {{ holdParts }} from "{web}/arrays.js";
import {{ Trace }} from "{web}/trace.js";
const data = document.getElementById("data");
holdParts(data.arrays ?? []);
const trace = new Trace(JSON.parse(data.textContent));
const pairs = (site) => Array.from({{ length: site.rows * site.columns }}, (_, i) => i);
const bits = (site, array) => pairs(site).map((i) => Number(array.is(i)));
const numbers = (site, name) => {{
  const array = site.array(name);
  return array && [...(name === "allowed" ? bits(site, array) : array.values)];
}};
const show = () => {{
  const named = (site) => {names}.map((name) => [name, numbers(site, name)]);
  window.sites = trace.sites.map((site) => Object.fromEntries(named(site)));
  window.measures = trace.findings.attribution;
  document.title = "ready";
}};
if (data.whole) data.whole.then(show);
else show();
"""


@pytest.fixture
def recorded(tiny_bundle) -> Trace:
    """Of a whole model, with masks; and a site whose scores the page cannot recompute."""
    translator = jumok.load(tiny_bundle, device="cpu")
    found = jumok.trace(translator, TEXT, None, DecodingOptions(maximum_length=9))
    first, *others = found.sites
    bias = np.linspace(0, 1, first.weights.size, dtype=np.float32).reshape(first.weights.shape)
    return replace(found, sites=(*others, replace(first, name="biased", bias=bias)))


@pytest.fixture
def shown(browser, tmp_path: Path):
    def shown_in_page(data: dict, packed: Parts | None) -> tuple[list[dict], dict]:
        names = str(list(ARRAYS))
        entry = tmp_path / "arrays.js"
        entry.write_text(ENTRY.format(web=source_folder(), names=names), "utf-8")
        file = tmp_path / "arrays.html"
        file.write_text(document(str(entry), data, packed=packed), "utf-8")
        page = browser.new_context().new_page()
        page.goto(file.as_uri())
        wait_until(page, "document.title === 'ready'")
        found = page.evaluate("window.sites"), page.evaluate("window.measures")
        page.context.close()
        return found

    return shown_in_page


LIMITS = {
    "exact": {},
    "16 bits": {"FEW": 10, "FEW_IN_VECTORS": 10},
    "8 bits": {"FEW": 10, "MANY": 10, "FEW_IN_VECTORS": 10},
}


@pytest.mark.parametrize("saved", [False, True], ids=["served", "saved"])
@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
def test_the_page_has_the_numbers_that_were_sent(shown, recorded, monkeypatch, limits, saved):
    """Bit by bit: what Python packed, unpacked by the page, whatever the number of parts."""
    for name, most in (limits | {"WHOLE_BYTES": 10, "PART_BYTES": 10}).items():
        monkeypatch.setattr(page_module, name, most)
    if limits:
        monkeypatch.setattr(packing, "FEW_ATTRIBUTED", 10)
    data, parts = content(recorded), Parts()
    given = page_module._in_parts(data, recorded, parts) if saved else inlined(data)
    assert (len(parts.held) > 3) == saved
    sites, measures = shown(given, parts if saved else None)
    kinds = set()
    for site, raw, found in zip(recorded.sites, inlined(data["sites"]), sites, strict=True):
        for name, packed in raw["arrays"].items():
            kinds.add(packed["type"])
            if packed["type"] == "apart":
                expected = np.rint(site.weights.astype(np.float64) * 65_535) / 65_535
            else:
                expected = numbers_of(packed)
            got = np.array(found[name], np.float32).reshape(packed["shape"])
            assert np.array_equal(got, expected.astype(np.float32)), name
        assert all(found[name] is None for name in ARRAYS if name not in raw["arrays"])
    assert (
        kinds
        == {
            "exact": {"f32", "bits"},
            "16 bits": {"f32", "bits", "u16", "apart", "s16"},
            "8 bits": {"f32", "bits", "u8", "s16"},
        }[next(name for name, each in LIMITS.items() if each == limits)]
    )
    for unit, found in measures.items():
        own = recorded.findings.attribution[unit].measures
        for name, by_axis in found["measures"].items():
            for axis, matrix in by_axis.items():
                sent = own[name][axis]
                most = np.abs(sent).max(axis=1, keepdims=True) / 32_767 if limits else 0.0
                within = np.maximum(np.abs(sent) * 1e-5, most) + 1e-9
                assert (np.abs(np.array(matrix) - sent) <= within).all(), (unit, name, axis)


HELD_BACK = """
let count = 0;
const own = Response.prototype.arrayBuffer;
const released = new Promise((done) => { window.release = done; });
Response.prototype.arrayBuffer = async function () {
  const later = count++ > 0;
  const found = await own.call(this);
  if (later) await released;
  return found;
};
"""


@pytest.fixture
def opened_early(browser, tmp_path: Path, recorded, monkeypatch):
    """Opens a saved page of many parts, which gets those after the first on `release()`."""
    for name in ("WHOLE_BYTES", "PART_BYTES"):
        monkeypatch.setattr(page_module, name, 10)
    file = tmp_path / "page.html"
    file.write_text(page_module.page(recorded), "utf-8")
    context = browser.new_context(locale="en-US")
    faults: list[str] = []

    def opened(fragment: str):
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.add_init_script(HELD_BACK)
        page.goto(f"{file.as_uri()}{fragment}")
        return page

    yield opened
    context.close()
    assert faults == []


def test_the_first_picture_does_not_wait_for_all_parts(opened_early):
    page = opened_early("")
    page.locator(".bands path.on").first.wait_for(state="attached")
    said = page.locator("#sentence").inner_text()
    panel = "document.getElementById('panel').parentElement.inert"
    drawn = "document.querySelectorAll('#strip :is(img, span)[style]').length"
    assert page.evaluate(panel), "what is pointed at may not be there yet"
    assert page.evaluate(drawn) == 0
    page.evaluate("release()")
    wait_until(page, f"!{panel} && {drawn} > 0")
    assert page.locator("#sentence").inner_text() == said
    other = page.locator("#strip button[aria-pressed='false']").last
    other.click()
    wait_until(page, "document.querySelectorAll('.bands path.on').length > 0")


@pytest.mark.parametrize("fragment", ["#view=grid", "#layer=0"])
def test_a_link_to_another_view_or_layer_waits_for_its_numbers(opened_early, fragment):
    page = opened_early(fragment)
    wait_until(page, "document.getElementById('data').arrays?.length === 1")
    assert page.locator("#panel").count() == 0
    page.evaluate("release()")
    page.locator("#panel canvas").first.wait_for(state="attached")
