"""One Translator on the native engine and on torch: who computes when, and that both agree."""

import multiprocessing
import pickle
import shutil
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import jumok
from jumok.attention.events import Listener, listening_to
from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model
from jumok.decoding import DecodingOptions
from jumok.engine.structures import library
from jumok.errors import BundleError, ConfigError
from jumok.systems.device import has_gpu
from jumok.systems.loading import load_tokenizer
from jumok.systems.translation.translator import Translator
from jumok.tracing.record import record
from tests.systems.test_ordinary_module import recurrent, transformer
from tests.systems.untrained import write_masked, write_text_classifier

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

TEXTS = ["the cat sat", "the dog barked and the cat sat", "a student", "the mat"]
OPTIONS = DecodingOptions(beam=3, maximum_length=9)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return transformer(tmp_path_factory.mktemp("engines") / "model")


@pytest.fixture
def native(folder) -> Translator:
    return jumok.load(folder, kind=Translator, engine="native")


@pytest.fixture
def on_torch(folder) -> Translator:
    return jumok.load(folder, kind=Translator, engine="torch", device="cpu")


def test_auto_is_the_engine_where_it_serves_the_model(folder, tmp_path):
    assert jumok.load(folder, device="cpu").computed_by == {"name": "native", "precision": "fp32"}
    assert jumok.load(folder, device="cpu", precision="bf16").computed_by["precision"] == "bf16"
    several = jumok.load(folder, folder, device="cpu")
    rnn = jumok.load(recurrent(tmp_path / "rnn", attention="dot"), device="cpu")
    additive = jumok.load(transformer(tmp_path / "additive", score="additive"), device="cpu")
    assert several.computed_by["name"] == "native"
    assert rnn.computed_by == {"name": "native", "precision": "fp32"}
    assert additive.computed_by == {"name": "torch", "precision": "fp32"}


def test_other_kinds_refuse_the_engine(tmp_path):
    with pytest.raises(ConfigError, match=r"does not run models of this kind.*\n.*int8"):
        jumok.load(write_text_classifier(tmp_path / "labels"), device="cpu", precision="int8")


@pytest.mark.parametrize("write", [transformer, write_masked])
def test_vectors_are_those_of_torch_as_long_as_the_model_is(tmp_path, write):
    folder, texts = write(tmp_path / "model"), [*TEXTS, "", "the cat"]
    native, on_torch = (
        jumok.load(folder, engine=engine, device="cpu", threads=2) for engine in ("native", "torch")
    )
    assert native.computed_by["name"] == "native"
    expected = on_torch.sentence_vectors(texts)
    found = native.sentence_vectors(texts, batch_size=2)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert not torch.equal(found, expected)  # otherwise torch computed both
    (words, vectors), (_, others) = (one.word_vectors(TEXTS[1]) for one in (native, on_torch))
    assert words == tuple(TEXTS[1].split())
    torch.testing.assert_close(vectors, others, atol=1e-5, rtol=0)
    with torch.no_grad():
        next(native.modules()[0].parameters()).zero_()
    assert not torch.allclose(native.sentence_vectors(texts), expected, atol=1e-2)


def test_a_gpu_is_looked_for_without_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr("jumok.systems.device.DRIVERS", ("/nowhere",))
    assert not has_gpu()
    assert "torch" not in sys.modules


def test_scores_alignments_and_attention_are_those_of_torch(native, on_torch):
    found, expected = (one.translate(TEXTS, OPTIONS) for one in (native, on_torch))
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.text, ours.tokens, ours.alignment) == (
            theirs.text, theirs.tokens, theirs.alignment
        )  # fmt: skip
        assert ours.score == pytest.approx(theirs.score, abs=1e-5)
        assert ours.confidence == pytest.approx(theirs.confidence, abs=1e-5)
    targets = ["sat", "고양이가", "", "나는 학생입니다."]
    given, wanted = (one.score(TEXTS, targets) for one in (native, on_torch))
    for ours, theirs in zip(given, wanted, strict=True):
        assert ours.tokens == theirs.tokens
        values = ours.token_log_probabilities, theirs.token_log_probabilities
        assert values[0] == pytest.approx(values[1], abs=1e-5)
    seen, looked = (one.attention(TEXTS[1], "나는 학생입니다.") for one in (native, on_torch))
    torch.testing.assert_close(seen.weights, looked.weights, atol=1e-5, rtol=0)
    assert native.computed_by["name"] == "native", "nothing has needed torch"


