"""A Translator of RNNs: alignments off the one attention, and none where there is none."""

from pathlib import Path

import pytest
import torch

import jumok
from jumok.alignment.setting import AlignmentSetting
from jumok.decoding import DecodingOptions
from jumok.errors import ModelError
from jumok.systems.translation.translator import Translator
from tests.systems.untrained import write_rnn

FAST = DecodingOptions(beam=2, maximum_length=9)


@pytest.fixture(scope="module")
def with_attention(tmp_path_factory) -> Path:
    return write_rnn(tmp_path_factory.mktemp("bundles") / "with", cell="lstm")


@pytest.fixture(scope="module")
def without(tmp_path_factory) -> Path:
    return write_rnn(tmp_path_factory.mktemp("bundles") / "without", attention="none")


def test_alignments_are_read_off_the_one_attention(with_attention):
    translator = Translator.load(with_attention)
    assert translator.aligner.readings == [AlignmentSetting(0, at_input=False)]
    (translation,) = translator.translate(["the cat sat"], FAST)
    assert translation.alignment is not None
    seen = translator.attention("the cat sat", "the mat")
    assert seen.weights.shape == (2, 3)
    assert (seen.weights.sum(1) <= 1.0001).all()


def test_a_model_without_attention_translates_and_aligns_nothing(without):
    translator = Translator.load(without)
    (translation,) = translator.translate(["the cat sat"], FAST)
    assert translation.alignment is None
    text = "this model has no attention: it reads a whole sentence as one vector"
    with pytest.raises(ModelError, match=text):
        translator.attention("the cat", "the mat")
    with pytest.raises(ModelError, match=text):
        translator.translate(["the cat"], DecodingOptions(beam=2, coverage_penalty=0.5))


def test_in_an_ensemble_those_with_attention_align(with_attention, without):
    both = Translator.load(without, with_attention)
    alone = Translator.load(with_attention)
    found, expected = (one.attention("the cat sat", "the mat") for one in (both, alone))
    torch.testing.assert_close(found.weights, expected.weights)
    assert both.translate(["the cat sat"], FAST)[0].alignment is not None


def test_coverage_is_read_off_the_one_attention(with_attention):
    options = DecodingOptions(beam=2, maximum_length=9, coverage_penalty=0.5)
    assert len(Translator.load(with_attention).translate(["the cat sat", "I am"], options)) == 2


def test_a_trace_holds_the_one_attention(with_attention):
    trace = jumok.trace(Translator.load(with_attention), "the cat sat", target="the mat")
    assert [(site.name, site.kind) for site in trace.sites] == [("decoder.attention", "additive")]
    assert trace.findings.setting == AlignmentSetting(0, at_input=False)


def test_without_attention_there_is_nothing_to_trace(without):
    with pytest.raises(ModelError, match="has no attention that could be shown"):
        jumok.trace(Translator.load(without), "the cat sat", target="the mat")
