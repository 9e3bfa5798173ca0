"""A Translator of RNNs: alignments off the one attention, and none where there is none."""

from pathlib import Path

import pytest
import torch

import jumok
from jumok.alignment.setting import AlignmentSetting
from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.writing import write_bundle
from jumok.config import RecurrentConfig
from jumok.data.tokenizer import Tokenizer
from jumok.decoding import DecodingOptions
from jumok.errors import ModelError
from jumok.models.catalog import DataSizes, build
from jumok.systems.translation.translator import Translator
from tests.conftest import TINY_TEXT

FAST = DecodingOptions(beam=2, maximum_length=9)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TINY_TEXT, "bpe", 350)


def bundle(folder: Path, tokenizer: Tokenizer, **options: object) -> Path:
    config = RecurrentConfig.model_validate({"dim": 14, "embedding": 13, **options})
    torch.manual_seed(1)
    model = build(config, DataSizes(vocabulary=tokenizer.size))
    card = BundleConfig("translation", config.model_dump(), tokenizer.size, max_tokens=31)
    return write_bundle(folder, model.state_dict(), card, tokenizer, Card(name="tiny"))


@pytest.fixture(scope="module")
def with_attention(tmp_path_factory, tokenizer) -> Path:
    return bundle(tmp_path_factory.mktemp("bundles") / "with", tokenizer, cell="lstm")


@pytest.fixture(scope="module")
def without(tmp_path_factory, tokenizer) -> Path:
    return bundle(tmp_path_factory.mktemp("bundles") / "without", tokenizer, attention="none")


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