@pytest.mark.parametrize("second", [recurrent, transformer])
def test_an_ensemble_is_that_of_torch(folder, tmp_path, second):
    """Texts, scores, alignments and attention, from beams, samples and constraints."""
    other = (
        second(tmp_path / "other", norm="pre")
        if second is transformer
        else second(tmp_path / "other", attention="dot")
    )
    native, on_torch = (
        jumok.load(folder, other, kind=Translator, engine=engine, device="cpu")
        for engine in ("native", "torch")
    )
    assert native.computed_by == {"name": "native", "precision": "fp32"}
    ways = {
        "beam": OPTIONS,
        "coverage": replace(OPTIONS, nbest=2, coverage_penalty=0.3),
        "samples": DecodingOptions(sample=True, nbest=2, seed=5, maximum_length=9),
    }
    for options in ways.values():
        found, expected = (one.translate(TEXTS, options) for one in (native, on_torch))
        for ours, theirs in zip(found, expected, strict=True):
            assert (ours.text, ours.tokens, ours.alignment) == (
                theirs.text, theirs.tokens, theirs.alignment
            )  # fmt: skip
            assert ours.score == pytest.approx(theirs.score, abs=1e-5)
    terms = {"cat": "고양이", TEXTS[1]: "학생"}
    found, expected = (one.translate(TEXTS, OPTIONS, glossary=terms) for one in (native, on_torch))
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.text, ours.missing_terms) == (theirs.text, theirs.missing_terms)
    assert found[1].text == "학생"
    given, wanted = (one.score(TEXTS, ["sat", "", "나는", "the"]) for one in (native, on_torch))
    for ours, theirs in zip(given, wanted, strict=True):
        assert ours.score == pytest.approx(theirs.score, abs=1e-5)
    seen, looked = (one.attention(TEXTS[1], "나는 학생입니다.") for one in (native, on_torch))
    torch.testing.assert_close(seen.weights, looked.weights, atol=1e-5, rtol=0)
    assert native.computed_by["name"] == "native", "nothing has needed torch"


def test_reading_states_and_scores_leaves_the_engine_in_charge(native, on_torch):
    assert native.fingerprint == on_torch.fingerprint
    vectors = native.sentence_vectors(TEXTS)  # on torch, without handing the model out
    torch.testing.assert_close(vectors, on_torch.sentence_vectors(TEXTS))
    assert native.computed_by["name"] == "native"


def test_reading_the_models_leaves_the_engine_in_charge(native, on_torch):
    """Also torch's own work on them: tracing, recording, reading states."""
    native.models[0].encode(torch.tensor([[5, 6, 3]]))
    assert len(native.aligner.models) == len(native.modules()) == 1
    jumok.trace(native, TEXTS[0])
    with record(native) as recording:
        native.translate(TEXTS[:1], OPTIONS)
        assert native.models[0] is native.modules()[0]
    assert recording.traces
    assert native.computed_by["name"] == "native"
    assert native.fingerprint == on_torch.fingerprint
    assert len(pickle.dumps(native)) < 1000


@contextmanager
def hooked(model: nn.Module) -> Iterator[None]:
    handle = model.decoder.blocks[0].feedforward.register_forward_hook(lambda *call: 3 * call[-1])
    yield
    handle.remove()


@contextmanager
def patched(model: nn.Module) -> Iterator[None]:
    model.decoder.blocks[0].feedforward.forward = torch.zeros_like
    yield
    del model.decoder.blocks[0].feedforward.forward


