"""RNNs in whole runs: what they leave behind, and that a resumed one ends in the same bits."""

import os
import signal

import pytest
import torch

from jumok.systems.translation.translator import Translator
from jumok.training import checkpoint
from jumok.training.run import train

VARIANTS = {
    "gru, bahdanau, coverage": {"coverage": True},
    "lstm, luong, two layers": {"cell": "lstm", "order": "luong", "decoder_layers": 2},
    "gnmt": {"order": "gnmt", "decoder_layers": 2},
    "no attention, word dropout": {"attention": "none", "word_dropout": 0.2},
}


@pytest.fixture
def recurrent_config(make_config):
    def make(variant):
        config = make_config("training.steps=9")
        model = {"kind": "rnn", "dim": 16, "embedding": 16, "dropout": 0.3, **VARIANTS[variant]}
        return type(config).model_validate(config.model_dump() | {"model": model})

    return make


def state(runs):
    saved = checkpoint.read(runs / "tiny" / checkpoint.CURRENT)
    return {name: tensor.clone() for name, tensor in saved.tensors.items()}


def stop_at(step):
    return lambda now: os.kill(os.getpid(), signal.SIGTERM) if now == step else None


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_stopped_and_resumed_run_ends_in_the_same_bits(
    tmp_path, recurrent_config, recorder, variant
):
    config = recurrent_config(variant)
    train(config, tmp_path / "whole", recorder())
    train(config, tmp_path / "parts", recorder(stop_at(4)))
    train(config, tmp_path / "parts", recorder(), resume=True)
    whole, parts = state(tmp_path / "whole"), state(tmp_path / "parts")
    assert whole.keys() == parts.keys()
    for name, tensor in whole.items():
        assert torch.equal(tensor, parts[name]), name
    translator = Translator.load(tmp_path / "whole" / "tiny" / "model")
    assert len(translator.translate(["one two", ""])) == 2


def test_an_rnn_with_attention_learns_the_tiny_corpus(tmp_path, recurrent_config, recorder):
    screen = recorder()
    config = recurrent_config("gru, bahdanau, coverage")
    longer = {
        "training": config.training.model_copy(update={"steps": 60}),
        "validation": config.validation.model_copy(update={"every": 60}),
    }
    train(config.model_copy(update=longer), tmp_path, screen)
    assert screen.validations[-1].loss < 0.7 * screen.steps[0].loss


def test_words_that_are_right_are_counted_where_the_recipe_asks(tmp_path, make_config, recorder):
    screen = recorder()
    train(make_config("training.steps=2", "validation.metric=accuracy"), tmp_path, screen)
    assert set(screen.validations[-1].figures) == {"accuracy", "character accuracy"}
