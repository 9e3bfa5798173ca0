"""Where the native engine searches for a live page's translation, the trace is the same."""

from dataclasses import replace

import numpy as np
import pytest

import jumok
from jumok.data.tokenizer import END
from jumok.engine.native import NativeModel
from jumok.inspection.hooks.intervene import Change
from jumok.tracing.catalog import Family, load_family
from jumok.tracing.request import Analyses
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


def both(folder) -> tuple[Family, jumok.Translator]:
    """The live page's model, with the engine beside it, and the same on torch alone."""
    family = load_family(folder, device="cpu")
    assert family.system.engine is not None
    return family, jumok.load(folder, engine="torch", device="cpu")


@pytest.mark.parametrize("beam", [1, 4])
def test_the_trace_is_that_of_the_model_on_torch(folder, beam, searched):
    family, alone = both(folder)
    options = replace(family.options, beam=beam, maximum_length=7)
    for prefix in ((), (7, 9)):
        asked = {"options": options, "extras": LIVE, "prefix": prefix}
        own = jumok.trace(alone, "the cat sat", **asked)
        assert not searched
        fast = family.trace("the cat sat", **asked)
        assert fast.findings.written == own.findings.written
        assert list(fast.findings.written[: len(prefix)]) == list(prefix)
        assert fast.steps == own.steps
        assert fast.findings.search is own.findings.search is None
        if not prefix:
            # Again with other limits, where the first search repeats itself.
            (once,) = {tuple(ids) for ids in searched}
            assert once == (*family.system.tokenizer.encode("the cat sat"), END)
        searched.clear()


def test_a_changed_model_is_searched_on_torch(tiny_bundle, searched):
    family, alone = both(tiny_bundle)
    changed = Change({"decoder.blocks.0.cross_attention": [0]})
    options = replace(family.options, maximum_length=5)
    asked = {"options": options, "change": changed, "extras": LIVE}
    own = jumok.trace(alone, "the cat sat", **asked)
    assert family.trace("the cat sat", **asked).steps == own.steps
    assert searched == []


@pytest.mark.parametrize("prefix", [(), (7, 9)])
def test_the_tree_of_the_engines_search_is_that_of_torch(folder, prefix):
    family, alone = both(folder)
    options = replace(family.options, beam=3, maximum_length=5)
    asked = {"options": options, "extras": replace(LIVE, search_tree=True), "prefix": prefix}
    own = jumok.trace(alone, "the cat sat", **asked).findings.search
    fast = family.trace("the cat sat", **asked).findings.search
    assert [(node.parent, node.token, node.fate) for node in fast.nodes] == [
        (node.parent, node.token, node.fate) for node in own.nodes
    ]
    totals = [node.total for node in own.nodes]
    assert [node.total for node in fast.nodes] == pytest.approx(totals, abs=1e-4)
    for leaf, expected in zip(fast.leaves, own.leaves, strict=True):
        assert leaf.node == expected.node
        np.testing.assert_allclose(leaf.weights, expected.weights, atol=1e-5)


def test_the_engine_searches_for_translations_of_ensembles_too(tiny_bundle, tmp_path):
    assert len(load_family(tiny_bundle, tiny_bundle, device="cpu").system.engine.models) == 2
    lm = load_family(write_lm(tmp_path / "lm"), device="cpu")
    assert lm.trace("a b", extras=LIVE).output


def test_a_translation_ends_with_the_positions(tiny_bundle):
    """The options permit three tokens for each that is read, 174; there are positions for fewer."""
    family = load_family(tiny_bundle, device="cpu")
    family.system.longest_target, family.system.engine.models[0].positions = 20, 60
    text = " ".join(["the cat sat"] * 19)
    found = family.trace(text, options=family.options, extras=LIVE)
    assert 0 < len(found.findings.written) <= 20
