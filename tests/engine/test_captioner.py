"""Captions on the engine against torch: the same images, the same captions."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

import jumok
from jumok.cli.main import app
from jumok.decoding import DecodingOptions
from jumok.decoding.native import rules_of
from jumok.engine.structures import library
from jumok.errors import ConfigError
from jumok.systems.captioner import Captioner
from tests.systems.pictures import GIVEN, READER, STACK, write_captioner

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

RNN = {"kind": "rnn", "dim": 20, "embedding": 12}
KINDS = {
    "Transformer": {},
    "Transformer, one vector": {"memory": "one"},
    "Transformer, blocks over cells": {"reader": READER, "encoder": GIVEN},
    "RNN with a gate": {"decoder": RNN},
    "RNN, two layers": {"decoder": RNN | {"layers": 2, "cell": "lstm", "gate": False}},
    "RNN, cosine": {"decoder": RNN | {"attention": "cosine", "cell": "rnn"}, "encoder": GIVEN},
    "RNN, one vector": {"memory": "one", "decoder": RNN},
    "RNN, every step": {"memory": "one", "decoder": RNN | {"context": "every-step"}},
}
OPTIONS = {
    "greedy": DecodingOptions(beam=1),
    "beam": DecodingOptions(beam=4, length_penalty=0.6),
    "by the cells": DecodingOptions(beam=2, maximum_ratio=0.4, maximum_extra=2, minimum_length=2),
}


def inputs_of(system: Captioner, count: int = 5) -> list[torch.Tensor]:
    """What `Captioner.read` might return for images of noise."""
    draw = np.random.default_rng(4)
    if system.reads_features:
        shape = count, *system.reader.shape
        return list(torch.from_numpy(draw.normal(size=shape).astype(np.float32)))
    return list(torch.from_numpy(draw.integers(0, 255, (count, *system.reader.shape), np.uint8)))


@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_captions_are_those_of_torch(keys, tmp_path):
    folder = write_captioner(tmp_path / "model", **keys)
    by_torch, native = (Captioner.load(folder, engine=engine) for engine in ("torch", "native"))
    assert by_torch.engine is None
    assert native.engine is not None
    pictures = inputs_of(native)
    for options in OPTIONS.values():
        expected = by_torch.caption(pictures, options, looks=True)
        found = native.caption(pictures, options, looks=True)
        for ours, theirs in zip(found, expected, strict=True):
            assert (ours.text, ours.tokens) == (theirs.text, theirs.tokens)
            assert ours.score == pytest.approx(theirs.score, abs=1e-4)
            assert (ours.looks is None) == (theirs.looks is None)
            if ours.looks is not None and theirs.looks is not None:
                np.testing.assert_allclose(ours.looks.weights, theirs.looks.weights, atol=1e-5)
    assert len({each.score for each in found}) > 1
    assert native.computed_by == {"name": "native", "precision": "fp32"}
    assert native.engine is not None


@pytest.mark.parametrize("precision", ["bf16", "int8"])
@pytest.mark.parametrize("keys", [{}, {"decoder": RNN}], ids=["Transformer", "RNN"])
def test_a_caption_does_not_depend_on_what_shares_its_batch(keys, precision, tmp_path):
    folder = write_captioner(tmp_path / "model", **keys)
    system = Captioner.load(folder, engine="native", precision=precision)
    pictures, engine = inputs_of(system), system.engine
    assert engine is not None
    with torch.inference_mode():
        memories = list(system.model.encode(torch.stack(pictures)).states.numpy())
    rules = _rules(len(memories))
    together = engine.search(memories, rules)
    for memory, expected in zip(memories, together, strict=True):
        assert engine.search([memory], _rules(1)) == [expected]


def _rules(count: int):
    return rules_of(DecodingOptions(beam=3, maximum_length=11), [16] * count)


@pytest.mark.parametrize("keys", [{}, {"decoder": RNN}], ids=["Transformer", "RNN"])
def test_several_captions_and_samples_are_those_of_torch(keys, tmp_path, monkeypatch):
    folder = write_captioner(tmp_path / "model", **keys)
    by_torch, native = (Captioner.load(folder, engine=engine) for engine in ("torch", "native"))
    pictures = inputs_of(native)
    several = [
        DecodingOptions(beam=3, nbest=3),
        DecodingOptions(beam=1, sample=True, nbest=2, seed=3),
        DecodingOptions(beam=2, no_repeat_ngram=1),
        DecodingOptions(beam=1, frequency_penalty=1.0),
    ]
    wanted = [by_torch.caption(pictures, options) for options in several]
    monkeypatch.setattr("jumok.systems.captioner.decode", None)  # torch's
    for options, expected in zip(several, wanted, strict=True):
        for ours, theirs in zip(native.caption(pictures, options), expected, strict=True):
            one, other = (ours, *ours.alternatives), (theirs, *theirs.alternatives)
            assert [each.tokens for each in one] == [each.tokens for each in other]
            scores = [each.score for each in other]
            assert [each.score for each in one] == pytest.approx(scores, abs=1e-4)


def test_changed_models_and_further_positions_are_left_to_torch(tmp_path):
    folder = write_captioner(tmp_path / "model")
    by_torch, native = (Captioner.load(folder, engine=engine) for engine in ("torch", "native"))
    pictures = inputs_of(native)
    with torch.no_grad():  # a changed model is the one on torch
        for system in (by_torch, native):
            system.model.decoder.embedding.table.mul_(-1)
    assert native.computed_by == {"name": "torch", "precision": "fp32"}
    assert native.caption(pictures) == by_torch.caption(pictures)


def test_what_the_engine_does_not_have_is_refused(tmp_path):
    folder = write_captioner(tmp_path / "model", decoder=STACK | {"score": "additive"})
    with pytest.raises(ConfigError, match="got:      score = 'additive'"):
        Captioner.load(folder, engine="native")
    assert jumok.load(folder, kind=Captioner).engine is None


def test_the_command_captions_on_either(tmp_path: Path):
    folder = write_captioner(tmp_path / "model", decoder=RNN)
    files = [str(tmp_path / f"{number}.png") for number in range(3)]
    for number, file in enumerate(files):
        pixels = np.random.default_rng(number).integers(0, 255, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(file)
    lines = {}
    for engine, precision in [("torch", "fp32"), ("native", "fp32"), ("native", "int8")]:
        how = "--engine", engine, "--precision", precision, "--json"
        done = CliRunner().invoke(app, ["caption", str(folder), *files, *how])
        assert done.exit_code == 0, done.output
        lines[engine, precision] = [json.loads(line)["text"] for line in done.stdout.splitlines()]
    assert lines["native", "fp32"] == lines["torch", "fp32"]
    assert len(lines["native", "int8"]) == len(files)
    refused = CliRunner().invoke(
        app, ["caption", str(folder), *files, "--engine", "torch", "--precision", "int8"]
    )
    assert "int8 needs the native engine." in str(refused.exception)
