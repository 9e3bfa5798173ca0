"""A run that was stopped and resumed ends in the bits of one that never stopped."""

import signal

import pytest

from jumok.systems.translation.translator import Translator
from jumok.training.run import train
from tests.training.conftest import Recorder
from tests.training.runs import Killed, assert_same_end, killed_at, stop_at
from tests.training.starts import earlier

RNN_CAPTIONS = 'model.decoder={kind="rnn", dim=12, embedding=8, dropout=0.1}'
FAMILIES = {
    "gru, bahdanau, coverage": ("rnn", ["model.coverage=true", "model.dropout=0.3"]),
    "lstm, luong, two layers": (
        "rnn",
        ["model.cell=lstm", "model.order=luong", "model.decoder_layers=2"],
    ),
    "gnmt": ("rnn", ["model.order=gnmt", "model.decoder_layers=2"]),
    "no attention": ("rnn", ["model.attention=none"]),
    "packed": ("transformer", ["training.batches=packed", "training.tokens_per_micro_batch=120"]),
    "windows": ("text", ["model.dropout=0.2"]),
    "packed windows": ("lines", ["tokenizer.kind=bpe", "tokenizer.size=300", "model.dropout=0.2"]),
    "masked": ("masked", []),
    "labelled": ("labelled", ["model.pooling=first"]),
    "images": (
        "images",
        [
            *("model.channels=[16]", "model.attention_after=[1]", "model.attention_heads=2"),
            "model.attention_dropout=0.1",
        ],
    ),
    "captions": ("captions", []),
    "captions, one vector": ("captions", ["model.memory=one"]),
    "captions, RNN": ("captions", [RNN_CAPTIONS, "model.doubly_stochastic=0.1"]),
}


@pytest.mark.parametrize(("family", "overrides"), FAMILIES.values(), ids=FAMILIES)
def test_a_killed_run_of_every_family_ends_in_the_same_bits(tmp_path, family, overrides):
    """Killed at step 4, it goes on from step 2."""
    steps = ("training.steps=5", "training.checkpoint_every=2", "validation.every=3")
    config = earlier(family, tmp_path, *steps, *overrides)
    whole = Recorder()
    train(config, tmp_path / "whole", whole)
    with pytest.raises(Killed):
        train(config, tmp_path / "parts", killed_at(Recorder, 4))
    screen = Recorder()
    result = train(config, tmp_path / "parts", screen, resume=True)
    assert screen.steps[0].step == 3
    assert_same_end(tmp_path / "parts" / "old", tmp_path / "whole" / "old")
    if family == "transformer":
        assert whole.validations[-1].loss < whole.steps[0].loss
    if family == "rnn":
        assert len(Translator.load(result.model).translate(["one two", ""])) == 2


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["training.average.kind=last", "training.average.last=2", "validation.every=2"],
        ["training.average.kind=none", "training.tokens_per_batch=100"],
        ["training.threads=2"],
        ["training.precision=bf16"],
        ["tokenizer.kind=unigram", "tokenizer.size=30", "tokenizer.sampling_alpha=0.3"],
        ["data.noise=true"],
    ],
    ids=["accumulated, ema", "last-k", "one micro-batch", "threads", "bf16", "resampled", "noise"],
)
def test_a_run_that_was_stopped_twice_ends_in_the_same_bits(tmp_path, make_config, overrides):
    config = make_config("training.steps=9", *overrides)
    train(config, tmp_path / "whole", Recorder())
    for step, resume in ((4, False), (7, True)):
        stopped = train(config, tmp_path / "parts", Recorder(stop_at(step)), resume=resume)
        assert (stopped.outcome.reason, stopped.outcome.signal) == ("interrupted", signal.SIGTERM)
        assert stopped.progress.step == step
    finished = train(config, tmp_path / "parts", Recorder(), resume=True)
    assert finished.outcome.reason == "finished"
    assert_same_end(tmp_path / "parts" / "tiny", tmp_path / "whole" / "tiny")
