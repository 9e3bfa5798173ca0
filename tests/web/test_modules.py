"""The page's modules without a page, by node's own runner: what needs no browser."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import jumok
from jumok.decoding import DecodingOptions
from jumok.inspection.page import document as page_module
from jumok.inspection.page import packing
from jumok.inspection.page.arrays import Parts, inlined
from jumok.inspection.page.document import content
from jumok.inspection.trace import ARRAYS, Trace
from tests.inspection.pages import numbers_of

HERE = Path(__file__).parent
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="needs node, the JavaScript runtime")

TEXT = "the cat sat on the mat and the dog ran"
LIMITS = {
    "exact": {},
    "16 bits": {"FEW": 10, "FEW_IN_VECTORS": 10},
    "8 bits": {"FEW": 10, "MANY": 10, "FEW_IN_VECTORS": 10},
}
KINDS = {
    "exact": {"f32", "bits"},
    "16 bits": {"f32", "bits", "u16", "apart", "s16"},
    "8 bits": {"f32", "bits", "u8", "s16"},
}


def node(*arguments: str | Path, given: str = "") -> str:
    command = [str(NODE), *map(str, arguments)]
    ran = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@needs_node
def test_modules_of_the_page():
    said = node("--test", "--test-reporter=tap", *sorted(HERE.glob("*.test.js")))
    assert int(said.partition("# pass ")[2].split()[0]) > 0, said


@pytest.fixture(scope="module")
def recorded(tiny_bundle) -> Trace:
    """Of a whole model, with masks; and a site whose scores the page cannot recompute."""
    translator = jumok.load(tiny_bundle, device="cpu")
    found = jumok.trace(translator, TEXT, None, DecodingOptions(maximum_length=9))
    first, *others = found.sites
    bias = np.linspace(0, 1, first.weights.size, dtype=np.float32).reshape(first.weights.shape)
    return replace(found, sites=(*others, replace(first, name="biased", bias=bias)))


@needs_node
@pytest.mark.parametrize("saved", [False, True], ids=["served", "saved"])
@pytest.mark.parametrize("limits", LIMITS)
def test_the_page_has_the_numbers_that_were_sent(recorded, monkeypatch, limits, saved):
    """Bit by bit: what Python packed, unpacked by the page, whatever the number of parts."""
    for name, most in (LIMITS[limits] | {"WHOLE_BYTES": 10, "PART_BYTES": 10}).items():
        monkeypatch.setattr(page_module, name, most)
    if limits != "exact":
        monkeypatch.setattr(packing, "FEW_ATTRIBUTED", 10)
    data, parts = content(recorded), Parts()
    trace = page_module._in_parts(data, recorded, parts) if saved else inlined(data)
    assert (len(parts.held) > 3) == saved
    held = [list(each) for each in parts.held]
    given = {"trace": trace, "parts": held, "names": list(ARRAYS)}
    found = json.loads(node(HERE / "numbers.js", given=json.dumps(given)))
    kinds = set()
    for site, raw, numbers in zip(
        recorded.sites, inlined(data["sites"]), found["sites"], strict=True
    ):
        for name, packed in raw["arrays"].items():
            kinds.add(packed["type"])
            if packed["type"] == "apart":
                expected = np.rint(site.weights.astype(np.float64) * 65_535) / 65_535
            else:
                expected = numbers_of(packed)
            got = np.array(numbers[name], np.float32).reshape(packed["shape"])
            assert np.array_equal(got, expected.astype(np.float32)), name
        assert all(numbers[name] is None for name in ARRAYS if name not in raw["arrays"])
    assert kinds == KINDS[limits]
    for unit, of_unit in found["attribution"].items():
        own = recorded.findings.attribution[unit].measures
        for name, by_axis in of_unit["measures"].items():
            for axis, matrix in by_axis.items():
                sent = own[name][axis]
                most = np.abs(sent).max(axis=1, keepdims=True) / 32_767
                within = np.maximum(np.abs(sent) * 1e-5, most if limits != "exact" else 0.0) + 1e-9
                assert (np.abs(np.array(matrix) - sent) <= within).all(), (unit, name, axis)
