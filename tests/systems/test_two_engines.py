"""One Translator on the native engine and on torch: who computes when, and that both agree."""

import multiprocessing
import pickle
import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import jumok
from jumok.attention.heard import Ear, listening_to
from jumok.decoding import DecodingOptions
from jumok.engine.structures import library
from jumok.errors import BundleError, ConfigError
from jumok.systems.device import has_gpu
from jumok.systems.translation.translator import Translator
from jumok.tracing.recording.record import record
from tests.systems.test_ordinary_module import recurrent, transformer
from tests.systems.untrained import write_masked

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
    assert several.computed_by["name"] == "torch"
    assert rnn.computed_by == {"name": "native", "precision": "fp32"}
    assert additive.computed_by == {"name": "torch", "precision": "fp32"}


def test_other_kinds_refuse_the_engine(tmp_path):
    with pytest.raises(ConfigError, match=r"does not run models of this kind.*\n.*int8"):
        jumok.load(write_masked(tmp_path / "gaps"), device="cpu", precision="int8")


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


def test_reading_states_and_scores_leaves_the_engine_in_charge(native, on_torch):
    assert native.fingerprint == on_torch.fingerprint
    vectors = native.sentence_vectors(TEXTS)  # on torch, without handing the model out
    torch.testing.assert_close(vectors, on_torch.sentence_vectors(TEXTS))
    assert native.computed_by["name"] == "native"


def test_who_has_the_model_gets_what_the_model_is_then(native, on_torch):
    before = native.translate(TEXTS, OPTIONS)
    model = native.models[0]
    assert native.computed_by["name"] == "torch"
    assert native.translate(TEXTS, OPTIONS) == on_torch.translate(TEXTS, OPTIONS)
    fired: list[nn.Module] = []
    inner = model.decoder.blocks[0].feedforward.outer
    handle = inner.register_forward_hook(lambda module, *_: fired.append(module))
    native.translate(TEXTS, OPTIONS)
    assert fired
    handle.remove()
    with torch.no_grad():
        inner.weight.mul_(-3)
    assert [one.score for one in native.translate(TEXTS, OPTIONS)] != pytest.approx(
        [one.score for one in before], abs=1e-3
    )
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_a_model_that_is_first_read_without_gradients_can_be_trained(native):
    with torch.inference_mode():
        parameters = list(native.models[0].parameters())
    assert not any(parameter.is_inference() for parameter in parameters)
    assert all(parameter.requires_grad for parameter in parameters)


def test_listeners_and_global_hooks_are_answered_by_torch(native):
    heard: list[int] = []
    with listening_to(native, {"given": Ear(heard.append)}):
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
