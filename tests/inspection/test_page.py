"""The page as text: whole, closed to the network, and safe from its tokens."""

import base64
import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from jumok.inspection.page import document as module
from jumok.inspection.page.arrays import exponential, inline, recomputed, rounded, weights_apart
from jumok.inspection.page.bundle import bundle
from jumok.inspection.page.document import page, payload
from jumok.inspection.page.packing import bare
from jumok.inspection.page.source import source_folder
from jumok.inspection.trace import Trace
from tests.inspection.pages import inside, numbers_of, page_data
from tests.inspection.traces import HOSTILE, trace

MOST_BYTES = 530_000
"""Tours and games, with their texts in two languages, are 42 kB of it."""
MOST_WITH_A_MODEL = 590_000
"""Without comments; of the page that runs translators, language models and captioners itself."""
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
    text = page(trace())
    parts = [inside(text, name) for name in ("data", "style", "code")]
    plain = re.sub(r'(<script type="text/plain"[^>]*>)[^<]+|(id="data"[^>]*>)[^<]+', "", text)
    for each in (plain, *parts):
        assert not re.search(r"(https?:)?//\w+\.\w", each.replace("http://www.w3.org/2000/svg", ""))


def test_tokens_cannot_end_the_element_they_travel_in():
    text = page(trace(source=HOSTILE))
    assert page_data(text)["axes"]["source"]["texts"] == list(HOSTILE)
    assert text.count("<script") == 5
    served = page(trace(source=HOSTILE), "token")
    assert page_data(served)["axes"]["source"]["texts"] == list(HOSTILE)
    assert served.count("<script") == 2


def test_script_is_small_and_every_module_is_in_it_once():
    scripts = [bare(bundle(entry)) for entry in ENTRIES]
    for entry, script in zip(ENTRIES, scripts, strict=True):
        most = MOST_WITH_A_MODEL if entry == "exported.js" else MOST_BYTES
        assert len(script.encode()) < most, entry
        assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    whole = [bundle(entry) for entry in ENTRIES]
    for file in source_folder().rglob("*.js"):
        first = file.read_text("utf-8").split("\n")[0]
        assert any(first in script for script in whole) or file.name in APART, file


def test_no_code_is_lost_with_the_comments():
    """A comment may stand at the beginning of a line of code, and a type within one."""
    named = re.compile(r"^(?:async )?(?:function\*?|class|const) (\w+)", re.MULTILINE)
    for entry in ENTRIES:
        assert len(named.findall(bare(bundle(entry)))) >= len(named.findall(bundle(entry))) > 0
    script = "/** A. @type {B} */ (a).b();\nlet c; // d\n/**\n * E * /\n */\n  // f\nconst g = 1;\n"
    script += 'h("; // i");\nj((/** @type {K<"l">} */ m) => 2 ** m);\n'
    kept = '/** A. @type {B} */ (a).b();\nlet c;\nconst g = 1;\nh("; // i");\nj((m) => 2 ** m);\n'
    assert bare(script) == kept


def weights_sent(recorded: Trace) -> dict:
    """Those of the first site."""
    return payload(recorded)["sites"][0]["arrays"]["weights"]


def test_few_weights_are_sent_exactly():
    recorded = trace()
    for site, raw in zip(recorded.sites, payload(recorded)["sites"], strict=True):
        np.testing.assert_array_equal(numbers_of(raw["arrays"]["weights"]), site.weights)
        np.testing.assert_array_equal(numbers_of(raw["arrays"]["query"]), site.query)


def test_many_weights_are_sent_with_16_bits_and_more_with_8(monkeypatch):
    monkeypatch.setattr(module, "FEW", 10)
    recorded = trace()
    packed = weights_sent(recorded)
    assert packed["type"] == "u16"
    np.testing.assert_allclose(numbers_of(packed), recorded.sites[0].weights, atol=1e-5)
    monkeypatch.setattr(module, "MANY", 10)
    packed = weights_sent(recorded)
    assert packed["type"] == "u8"
    np.testing.assert_allclose(numbers_of(packed), recorded.sites[0].weights, atol=0.5 / 255)


def test_rounded_numbers_are_within_a_share_of_their_row():
    random = np.random.default_rng(3)
    array = random.normal(size=(3, 50, 16)) * 10.0 ** random.integers(-20, 20, size=(3, 50, 1))
    array[0, 0] = 0
    packed = rounded(array)
    found = numbers_of(inline(packed))
    most = np.abs(array).max(axis=-1, keepdims=True)
    assert packed.kind == "s16"
    assert (np.abs(found - array) <= most / 32_767).all()
    assert np.array_equal(found[0, 0], array[0, 0])
    array[1, 2, 3] = np.nan
    assert rounded(array).kind == "f32", "what is not finite is sent as it is"


def test_recomputed_weights_are_the_softmax_of_torch():
    random = np.random.default_rng(4)
    query, key = (rounded(3 * random.normal(size=(2, length, 8))) for length in (7, 5))
    allowed = random.random((7, 5)) > 0.3
    allowed[2] = False
    found = recomputed(query, key, 0.3, allowed)
    vectors = [torch.tensor(numbers_of(inline(each))) for each in (query, key)]
    scores = 0.3 * vectors[0] @ vectors[1].transpose(1, 2)
    expected = scores.masked_fill(~torch.tensor(allowed), -torch.inf).softmax(-1).nan_to_num()
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-13)
    assert (found[:, 2] == 0).all()


def test_exponentials_are_those_of_the_library():
    under = -np.concatenate([np.linspace(0, 41, 10_001), np.geomspace(1e-12, 1, 101)])
    np.testing.assert_allclose(exponential(under), np.exp(under), rtol=1e-14)
    assert exponential(np.array([-50.0, -1e9])).tolist() == [0, 0]


@pytest.mark.parametrize(
    "changed",
    [
        {"scale": None},
        {"kind": "linear"},
        {"sink": np.zeros(3, np.float32)},
        {"weights": np.full((3, 4, 4), np.nan, np.float32)},
    ],
    ids=["capped", "linear", "sink", "damaged"],
)
def test_weights_that_are_no_softmax_of_products_are_sent(changed):
    site = next(site for site in trace().sites if site.query is not None and site.bias is None)
    query, key = rounded(site.query), rounded(site.key)
    assert weights_apart(replace(site, energy=None), query, key) is not None
    assert weights_apart(replace(site, energy=None, **changed), query, key) is None


def test_weights_that_are_far_from_the_recomputed_ones_are_sent():
    """Such as those of a module that an intervention has changed."""
    site = next(site for site in trace().sites if site.query is not None and site.bias is None)
    query, key = rounded(site.query), rounded(site.key)
    turned = replace(site, energy=None, weights=site.weights[:, :, ::-1])
    assert weights_apart(turned, query, key) is None
