"""One language model on the native engine and on torch: who computes when, and that both agree."""

import json
import multiprocessing
import pickle
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import jumok
from jumok.attention.events import Listener, listening_to
from jumok.bundle.arrays import read_arrays
from jumok.bundle.quantising import write_quantised
from jumok.bundle.reading import read_bundle
from jumok.config.causal import CausalConfig
from jumok.data.tokenizer import END, START
from jumok.decoding import DecodingOptions, decode
from jumok.decoding.options import FOR_CONTINUATION
from jumok.decoding.window import Window
from jumok.engine.language import NativeCausal
from jumok.engine.structures import library
from jumok.errors import BundleError, ConfigError
from jumok.systems.language_model import LanguageModel
from jumok.systems.text_writer import beam_searched
from jumok.tracing.record import record
from tests.bundle.conftest import sign
from tests.systems.lm import CONTEXT, write_lm

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

TEXTS = ["a", "나는 학생이다.", "To be, or not to be\n"]
SEEDED = replace(FOR_CONTINUATION, seed=1)
WAYS = {
    "greedy": DecodingOptions(beam=1),
    "greedy, penalties": DecodingOptions(beam=1, frequency_penalty=0.7, presence_penalty=-0.1),
    "no repeat": DecodingOptions(beam=1, no_repeat_ngram=2),
    "sampled": SEEDED,
    "min-p": replace(SEEDED, min_p=0.2, temperature=1.4),
    "all": replace(
        SEEDED, temperature=0.8, top_k=60, top_p=0.95, min_p=0.01, no_repeat_ngram=3,
        frequency_penalty=0.4, presence_penalty=0.3, seed=2**40 + 3,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_lm(tmp_path_factory.mktemp("lm") / "letters")


@pytest.fixture
def native(folder) -> LanguageModel:
    return jumok.load(folder, kind=LanguageModel, engine="native")


@pytest.fixture
def on_torch(folder) -> LanguageModel:
    return jumok.load(folder, kind=LanguageModel, engine="torch", device="cpu")


def written(system: LanguageModel, options: DecodingOptions = SEEDED) -> list[int]:
    """Forty bytes in a context of eight: the window moves many times."""
    return list(system.generate_tokens("ROM", options, max_tokens=40))


def unread(system: LanguageModel) -> bool:
    """Whether the model on torch is not there."""
    return "_model" not in system.__dict__


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_both_write_the_same_tokens_with_the_same_log_probabilities(native, on_torch, options):
    seen: list[list[np.ndarray]] = [[], []]
    tokens = [
        list(system.generate_tokens("ROM", options, max_tokens=40, watch=values.append))
        for system, values in zip((native, on_torch), seen, strict=True)
    ]
    assert tokens[0] == tokens[1] == written(native, options) == written(on_torch, options)
    assert len(tokens[0]) == len(seen[0]) == len(seen[1]) > 20
    for ours, theirs in zip(*seen, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
    assert native.computed_by == {"name": "native", "precision": "fp32"}
    assert on_torch.computed_by == {"name": "torch", "precision": "fp32"}
    assert unread(native)


def test_the_engine_scores_texts_as_torch_does(native, on_torch):
    for ours, theirs in zip(native.score(TEXTS), on_torch.score(TEXTS), strict=True):
        assert ours.tokens == theirs.tokens
        assert ours.token_log_probabilities == pytest.approx(
            theirs.token_log_probabilities, abs=1e-4
        )
    assert unread(native)


def test_what_is_written_at_the_same_time_changes_nothing(native):
    def stream(seed: int) -> Any:
        return native.generate("ROM", replace(FOR_CONTINUATION, seed=seed), max_tokens=30)

    whole = ["".join(stream(seed)) for seed in (1, 2)]
    streams, texts = [stream(1), stream(2)], ["", ""]
    for _ in range(40):
        for number, each in enumerate(streams):
            texts[number] += next(each, "")
    assert texts == whole
    assert texts[0] != texts[1]


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_torch_is_not_imported(folder, tmp_path, precision):
    """Texts, their log-probabilities, scores and the fingerprint, in a process without torch."""
    (tmp_path / "torch.py").write_text("raise ImportError('there is no torch here')\n")
    code = (
        "import json, sys, jumok\n"
        "from jumok.decoding import DecodingOptions\n"
        "model = jumok.load(sys.argv[1], precision=sys.argv[2])\n"
        "options = DecodingOptions(beam=1, sample=True, top_p=0.9, frequency_penalty=1.0, seed=1)\n"
        "seen = []\n"
        "tokens = list(model.generate_tokens('ROM', options, max_tokens=20, watch=seen.append))\n"
        "text = ''.join(model.generate('ROM', options, max_tokens=20))\n"
        "(score,) = model.score(['To be, or not'])\n"
        "print(json.dumps([tokens, text, score.loss, model.fingerprint, model.computed_by,\n"
        "    len(seen), sorted({'torch', 'jaxtyping'} & set(sys.modules))]))\n"
    )
    path = f"{tmp_path}:{Path(jumok.__file__).parents[1]}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), precision],
        capture_output=True, text=True, check=False, env={"PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tokens, text, loss, fingerprint, computed_by, seen, imported = json.loads(done.stdout)
    assert imported == []
    assert computed_by == {"name": "native", "precision": precision}
    assert seen == len(tokens) > 5
    here = jumok.load(folder, kind=LanguageModel, precision=precision)
    options = DecodingOptions(beam=1, sample=True, top_p=0.9, frequency_penalty=1.0, seed=1)
    assert text == "".join(here.generate("ROM", options, max_tokens=20))
    assert loss == pytest.approx(here.score(["To be, or not"])[0].loss)
    assert fingerprint == here.fingerprint


def test_the_weights_are_read_once(folder, monkeypatch):
    opened: list[Path] = []
    read_bytes = Path.read_bytes

    def counting(path: Path) -> bytes:
        opened.append(path)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", counting)
    system = LanguageModel.load(folder, engine="native")
    system.score(TEXTS)
    assert written(system)
    assert [path.name for path in opened].count("model.safetensors") == 1
    assert unread(system)


def test_an_int8_bundle_writes_what_its_floats_do_in_int8(folder, tmp_path):
    bundle = read_bundle(folder)
    quantised = read_bundle(write_quantised(tmp_path / "int8", bundle, "int8", bundle.card))
    system = LanguageModel.load(quantised, engine="auto")
    assert system.computed_by == {"name": "native", "precision": "int8"}
    config = quantised.section
    assert isinstance(config, CausalConfig)
    floats = NativeCausal(config, read_arrays(quantised), CONTEXT, "int8")
    ids = [[START, *system.tokenizer.encode(text), END][: CONTEXT + 1] for text in TEXTS]
    assert system.engine is not None
    for ours, theirs in zip(system.engine.score(ids), floats.score(ids), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("prompt", ["", "a", "ROMEO: what is"])
@pytest.mark.parametrize("repeat", [0, 3])
def test_beams_are_those_of_torch(native, on_torch, prompt, repeat):
    """Over several windows: the context has eight tokens."""
    for beam, most in ((2, 40), (3, 6), (5, 25)):
        options = DecodingOptions(
            beam=beam, no_repeat_ngram=repeat, patience=None, forbidden=(0, 1, 2)
        )
        found, expected = (
            list(each.generate_tokens(prompt, options, max_tokens=most))
            for each in (native, on_torch)
        )
        assert found == expected
    assert unread(native)


def test_the_log_probabilities_of_beams_are_those_of_torch(native, on_torch):
    prompt = native.tokenizer.encode("ROM")
    options = DecodingOptions(
        beam=4, nbest=4, maximum_length=len(prompt) + 30, minimum_length=20, forbidden=(0, 1, 2)
    )
    window = Window(on_torch.model.decoder, on_torch.context)
    (expected,) = decode(window, on_torch.model.nothing(), options, [prompt])
    assert native.engine is not None
    found = beam_searched(native.engine, prompt, options)
    assert [each.tokens for each in found] == [each.tokens for each in expected]
    for ours, theirs in zip(found, expected, strict=True):
        values = ours.token_log_probabilities, theirs.token_log_probabilities
        np.testing.assert_allclose(*values, atol=1e-4)


def test_a_coverage_penalty_of_a_beam_is_refused_as_on_torch(native, on_torch):
    for system in (native, on_torch):
        with pytest.raises(ConfigError, match="needs the model's attention weights"):
            list(system.generate_tokens("a", DecodingOptions(beam=2, coverage_penalty=1.0)))


def test_listeners_and_global_hooks_are_answered_by_torch(native):
    heard: list[int] = []
    with listening_to(native, {"given": Listener(heard.append)}):
        assert native.computed_by == {"name": "torch", "precision": "fp32"}
        native.score(TEXTS)
    assert heard == [len(TEXTS)]
    assert native.computed_by["name"] == "native"
    seen: list[nn.Module] = []
    handle = nn.modules.module.register_module_forward_hook(lambda module, *_: seen.append(module))
    try:
        assert written(native)
    finally:
        handle.remove()
    assert seen
    assert native.computed_by["name"] == "native"


def test_recordings_are_of_torch_and_whole(native, on_torch):
    found = []
    for system in (native, on_torch):
        with record(system, "qk") as recording:
            assert system.engine is None
            list(system.generate("ab", SEEDED, max_tokens=4))
        found.append([[site.weights for site in trace.sites] for trace in recording.traces])
    assert found[0]
    for ours, theirs in zip(*found, strict=True):
        for mine, yours in zip(ours, theirs, strict=True):
            assert (mine == yours).all()


def test_changes_are_made_on_torch(native, on_torch):
    for system in (native, on_torch):
        with jumok.changed(system, ["decoder 1.1"]):
            assert system.engine is None
            changed = system.score(TEXTS)
        assert changed != system.score(TEXTS)


def test_who_has_the_model_gets_what_the_model_is_then(native, on_torch):
    before = native.score(TEXTS)
    model = native.model
    assert native.computed_by["name"] == "native"
    assert native.score(TEXTS) == before
    fired: list[nn.Module] = []
    inner = model.decoder.blocks[0].feedforward.outer
    handle = inner.register_forward_hook(lambda module, *_: fired.append(module))
    assert written(native) == written(on_torch)
    assert fired
    handle.remove()
    with torch.no_grad():
        inner.weight.mul_(-3)
    assert [one.loss for one in native.score(TEXTS)] != pytest.approx(
        [one.loss for one in before], abs=1e-3
    )
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_a_model_that_is_first_read_without_gradients_can_be_trained(native):
    with torch.inference_mode():
        parameters = list(native.model.parameters())
    assert not any(parameter.is_inference() for parameter in parameters)
    assert all(parameter.requires_grad for parameter in parameters)


def test_the_fingerprint_is_the_models_on_either(native, on_torch):
    assert native.fingerprint == on_torch.fingerprint
    assert unread(native)
    with torch.no_grad():
        native.model.decoder.embedding.table.add_(1)
    assert native.fingerprint != on_torch.fingerprint


def test_a_bundle_that_changed_is_not_mixed_with_the_engines(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "model")
    system = LanguageModel.load(copy, engine="native")
    weights = {name: each + 1 for name, each in load_file(copy / "model.safetensors").items()}
    save_file(weights, copy / "model.safetensors")
    assert written(system), "it has all that it needs"
    with pytest.raises(BundleError, match="changed after loading"):
        _ = system.model


def test_damaged_weights_are_refused_as_on_torch(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "model")
    weights = load_file(copy / "model.safetensors")
    weights.pop("decoder.blocks.0.feedforward.inner.weight")
    save_file(weights, copy / "model.safetensors")
    sign(copy)
    for engine in ("native", "torch"):
        with pytest.raises(BundleError, match=r"no tensor for decoder\.blocks\.0"):
            LanguageModel.load(copy, engine=engine)


def test_what_the_engine_cannot_do_is_refused(folder):
    with pytest.raises(ConfigError, match="int8 needs the native engine"):
        LanguageModel.load(folder, engine="torch", precision="int8")
    with pytest.raises(ConfigError, match="runs on the CPU"):
        LanguageModel.load(folder, engine="native", device="cuda")


def computed(system: LanguageModel, send: Any) -> None:
    """In another process."""
    send.send((written(system), system.computed_by))


def test_a_system_is_pickled_by_its_folder(native):
    pickled = pickle.dumps(native)
    assert len(pickled) < 1000
    assert written(pickle.loads(pickled)) == written(native)
    spawn = multiprocessing.get_context("spawn")
    receive, send = spawn.Pipe(duplex=False)
    worker = spawn.Process(target=computed, args=(native, send))
    worker.start()
    found, computed_by = receive.recv()
    worker.join()
    assert found == written(native)
    assert computed_by["name"] == "native"
    assert unread(native)


def test_a_changed_system_is_pickled_with_its_weights(native):
    with torch.no_grad():
        native.model.decoder.blocks[0].feedforward.outer.weight.mul_(-3)
    copy = pickle.loads(pickle.dumps(native))
    assert written(copy) == written(native)
    assert copy.computed_by["name"] == "torch"


def test_threads_share_the_engine_and_get_what_one_would(native):
    expected = written(native), native.score(TEXTS)
    started = threading.Barrier(4)

    def use(_: int) -> list[Any]:
        started.wait()
        return [(written(native), native.score(TEXTS)) for _ in range(5)]

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(use, range(4)):
            assert found == [expected] * 5
