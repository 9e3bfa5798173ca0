"""TraceFindings are typed, and are the same after they were written and read as JSON."""

import json
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from pydantic import ValidationError

import jumok
from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import GoldLinks
from jumok.decoding import DecodingOptions
from jumok.evaluation.alignment import parse_gold, with_gold
from jumok.inspection.findings import (
    DIGITS,
    Attributions,
    SearchLeaf,
    SearchTree,
    StackLayers,
    TraceFindings,
    findings_json,
)
from jumok.tracing.catalog import load_family
from jumok.tracing.comparison import Comparison
from jumok.tracing.request import EVERYTHING
from tests.inspection.traces import read_findings

ROUNDED = 0.5 * 10.0 ** (1 - DIGITS)
TEXT, OTHER = "the cat sat", "the dog sat"


@pytest.fixture(scope="module")
def whole(tiny_bundle) -> TraceFindings:
    """Every finding that a translation has."""
    family = load_family(tiny_bundle, device="cpu")
    options = DecodingOptions(beam=2, maximum_length=7, minimum_length=3)
    traced = Comparison(family.trace).look
    trace, _ = traced(TEXT, OTHER, extras=EVERYTHING)
    searched = family.trace(TEXT, options=options).findings.search
    found = with_gold(trace, parse_gold("0-0 1p0")).findings
    return replace(found, search=searched, frequent=(0,))  # none of so small a vocabulary


def test_what_was_computed_is_typed_and_there(whole):
    missing = {each.name for each in fields(TraceFindings) if not getattr(whole, each.name)}
    assert missing == {"prompt", "gaps", "own_rows", "own_output", "unseen"}, (
        "a translation has no prompt and no gaps, and this model's training data is not known"
    )
    assert isinstance(whole.search, SearchTree)
    assert isinstance(whole.setting, AlignmentSetting)
    assert isinstance(whole.gold, GoldLinks)
    assert isinstance(whole.layers.stacks["decoder"], StackLayers)
    assert isinstance(whole.attribution["words"], Attributions)


def test_json_is_read_back_as_it_was_written(whole):
    text = json.dumps(findings_json(whole), allow_nan=False)
    again = read_findings(json.loads(text))
    assert json.dumps(findings_json(again), allow_nan=False) == text
    assert (again.search.nodes, again.setting, again.gold) == (
        whole.search.nodes, whole.setting, whole.gold,
    )  # fmt: skip
    assert again.layers.stacks["decoder"].best == whole.layers.stacks["decoder"].best
    for site, effect in whole.ablation.items():
        np.testing.assert_allclose(again.ablation[site], effect, rtol=ROUNDED)
    ours, theirs = again.attribution["words"], whole.attribution["words"]
    for name, measure in theirs.measures.items():
        for axis, numbers in measure.items():
            np.testing.assert_allclose(ours.measures[name][axis], numbers, rtol=ROUNDED)
    np.testing.assert_allclose(ours.mean_ranks, theirs.mean_ranks, rtol=ROUNDED)


def test_numbers_have_six_digits_and_nan_is_null():
    given = np.array([[1 / 3, -123456.789, 0.0], [np.nan, 5e-324, 2e-9 / 3]])
    found = findings_json(TraceFindings(ablation={"a": given}))["ablation"]["a"]
    assert found == [[0.333333, -123457.0, 0.0], [None, 0.0, 6.66667e-10]]
    back = read_findings({"ablation": {"a": found}}).ablation["a"]
    assert np.isnan(back[1, 0])


def test_what_was_not_computed_is_left_out():
    assert findings_json(TraceFindings()) == {
        "written": [],
        "prompt": 0,
        "gaps": [],
        "own_rows": False,
        "frequent": [],
        "unseen": [],
    }
    assert read_findings({}) == TraceFindings()
    assert findings_json(TraceFindings(search=SearchTree((), (SearchLeaf(3),))))["search"] == {
        "nodes": [],
        "leaves": [{"node": 3}],
    }


@pytest.mark.parametrize(
    ("plain", "place"),
    [
        ({"without": {}}, "without"),
        ({"ablation": {"a": [[1.0], [1.0, 2.0]]}}, "ablation.a"),
        ({"ablation": {"a": "1"}}, "ablation.a"),
        ({"search": {"nodes": [{"parent": -1}], "leaves": []}}, "search.nodes.0.token"),
        ({"setting": {"layer": "last", "at_input": True}}, "setting.layer"),
        ({"gold": {"sure": [[0]], "possible": []}}, "gold.sure.0"),
    ],
)
def test_what_are_no_findings_is_refused(plain, place):
    with pytest.raises(ValidationError) as caught:
        read_findings(plain)
    assert ".".join(map(str, caught.value.errors()[0]["loc"])).startswith(place)


def test_findings_do_not_change(whole):
    with pytest.raises(FrozenInstanceError):
        whole.search = None


def test_the_row_of_a_word_is_that_of_the_setting_or_its_own():
    assert not TraceFindings().at_input
    assert TraceFindings(own_rows=True).at_input
    assert TraceFindings(setting=AlignmentSetting(0, at_input=True)).at_input
    assert not TraceFindings(setting=AlignmentSetting(0, at_input=False)).at_input


def test_a_text_without_analyses_has_what_was_written_only(tiny_bundle):
    system = jumok.load(tiny_bundle)
    found = jumok.trace(system, TEXT, [5, 9], extras=jumok.tracing.request.NOTHING).findings
    setting = system.aligner.readings[0]
    assert found == TraceFindings(written=(5, 9), setting=setting, search=SearchTree())