@contextmanager
def replaced(model: nn.Module) -> Iterator[None]:
    block = model.decoder.blocks[0]
    kept, block.feedforward = block.feedforward, nn.Identity()
    yield
    block.feedforward = kept


@contextmanager
def gated(model: nn.Module) -> Iterator[None]:
    attention = model.decoder.blocks[0].cross_attention
    attention.gate = torch.zeros(attention.heads)
    yield
    del attention.__dict__["_gate"]


@contextmanager
def edited(model: nn.Module) -> Iterator[None]:
    """Behind torch's back: it counts no writes through numpy."""
    numbers = model.decoder.blocks[0].feedforward.outer.weight.detach().numpy()
    numbers *= -4
    yield
    numbers /= -4


@contextmanager
def without_positions(model: nn.Module) -> Iterator[None]:
    """A buffer, which no bundle has."""
    table = next(model.buffers())
    kept = table.clone()
    table.zero_()
    yield
    table.copy_(kept)


@contextmanager
def swapped(model: nn.Module) -> Iterator[None]:
    """Two matrices, which are the same set of numbers as before."""
    attention = model.decoder.blocks[0].self_attention
    one, other = attention.query.weight.data, attention.key.weight.data
    attention.query.weight.data, attention.key.weight.data = other, one.clone()
    yield
    attention.query.weight.data, attention.key.weight.data = one, other


@pytest.mark.parametrize(
    "change", [hooked, patched, replaced, gated, edited, without_positions, swapped]
)
def test_torch_computes_what_was_changed_as_long_as_it_is(native, on_torch, change):
    before = native.translate(TEXTS, OPTIONS)
    with change(native.models[0]), change(on_torch.models[0]):
        assert native.computed_by["name"] == "torch"
        found = native.translate(TEXTS, OPTIONS)
        assert found == on_torch.translate(TEXTS, OPTIONS)
    assert [one.score for one in found] != pytest.approx([one.score for one in before], abs=1e-3)
    assert native.computed_by["name"] == "native"
    assert native.translate(TEXTS, OPTIONS) == before


