"""The tree is the search that was made."""

from math import fsum

import pytest

import jumok
from jumok.data.tokenizer import END
from jumok.decoding import DecodingOptions

OPTIONS = DecodingOptions(beam=3, nbest=3, maximum_length=6)


@pytest.fixture(scope="module")
def search(tiny_bundle):
    translator = jumok.load(tiny_bundle)
    trace = jumok.trace(translator, "the cat sat", options=OPTIONS)
    return translator, trace, trace.findings.search


def path(nodes, index):
    tokens = []
    while index >= 0:
        tokens.append(nodes[index])
        index = nodes[index].parent
    return tokens[::-1]


def test_totals_are_the_sums_along_the_path(search):
    nodes = search[2].nodes
    for index, node in enumerate(nodes):
        along = fsum(each.log_probability for each in path(nodes, index))
        assert node.total == pytest.approx(along, abs=1e-4)


def test_a_beam_keeps_no_more_than_its_width_at_a_step(search):
    nodes = search[2].nodes
    kept = [len(path(nodes, i)) for i, node in enumerate(nodes) if node.fate == "kept"]
    assert all(kept.count(step) <= OPTIONS.beam for step in set(kept))
    assert all(nodes[n.parent].fate == "kept" for n in nodes if n.parent >= 0)


def test_the_translation_is_in_the_tree(search):
    _, trace, tree = search
    nodes = tree.nodes
    paths = [[n.token for n in path(nodes, i) if n.token != END] for i in range(len(nodes))]
    assert list(trace.findings.written) in paths


def test_leaves_carry_the_attention_of_their_own_words(search):
    """Each leaf's rows are those of its text, given as a translation of its own."""
    translator, _, tree = search
    nodes = tree.nodes
    reading = translator.aligner.readings[0]
    site = f"decoder.blocks.{reading.layer}.cross_attention"
    for leaf in tree.leaves[:5]:
        pieces = [n.token for n in path(nodes, leaf.node) if n.token != END]
        if not pieces:
            continue
        alone = jumok.trace(translator, "the cat sat", pieces)
        weights = next(each for each in alone.sites if each.name == site).weights.mean(0)
        rows = weights[1:] if reading.at_input else weights[:-1]
        for found, expected in zip(leaf.weights, rows, strict=True):
            assert found[: len(expected)] == pytest.approx(expected, abs=1e-4)


def test_watching_changes_no_translation(search):
    translator, trace, _ = search
    (plain,) = translator.translate(["the cat sat"], OPTIONS, alignments=False)
    assert trace.axes["target"].tokens[1:] == plain.tokens


def test_a_prefix_is_forced(search):
    translator = search[0]
    trace = jumok.trace(translator, "the cat sat", options=OPTIONS, prefix=[7, 9])
    assert trace.findings.written[:2] == (7, 9)
    with pytest.raises(jumok.JumokError, match="no such token"):
        jumok.trace(translator, "the cat sat", options=OPTIONS, prefix=[999])
