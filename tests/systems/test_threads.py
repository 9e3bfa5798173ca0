"""A system is used by many threads at once, and each gets what it would get alone."""

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest

import jumok
from jumok.attention.observe import observe
from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.writing import write_bundle
from jumok.config import TransformerConfig
from jumok.data.tokenizer import Tokenizer
from jumok.decoding import DecodingOptions
from jumok.inspection.hooks.intervene import switched_off
from jumok.layers.block import Block
from jumok.models.catalog import DataSizes, build
from jumok.tracing.record import record
from tests.conftest import TINY_TEXT
from tests.parity.torch_weights import roughen
from tests.systems.lm import write_lm
from tests.systems.pictures import write_captioner, write_pictures
from tests.systems.untrained import write_classifier, write_masked, write_text_classifier

THREADS, DIFFERENT = 8, 84
TEXTS = ["the cat sat", "the dog barked and the cat sat", "a student", "the mat"]
SHORT = DecodingOptions(beam=1, maximum_length=5)


@pytest.fixture(autouse=True)
def types_are_not_executed():
    """Many calls, whose types the tests of each system execute."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="module")
def translator(tmp_path_factory) -> Any:
    tokenizer = Tokenizer.train(TINY_TEXT, "bpe", 350)
    config = TransformerConfig(dim=48, heads=3, encoder_layers=1, decoder_layers=2, feedforward=32)
    model = roughen(build(config, DataSizes(vocabulary=tokenizer.size)))
    told = BundleConfig("translation", config.model_dump(), tokenizer.size, max_tokens=61)
    folder = tmp_path_factory.mktemp("threads") / "model"
    weights = model.state_dict()
    return jumok.load(write_bundle(folder, weights, told, tokenizer, Card("tiny")), device="cpu")


@pytest.fixture(scope="module")
def others(tmp_path_factory) -> dict[str, Any]:
    folder: Path = tmp_path_factory.mktemp("others")
    makers: dict[str, Callable[[Path], Path]] = {
        "captioner": write_captioner,
        "lm": write_lm,
        "masked": write_masked,
        "texts": write_text_classifier,
        "pictures": write_classifier,
    }
    return {name: jumok.load(make(folder / name), device="cpu") for name, make in makers.items()}


def facts(found: list[Any]) -> list[Any]:
    return [
        (one.text, one.score, one.tokens, one.token_log_probabilities, one.alignment)
        for one in found
    ]


def site_facts(trace: jumok.Trace) -> list[Any]:
    return [(site.name, site.weights.tobytes()) for site in trace.sites]


def recorded(system: Any, texts: list[str]) -> Any:
    with record(system, "qk") as recording:
        system.translate(texts, SHORT)
    return [(one.index, one.text, *site_facts(one)) for one in recording.traces]


def jobs_of(system: Any, number: int) -> Callable[[], Any]:
    """One of many calls: texts and options are mixed."""
    texts = TEXTS[number % 3 : number % 3 + 1 + number % 2]
    kinds: list[Callable[[], Any]] = [
        lambda: facts(system.translate(texts, SHORT)),
        lambda: facts(system.translate(texts, SHORT, beam=2, alignments=False)),
        lambda: facts(
            system.translate(texts, DecodingOptions(beam=2, maximum_length=5, coverage_penalty=0.4))
        ),
        lambda: facts(
            system.translate(
                texts, DecodingOptions(beam=1, sample=True, seed=number, maximum_length=5)
            )
        ),
        lambda: facts(system.score(texts, texts)),
        system.attention(texts[0], "고양이가").weights.tolist,
        lambda: system.sentence_vectors(texts).tolist(),
    ]
    if number % 50 == 11:
        return lambda: site_facts(jumok.trace(system, texts[0]))
    if number % 50 == 27:
        return lambda: recorded(system, texts)
    return kinds[number % len(kinds)]


def _call(job: Callable[[], Any]) -> Any:
    return job()


def at_once(jobs: list[Callable[[], Any]]) -> list[Any]:
    """What the jobs give when eight threads do them; all begin together."""
    begin = threading.Barrier(THREADS)
    with ThreadPoolExecutor(THREADS, initializer=begin.wait) as pool:
        return list(pool.map(_call, jobs))


@pytest.mark.parametrize("calls", [252, pytest.param(1000, marks=pytest.mark.nightly)])
def test_calls_from_eight_threads_are_those_of_one(translator, calls):
    assert translator.models, "handed out: the weights are looked through at every call"
    jobs = [jobs_of(translator, number) for number in range(DIFFERENT)]
    expected = [job() for job in jobs]
    found = at_once([jobs[number % DIFFERENT] for number in range(calls)])
    for number, one in enumerate(found):
        assert one == expected[number % DIFFERENT], number


def test_every_verb_of_every_system_from_eight_threads(others, tmp_path):
    files = write_pictures(tmp_path, 2)
    options = DecodingOptions(beam=2, maximum_length=5)
    lm, masked = others["lm"], others["masked"]
    kinds: list[Callable[[], Any]] = [
        lambda: [one.text for one in others["captioner"].caption(files, options)],
        lambda: [one.looks for one in others["captioner"].caption(files, beam=1)],
        others["captioner"].look(files[:1], ["the cat"])[0].weights.tolist,
        lambda: "".join(lm.generate("the", DecodingOptions(sample=True, seed=3), max_tokens=4)),
        lambda: [one.token_log_probabilities for one in lm.score(["the cat", "a dog"])],
        lambda: masked.fill(["the ___ sat", "a ___"], top=3),
        lambda: masked.sentence_vectors(TEXTS).tolist(),
        lambda: others["texts"].classify(TEXTS),
        lambda: others["pictures"].classify(files),
        lambda: site_facts(jumok.trace(others["texts"], TEXTS[0])),
    ]
    jobs = [kinds[number % len(kinds)] for number in range(80)]
    expected = [kind() for kind in kinds]
    for number, one in enumerate(at_once(jobs)):
        assert repr(one) == repr(expected[number % len(kinds)])


def test_who_watches_or_changes_a_model_does_it_for_its_own_thread(translator, monkeypatch):
    """Another thread neither sees it nor leaves its fast path."""
    model = translator.models[0]
    alone = facts(translator.translate(TEXTS, SHORT))
    parts: list[int] = []
    forward = Block.forward

    def counted(*given, **named):
        parts.append(threading.get_ident())
        return forward(*given, **named)

    monkeypatch.setattr(Block, "forward", counted)
    seen: list[int] = []
    heads = {"decoder.blocks.0.cross_attention": [0, 1, 2]}
    with (
        ThreadPoolExecutor(1) as pool,
        observe(model, lambda *_: seen.append(threading.get_ident())),
        record(translator, "full") as recording,
        switched_off(model, heads, {"decoder.blocks.0.cross_attention": 3}),
    ):
        theirs = pool.submit(lambda: facts(translator.translate(TEXTS, SHORT))).result()
        assert seen == parts == []
        mine = facts(translator.translate(TEXTS[:1], SHORT))
    assert theirs == alone
    assert mine != alone[:1]
    assert set(seen) == {threading.get_ident()}
    (trace,) = recording.traces
    assert trace.text.startswith("the cat sat")


def test_two_threads_record_at_once(translator):
    expected = [recorded(translator, [text]) for text in TEXTS]
    found = at_once([lambda text=text: recorded(translator, [text]) for text in TEXTS * 4])
    for number, one in enumerate(found):
        assert one == expected[number % len(TEXTS)]
    assert all(np.isfinite(np.frombuffer(site[1], np.float32)).all() for site in found[0][0][2:])


IMPORTS = """
import sys, threading
sys.setswitchinterval(0.0005)
faults = []
def load(module):
    try: __import__(module)
    except BaseException as fault: faults.append(fault)
modules = ("jumok.kernels.context", "jumok.kernels.plain", "jumok.layers.feedforward",
           "jumok.models.captioner", "jumok.systems.masked_model", "torch")
threads = [threading.Thread(target=load, args=(module,)) for module in modules]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not faults, faults
"""


def test_threads_may_import_at_once_what_needs_torch():
    """As the models of a server do, each in its own thread."""
    command = [sys.executable, "-c", IMPORTS]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
