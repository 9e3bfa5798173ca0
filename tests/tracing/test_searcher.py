"""Where the native engine searches for a live page's translation, the trace is the same."""

from dataclasses import replace

import numpy as np
import pytest

from jumok.data.tokenizer import END
from jumok.engine.native import NativeModel
from jumok.inspection.hooks.intervene import Change
from jumok.systems.catalog import open_model
from jumok.tracing import translation
from jumok.tracing.catalog import load_family
from jumok.tracing.request import Analyses
from jumok.tracing.translation import load_searcher
from tests.systems.lm import write_lm
from tests.systems.untrained import write_rnn

LIVE = Analyses(ablation=False, attribution=False, search_tree=False, walk=False)


@pytest.fixture(params=["Transformer", "RNN"])
def folder(request, tiny_bundle, tmp_path):
    return tiny_bundle if request.param == "Transformer" else write_rnn(tmp_path / "rnn")


@pytest.fixture
def searched(monkeypatch):
    """What the engine was asked to search for: the source tokens of each search."""
    found, whole = [], NativeModel.search

    def search(model, sources, *arguments):
        found.extend(sources)
        return whole(model, sources, *arguments)

    monkeypatch.setattr(NativeModel, "search", search)
    return found


@pytest.mark.parametrize("beam", [1, 4])
def test_the_trace_is_that_of_the_model_on_torch(folder, beam, searched, monkeypatch):
    family = load_family(folder, device="cpu")
    options = replace(family.options, beam=beam, maximum_length=7)
    searcher = load_searcher(family.opened, "cpu")
    for prefix in ((), (7, 9)):
        asked = {"options": options, "extras": LIVE, "prefix": prefix}
        own = family.trace("the cat sat", **asked)
        with monkeypatch.context() as patch:
            patch.setattr(translation, "TorchSearcher", lambda *_: None)
            fast = family.trace("the cat sat", **asked, searcher=searcher)
        assert fast.findings.written == own.findings.written
        assert list(fast.findings.written[: len(prefix)]) == list(prefix)
        assert fast.steps == own.steps
        assert fast.findings.search is own.findings.search is None
    assert searched == [[*family.system.tokenizer.encode("the cat sat"), END]]


def test_a_changed_model_is_searched_on_torch(tiny_bundle, searched):
    family = load_family(tiny_bundle, device="cpu")
    options = replace(family.options, maximum_length=5)
    changed = Change({"decoder.blocks.0.cross_attention": [0]})
    asked = {"options": options, "change": changed, "extras": LIVE}
    searcher = load_searcher(family.opened, "cpu")
    assert family.trace("the cat sat", **asked, searcher=searcher).steps == (
        family.trace("the cat sat", **asked).steps
    )
    assert searched == []


@pytest.mark.parametrize("prefix", [(), (7, 9)])
def test_the_tree_of_the_engines_search_is_that_of_torch(folder, prefix):
    family = load_family(folder, device="cpu")
    options = replace(family.options, beam=3, maximum_length=5)
    asked = {"options": options, "extras": replace(LIVE, search_tree=True), "prefix": prefix}
    own = family.trace("the cat sat", **asked).findings.search
    searcher = load_searcher(family.opened, "cpu")
    fast = family.trace("the cat sat", **asked, searcher=searcher).findings.search
    assert [(node.parent, node.token, node.fate) for node in fast.nodes] == [
        (node.parent, node.token, node.fate) for node in own.nodes
    ]
    totals = [node.total for node in own.nodes]
    assert [node.total for node in fast.nodes] == pytest.approx(totals, abs=1e-4)
    for leaf, expected in zip(fast.leaves, own.leaves, strict=True):
        assert leaf.node == expected.node
        np.testing.assert_allclose(leaf.weights, expected.weights, atol=1e-5)


def test_the_engine_searches_for_translations_of_ensembles_too(tiny_bundle, tmp_path):
    assert load_searcher(open_model(write_lm(tmp_path / "lm")), "cpu") is None
    assert len(load_searcher(open_model(tiny_bundle, tiny_bundle), "cpu").models) == 2


def test_a_translation_ends_with_the_positions(tiny_bundle):
    """The options permit three tokens for each that is read, 174; there are positions for fewer."""
    family = load_family(tiny_bundle, device="cpu")
    searcher = load_searcher(family.opened)
    family.system.longest_target, searcher.models[0].positions = 20, 60
    text = " ".join(["the cat sat"] * 19)
    found = family.trace(text, options=family.options, extras=LIVE, searcher=searcher)
    assert 0 < len(found.findings.written) <= 20
