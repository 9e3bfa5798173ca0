"""Traces come in the order of what was given, or one by one without being kept."""

import gc
import weakref

import jaxtyping
import numpy as np
import pytest

import jumok
from jumok.decoding import DecodingOptions
from jumok.inspection.trace_file import load_trace
from tests.systems.lm import write_lm
from tests.systems.masked import untrained
from tests.systems.pictures import READER, write_captioner, write_pictures
from tests.systems.untrained import write_classifier, write_text_classifier

SHORT = DecodingOptions(beam=1, maximum_length=7)
MANY = ["the dog barked and the cat sat", "mat", "the cat sat on the mat", "a student", "the dog"]


def systems_and_calls(tmp_path, bundle, count: int):
    """For each system a call that is given so many things, and what it gives for each."""
    files = write_pictures(tmp_path / "files", count)
    captioner = jumok.load(write_captioner(tmp_path / "captioner", reader=READER))
    masked, texts = untrained(), jumok.load(write_text_classifier(tmp_path / "texts"))
    pictures = jumok.load(write_classifier(tmp_path / "pictures"))
    lm, translator = jumok.load(write_lm(tmp_path / "lm")), jumok.load(bundle)
    given = (MANY * count)[:count]
    gaps = [f"{text} ___" for text in given]
    return {
        "translate": (translator, lambda: translator.translate(given, SHORT, batch_size=2)),
        "beam": (translator, lambda: translator.translate(given, SHORT, beam=3, batch_size=2)),
        "score": (translator, lambda: translator.score(given, given, batch_size=2)),
        "caption": (captioner, lambda: captioner.caption(files, SHORT, batch_size=2)),
        "fill": (masked, lambda: masked.fill(gaps, batch_size=2)),
        "classify": (texts, lambda: texts.classify(given, batch_size=2)),
        "pictures": (pictures, lambda: pictures.classify(files, batch_size=2)),
        "lm": (lm, lambda: lm.score(given, batch_size=2)),
    }


@pytest.fixture(autouse=True)
def types_are_not_executed():
    """Many calls, whose types the tests of each system execute."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="module")
def calls(tmp_path_factory, tiny_bundle):
    return systems_and_calls(tmp_path_factory.mktemp("calls"), tiny_bundle, 5)


CALLS = ["translate", "beam", "score", "caption", "fill", "classify", "pictures", "lm"]


@pytest.mark.parametrize("call", CALLS)
def test_traces_come_in_the_order_of_what_was_given(calls, call):
    system, run = calls[call]
    with jumok.record(system) as recording:
        run()
        run()
    found = recording.traces
    numbers = [one.index for one in found]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(10)), "a second call counts on"
    if call in ("translate", "score", "classify"):
        texts = [one.text.removesuffix("</s>").strip() for one in found]
        assert [text.removeprefix("<s>").strip() for text in texts] == MANY * 2
    if call == "lm":  # of a long text the windows, one after another
        assert all(found[0].steps)


@pytest.mark.parametrize("call", CALLS)
def test_traces_are_handed_out_one_by_one(calls, call, tmp_path):
    system, run = calls[call]
    with jumok.record(system) as kept:
        run()
    handed: list[jumok.Trace] = []
    with jumok.record(system, each=handed.append) as recording:
        run()
        if call in ("translate", "caption"):
            assert len({one.index for one in handed}) >= 3, "batch by batch, while it works"
    assert recording.traces == ()
    expected = kept.traces
    handed.sort(key=lambda one: (one.index, one.segment))
    places = [(one.index, one.segment) for one in handed]
    assert places == [(one.index, one.segment) for one in expected]
    for mine, theirs in zip(handed, expected, strict=True):
        assert mine.output == theirs.output
        assert mine.fingerprint == theirs.fingerprint != ""
        for site, other in zip(mine.sites, theirs.sites, strict=True):
            np.testing.assert_array_equal(site.weights, other.weights)
    handed[-1].save(tmp_path / "one.npz")
    assert load_trace(tmp_path / "one.npz").index == handed[-1].index


def test_what_is_handed_out_is_not_kept(tiny_bundle):
    """However many sentences, no more than a batch's traces are there at once."""
    system = jumok.load(tiny_bundle)
    alive: list[weakref.ref[jumok.Trace]] = []
    most = 0

    def look(trace: jumok.Trace) -> None:
        nonlocal most
        alive.append(weakref.ref(trace))
        gc.collect()
        most = max(most, sum(each() is not None for each in alive))

    gc.collect()
    gc.freeze()  # what other tests left: looked through at every collection, it takes a minute
    try:
        with jumok.record(system, each=look):
            system.translate(MANY * 4, SHORT, batch_size=2)
    finally:
        gc.unfreeze()
    gc.collect()
    assert most <= 2 * 2
    assert len(alive) == 20
    assert all(each() is None for each in alive)


def test_what_is_done_with_a_trace_is_not_recorded(tiny_bundle):
    system = jumok.load(tiny_bundle)
    seen = []

    def again(trace: jumok.Trace) -> None:
        seen.append(trace.index)
        system.translate([MANY[trace.index]], SHORT)

    with jumok.record(system, each=again):
        system.translate(MANY, SHORT, batch_size=2)
    assert sorted(seen) == list(range(5))