def test_a_model_that_learns_is_computed_by_torch(native):
    before = native.translate(TEXTS, OPTIONS)
    model = native.models[0].train()
    assert native.computed_by["name"] == "torch"
    with torch.no_grad():
        for parameter in model.eval().parameters():
            parameter.mul_(-2)
    assert [one.score for one in native.translate(TEXTS, OPTIONS)] != pytest.approx(
        [one.score for one in before], abs=1e-3
    )
    assert all(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_model_in_memory_is_searched_by_the_engine_until_somebody_has_it(folder, dtype):
    bundle = read_bundle(folder)
    made, on_torch = (
        Translator([load_model(bundle, "cpu")], load_tokenizer(bundle), max_tokens=61)
        for _ in range(2)
    )
    assert made.search_natively([bundle.section], dtype)
    precision = "fp32" if dtype is torch.float32 else "bf16"
    assert made.computed_by == {"name": "native", "precision": precision}
    found, expected = (each.translate(TEXTS, OPTIONS) for each in (made, on_torch))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.score == pytest.approx(theirs.score, abs=1e-5 if precision == "fp32" else 0.1)
        assert precision == "bf16" or ours.tokens == theirs.tokens
    next(made.models[0].parameters()).data.mul_(2)
    assert made.computed_by == {"name": "torch", "precision": "fp32"}
    assert pickle.loads(pickle.dumps(made)).computed_by == made.computed_by


def test_a_model_in_memory_that_the_engine_does_not_serve_stays_on_torch(tmp_path):
    bundle = read_bundle(transformer(tmp_path / "additive", score="additive"))
    made = Translator([load_model(bundle, "cpu")], load_tokenizer(bundle), max_tokens=61)
    assert not made.search_natively([bundle.section], torch.float32)
    assert made.computed_by["name"] == "torch"


def test_a_model_that_is_first_read_without_gradients_can_be_trained(native):
    with torch.inference_mode():
        parameters = list(native.models[0].parameters())
    assert not any(parameter.is_inference() for parameter in parameters)
    assert all(parameter.requires_grad for parameter in parameters)


def test_listeners_and_global_hooks_are_answered_by_torch(native):
    heard: list[int] = []
    with listening_to(native, {"given": Listener(heard.append)}):
        assert native.computed_by["name"] == "torch"
        native.translate(TEXTS, OPTIONS)
    assert heard == [len(TEXTS)]
    assert native.computed_by["name"] == "native"
    seen: list[nn.Module] = []
    handle = nn.modules.module.register_module_forward_hook(lambda module, *_: seen.append(module))
    try:
        native.translate(TEXTS, OPTIONS)
    finally:
        handle.remove()
    assert seen
    assert native.computed_by["name"] == "native"


def test_recordings_are_of_torch_and_whole(native, on_torch):
    found = []
    for system in (native, on_torch):
        with record(system, "qk") as recording:
            system.translate(TEXTS, OPTIONS)
        found.append([[site.weights for site in trace.sites] for trace in recording.traces])
    for ours, theirs in zip(*found, strict=True):
        for mine, yours in zip(ours, theirs, strict=True):
            assert (mine == yours).all()


def test_a_bundle_that_changed_is_not_mixed_with_the_engines(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "model")
    system = jumok.load(copy, kind=Translator, engine="native")
    weights = {name: each + 1 for name, each in load_file(copy / "model.safetensors").items()}
    save_file(weights, copy / "model.safetensors")
    assert system.translate(TEXTS, OPTIONS), "it has all that it needs"
    with pytest.raises(BundleError, match="changed after loading"):
        _ = system.models


def facts(found: list[Any]) -> list[Any]:
    return [(one.text, one.score, one.token_log_probabilities, one.alignment) for one in found]


def translated(system: Translator, send: Any) -> None:
    """In another process."""
    send.send((facts(system.translate(TEXTS, OPTIONS)), system.computed_by, "torch" in sys.modules))


def test_a_system_is_pickled_by_its_folder(native, folder):
    pickled = pickle.dumps(native)
    assert len(pickled) < 1000
    copy = pickle.loads(pickled)
    assert facts(copy.translate(TEXTS, OPTIONS)) == facts(native.translate(TEXTS, OPTIONS))
    spawn = multiprocessing.get_context("spawn")
    receive, send = spawn.Pipe(duplex=False)
    worker = spawn.Process(target=translated, args=(native, send))
    worker.start()
    found, engine, _ = receive.recv()
    worker.join()
    assert found == facts(native.translate(TEXTS, OPTIONS))
    assert engine["name"] == "native"


def test_a_changed_system_is_pickled_with_its_weights(native):
    with torch.no_grad():
        native.models[0].decoder.blocks[0].feedforward.outer.weight.mul_(-3)
    copy = pickle.loads(pickle.dumps(native))
    assert facts(copy.translate(TEXTS, OPTIONS)) == facts(native.translate(TEXTS, OPTIONS))


def test_a_pickle_of_a_folder_that_is_gone_says_so(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "model")
    pickled = pickle.dumps(jumok.load(copy, engine="native"))
    shutil.rmtree(copy)
    with pytest.raises(BundleError, match="there is no such bundle"):
        pickle.loads(pickled)


def test_threads_share_the_engine_and_get_what_one_would(native):
    expected = facts(native.translate(TEXTS, OPTIONS))
    started = threading.Barrier(4)

    def use(_: int) -> list[Any]:
        started.wait()
        return [facts(native.translate(TEXTS, OPTIONS)) for _ in range(25)]

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(use, range(4)):
            assert found == [expected] * 25


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_batches_in_threads_are_bitwise_those_of_one(folder, threads):
    system = jumok.load(folder, kind=Translator, engine="native", threads=threads)
    texts = [f"{text} {number}" for number in range(10) for text in TEXTS]
    alone = jumok.load(folder, kind=Translator, engine="native", threads=1)
    found = system.translate(texts, OPTIONS, batch_size=7)
    assert facts(found) == facts(alone.translate(texts, OPTIONS, batch_size=7))
    assert system.left == alone.left
