"""The page as text: whole, closed to the network, and safe from its tokens."""

import base64
import hashlib
import json
import re

import numpy as np

from jumok.inspection.page import document as module
from jumok.inspection.page.document import bundle, page, payload
from jumok.inspection.page.source import source_folder
from tests.inspection.pages import inside, page_data
from tests.inspection.traces import HOSTILE, trace

MOST_BYTES = 520_000
"""Tours and games, with their texts in two languages, are 42 kB of it."""
APART = ("widget.js", "loader.js")
"""The module that a notebook loads, and what unpacks a saved page."""

ENTRIES = ("page.js", "cards.js", "exported.js", "translate.js")


def test_page_allows_its_own_script_and_nothing_else():
    text = page(trace())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    for script in (text.split("<script>")[1].split("</script>")[0], inside(text, "code")):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_a_page_that_is_served_stays_readable():
    text = page(trace(), "token")
    assert bundle() in text
    assert json.loads(inside(text))["text"] == "a cat ran"


def test_the_search_tree_has_a_row_for_each_node():
    recorded = trace()
    search = payload(recorded)["findings"]["search"]
    maps = np.frombuffer(base64.b64decode(search["maps"]["data"]), "<u2").reshape(2, 4) / 65535
    assert search["rows"] == [0, 1, -1, -1]
    leaf = recorded.findings.search.leaves[0]
    np.testing.assert_allclose(maps[0], leaf.weights[0], atol=1e-5)
    assert search["nodes"][2] == [0, 5, "</s>", -0.5, -1.0, "finished"]


def test_page_names_no_other_place():
    """Names of XML namespaces are no addresses that anything is loaded from."""
    text = page(trace()).replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(https?:)?//\w+\.\w", text)


def test_tokens_cannot_end_the_element_they_travel_in():
    text = page(trace(source=HOSTILE))
    assert page_data(text)["axes"]["source"]["texts"] == list(HOSTILE)
    assert text.count("<script") == 3
    served = page(trace(source=HOSTILE), "token")
    assert page_data(served)["axes"]["source"]["texts"] == list(HOSTILE)
    assert served.count("<script") == 2


def test_script_is_small_and_every_module_is_in_it_once():
    scripts = [bundle(entry) for entry in ENTRIES]
    for script in scripts:
        assert len(script.encode()) < MOST_BYTES
        assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    for file in source_folder().rglob("*.js"):
        first = file.read_text("utf-8").split("\n")[0]
        assert any(first in script for script in scripts) or file.name in APART, file


def unpacked(packed: dict) -> np.ndarray:
    kind = {"f32": "<f4", "u16": "<u2", "u8": np.uint8}[packed["type"]]
    return np.frombuffer(base64.b64decode(packed["data"]), kind).reshape(packed["shape"])


def test_few_weights_are_sent_exactly():
    recorded = trace()
    for site, raw in zip(recorded.sites, payload(recorded)["sites"], strict=True):
        np.testing.assert_array_equal(unpacked(raw["arrays"]["weights"]), site.weights)
        np.testing.assert_array_equal(unpacked(raw["arrays"]["query"]), site.query)


def test_many_weights_are_sent_as_bytes(monkeypatch):
    monkeypatch.setattr(module, "FEW", 10)
    recorded = trace()
    packed = payload(recorded)["sites"][0]["arrays"]["weights"]
    assert packed["type"] == "u16"
    np.testing.assert_allclose(unpacked(packed) / 65_535, recorded.sites[0].weights, atol=1e-5)
    monkeypatch.setattr(module, "MANY", 10)
    recorded = trace()
    packed = payload(recorded)["sites"][0]["arrays"]["weights"]
    assert packed["type"] == "u8"
    np.testing.assert_allclose(unpacked(packed) / 255, recorded.sites[0].weights, atol=0.5 / 255)
