"""Searches of several threads in one batch: the same bits as alone, and each ends by itself."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from jumok.computation import cancel_scope
from jumok.data.tokenizer import END, START
from jumok.decoding import DecodingOptions
from jumok.engine.forced import WatchedAttention
from jumok.engine.native import NativeModel
from jumok.engine.running import RunningBatch
from jumok.engine.structures import library
from tests.engine import test_recurrent, test_transformer
from tests.engine.test_transformer import rules_of, sources_of

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

OPTIONS = [
    DecodingOptions(beam=beam, maximum_length=length, minimum_length=length // 20)
    for beam, length in ((1, 40), (2, 11), (5, 60), (3, 25))
]


def transformer(kind: str) -> NativeModel:
    return test_transformer.engine_of(*test_transformer.model_of(positions="rotary"), kind)


def recurrent(kind: str) -> NativeModel:
    return test_recurrent.engine_of(*test_recurrent.model_of(), kind)


@pytest.mark.parametrize("kind", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize("make", [transformer, recurrent])
def test_threads_that_share_steps_find_the_bits_that_each_finds_alone(make, kind):
    model, draw = make(kind), Random(5)
    asked = []
    for _ in range(60):
        lengths = [draw.randint(1, 20) for _ in range(draw.randint(1, 4))]
        sources = sources_of(*lengths)
        draw.shuffle(sources)
        asked.append((sources, rules_of(draw.choice(OPTIONS), sources)))
    alone = [model.search(*each) for each in asked]
    model.search_together()
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda each: model.search(*each), asked))
    assert together == alone


def test_the_attention_of_a_shared_search_is_that_of_its_own_sentences():
    model = transformer("fp32")
    asked = [sources_of(length, 2 * length) for length in range(1, 9)]
    watched = [WatchedAttention("encoder", 0), WatchedAttention("cross", 1, (2, 0))]
    rules = [rules_of(OPTIONS[2], sources) for sources in asked]
    alone = [model.search(*each, watched) for each in zip(asked, rules, strict=True)]
    model.search_together()
    with ThreadPoolExecutor(8) as pool:
        together = list(
            pool.map(lambda sources, its: model.search(sources, its, watched), asked, rules)
        )
    for ours, theirs in zip(together, alone, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert one.tokens == other.tokens
            for weights, expected in zip(one.attention, other.attention, strict=True):
                assert (weights == expected).all()


class LeftError(Exception):
    """Somebody does not want the result any more."""


def endless(model: NativeModel, count: int = 1) -> Callable[[], list]:
    """A search that takes long: END is forbidden until the last step."""
    sources = sources_of(*[5] * count)
    options = DecodingOptions(beam=4, maximum_length=3000, minimum_length=2999, maximum_ratio=None)
    rules = rules_of(options, sources)
    return lambda: model.search(sources, rules)


def test_one_search_ends_early_and_the_others_go_on():
    model = transformer("fp32")
    sources = sources_of(7, 3)
    rules = rules_of(OPTIONS[2], sources)
    expected = model.search(sources, rules)
    batch = model.search_together()
    begun, gone = threading.Event(), threading.Event()

    def check() -> None:
        begun.set()
        if gone.is_set():
            raise LeftError

    def unwanted() -> None:
        with cancel_scope(check), pytest.raises(LeftError):
            endless(model, 3)()

    with ThreadPoolExecutor(2) as pool:
        lasting = pool.submit(unwanted)
        assert begun.wait(60)
        assert model.search(sources, rules) == expected  # joins, and does not wait for the other
        assert not lasting.done()
        gone.set()
        batch.look_again()
        lasting.result(timeout=60)
    assert model.search(sources, rules) == expected


def test_whoever_makes_the_steps_hands_over_when_it_ends_early():
    model = transformer("fp32")
    batch = model.search_together()
    begun, gone = threading.Event(), threading.Event()
    sources = sources_of(9)
    rules = rules_of(OPTIONS[2], sources)

    def check() -> None:
        begun.set()
        if gone.is_set():
            raise LeftError

    def first() -> None:
        with cancel_scope(check), pytest.raises(LeftError):
            endless(model)()

    options = DecodingOptions(beam=1, maximum_length=400, minimum_length=399, maximum_ratio=None)
    longer = rules_of(options, sources)
    with ThreadPoolExecutor(2) as pool:
        leads = pool.submit(first)
        assert begun.wait(60)
        follows = pool.submit(model.search, sources, longer)
        gone.set()
        batch.look_again()
        leads.result(timeout=60)
        (found,) = follows.result(timeout=60)
    assert len(found.tokens) == 400
    assert (rules.start, rules.end) == (START, END)


def test_a_signal_to_the_thread_that_makes_the_steps_stops_no_other_one():
    """It comes when another search is over, but does not know it yet."""
    model = transformer("fp32")

    class Interrupted(RunningBatch):
        is_sent = False

        def _search(self, running):
            super()._search(running)
            if not self.is_sent and any(each.over for each in running):
                self.is_sent = True
                raise KeyboardInterrupt

    def first() -> None:
        with pytest.raises(KeyboardInterrupt):
            endless(model)()

    sources = sources_of(6)
    lengths = (2, 400)
    rules = [
        rules_of(
            DecodingOptions(
                beam=1, maximum_length=length, minimum_length=length, maximum_ratio=None
            ),
            sources,
        )
        for length in lengths
    ]
    model._running = Interrupted(model._session())
    with ThreadPoolExecutor(3) as pool:
        leads = pool.submit(first)
        while not model._running._searches:
            time.sleep(0.001)
        others = [pool.submit(model.search, sources, each) for each in rules]
        found = [each.result(timeout=60) for each in others]
        leads.result(timeout=60)
    assert tuple(len(each.tokens) for (each,) in found) == lengths
