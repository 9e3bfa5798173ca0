"""What Python writes into a page has the names and types that the page expects."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import GoldLinks
from jumok.inspection.findings import ContextSimilarity
from jumok.inspection.page import document as module
from jumok.inspection.page.arrays import Parts, inlined
from jumok.inspection.page.cards_page import cards_payload
from jumok.inspection.page.document import PageOrigin, content, guided
from jumok.inspection.page.tours import built_in
from jumok.inspection.trace import Trace
from tests.browser.kinds import WRITTEN, Folders, whole
from tests.browser.test_page_cards import CARDS
from tests.browser.test_page_cards_grid import CAPTIONER, PIXELS
from tests.browser.test_page_run import REPORT
from tests.inspection.traces import found, trace

ROOT = Path(__file__).parents[2]
TYPES = ROOT / "web" / "payload.d.ts"
TSC = ROOT / "node_modules" / ".bin" / "tsc"

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not TSC.exists(), reason="needs node, and `make lint` once"
)


def rare() -> Trace:
    """With all that the models of `kinds` do not have."""
    recorded = trace()
    first, *others = recorded.sites
    heads, *_ = first.weights.shape
    ones = np.ones(heads, np.float32)
    first = replace(first, sink=ones, factors=ones, bias=first.weights, residual_gate=0.5)
    cosines = np.ones((3, 3, 2))
    similar = ContextSimilarity("source", ("a", "dog"), cosines, different=np.ones(3))
    gold = GoldLinks(frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)}))
    recorded = replace(recorded, sites=(first, *others))
    setting = AlignmentSetting(0, at_input=False, head=1)
    return found(
        recorded, setting=setting, gold=gold, similarity={"encoder": similar}, own_output="고양이"
    )


def payloads(folders: Folders) -> Iterator[tuple[str, object]]:
    """A type, and what should be of it."""
    for kind in ("Transformer", *WRITTEN):
        yield "RawTrace", inlined(content(whole(folders, kind)))
    recorded = rare()
    yield "RawTrace", inlined(content(recorded))
    yield "RawTrace", module._in_parts(content(recorded), recorded, Parts())
    page = content(recorded) | guided(recorded, built_in()[0])
    page |= {"token": None, "before": True, "lang": "ko", "examples": ["a"]}
    page |= {"run": REPORT.payload(), "other": content(recorded)}
    page |= {"tours": [each.payload() for each in built_in()]}
    yield "RawPage", inlined(page | {"made": PageOrigin(["model"], given="cat.png").payload()})
    for tour in built_in():
        yield "Tour", tour.payload()
    yield "RawCards", cards_payload({"a": [*CARDS, *CAPTIONER, *PIXELS]}, "dev.en", 60)


def names_in(data: object) -> set[str]:
    if isinstance(data, list | tuple):
        return set().union(*map(names_in, data))
    if isinstance(data, dict):
        return set(data).union(*map(names_in, data.values()))
    return set()


def wrong(tmp_path: Path, typed: list[tuple[str, object]], *types: Path) -> str:
    """What the compiler says of data with the types that they should have."""
    lines = [f"const data{i}: {kind} = {json.dumps(each)};" for i, (kind, each) in enumerate(typed)]
    file = tmp_path / "data.ts"
    file.write_text("\n".join([*lines, "export {};"]), "utf-8")
    options = ["--ignoreConfig", "--noEmit", "--strict", "--target", "es2023"]
    ran = subprocess.run(
        [str(TSC), *options, str(TYPES), *map(str, types), str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout + ran.stderr


def test_what_python_writes_is_what_the_page_expects(folders, tmp_path, monkeypatch):
    """Every name that is written has a type, every value is of it, and no type has other names."""
    typed = list(payloads(folders))
    monkeypatch.setattr(module, "FEW_IN_VECTORS", 10)
    typed.append(("RawTrace", inlined(content(rare()))))
    assert wrong(tmp_path, typed) == ""
    expected = re.findall(r"^  (\w+)\??:", TYPES.read_text("utf-8"), re.MULTILINE)
    assert set(expected) - names_in([each for _, each in typed]) == set()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"outputs": "a"}, "does not exist in type 'RawTrace'"),
        ({"segments": "1"}, "Type 'string' is not assignable to type 'number'"),
        ({"task": None}, "Type 'null' is not assignable to type 'string'"),
    ],
)
def test_a_name_or_a_value_that_differs_is_found(tmp_path, change, told):
    data = inlined(content(trace()))
    assert isinstance(data, dict)
    assert wrong(tmp_path, [("RawTrace", data)]) == ""
    assert told in wrong(tmp_path, [("RawTrace", data | change)])
    without = {name: each for name, each in data.items() if name != "steps"}
    assert "Property 'steps' is missing" in wrong(tmp_path, [("RawTrace", without)])
