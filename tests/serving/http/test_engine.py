"""The queue of a model: order, places, deadlines, and errors that stay with their request."""

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from jumok.computation import check_cancelled
from jumok.errors import DataError
from jumok.serving.http.engine import MOST_TOGETHER, NICER, Engine, EngineBroken
from jumok.serving.http.monitoring import Metrics
from jumok.serving.http.queue import AGE_SECONDS, JOIN_SECONDS, OVER, Job, WritingJob
from jumok.serving.http.refusals import RequestRefused
from jumok.serving.http.settings import ServeLimits


@dataclass
class Recorded:
    """A work that notes its batches; `gate` holds the first one back."""

    answer: Callable[[str], str] = str.upper
    gate: threading.Event = field(default_factory=threading.Event)
    begun: threading.Event = field(default_factory=threading.Event)
    batches: list[list[str]] = field(default_factory=list)

    def run(self, given: Sequence[str]) -> list[str]:
        self.batches.append(list(given))
        self.begun.set()
        assert self.gate.wait(30)
        return [self.answer(each) for each in given]


def wait_until(condition: Callable[[], object]) -> None:
    until = time.monotonic() + 30
    while not condition() and time.monotonic() < until:
        time.sleep(0.001)


def engine(
    fatal: list[BaseException] | None = None,
    look_again: Callable[[], None] | None = None,
    **limits: int,
) -> Engine:
    """An engine that is ready; with `look_again` batches join what is being computed."""
    faults = [] if fatal is None else fatal
    made = Engine("m", lambda: None, ServeLimits(**limits), Metrics(), faults.append)
    if look_again is not None:
        made.search_together(look_again)
    made.start()
    wait_until(lambda: made.state == "ready")
    return made


def job(work: Recorded, *texts: str, seconds: float = 30.0) -> Job:
    return Job(work, texts, [len(each) for each in texts], time.monotonic() + seconds)


def held(made: Engine, work: Recorded) -> Job:
    """A job that is being computed until the gate opens."""
    first = job(work, "first")
    made.queue.submit([first])
    assert work.begun.wait(30)
    return first


def test_requests_that_arrive_together_share_a_batch_in_order_of_length():
    made, work, other = engine(batch_tokens=9), Recorded(), Recorded()
    other.gate.set()
    held(made, work)
    jobs = [job(work, "bbbb"), job(work, "a", "cccccc"), job(other, "dd"), job(work, "ee")]
    for each in jobs:
        made.queue.submit([each])
    work.gate.set()
    assert [each.future.result(30) for each in jobs] == [["BBBB"], ["A", "CCCCCC"], ["DD"], ["EE"]]
    assert work.batches == [["first"], ["a", "ee", "bbbb"], ["cccccc"]]
    assert other.batches == [["dd"]]
    assert made.queue.idle


def test_long_texts_that_waited_come_before_short_ones():
    made, work = engine(batch_tokens=1), Recorded()
    held(made, work)
    old, new = job(work, "looooong"), job(work, "s")
    old.arrived -= 2 * AGE_SECONDS
    made.queue.submit([old])
    made.queue.submit([new])
    work.gate.set()
    new.future.result(30)
    assert work.batches == [["first"], ["looooong"], ["s"]]


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"queue_requests": 2}, "The queue is full: 3 requests, and the limit is 2."),
        ({"queue_tokens": 9}, "The queue is full: 10 tokens, and the limit is 9."),
    ],
)
def test_a_place_is_reserved_before_any_work(limits, text):
    made, work = engine(**limits), Recorded()
    held(made, work)
    waiting = job(work, "abc")
    made.queue.submit([waiting])
    with pytest.raises(RequestRefused, match=text) as refused:
        made.queue.submit([job(work, "de")])
    assert refused.value.status == 429
    assert refused.value.retry_after in (1, 2)  # a second, with jitter
    made.queue.drop(waiting)  # its client hung up: the place is free
    last = job(work, "de")
    made.queue.submit([last])
    work.gate.set()
    assert last.future.result(30) == ["DE"]
    assert work.batches == [["first"], ["de"]]


def test_a_deadline_that_passes_in_the_queue_ends_the_request():
    made, work = engine(), Recorded()
    held(made, work)
    late = job(work, "late", seconds=0.01)
    made.queue.submit([late])
    time.sleep(0.02)
    work.gate.set()
    with pytest.raises(RequestRefused, match="The deadline has passed") as refused:
        late.future.result(30)
    assert refused.value.status == 504
    assert work.batches == [["first"]]


def test_a_deadline_that_is_certainly_missed_is_refused_at_once():
    made, work = engine(), Recorded()
    work.gate.set()
    slow = job(work, "a" * 10)
    made.queue.submit([slow])
    slow.future.result(30)
    made.queue._speed = [1.0, 1.0]  # a token a second
    work.gate.clear()
    work.begun.clear()
    held(made, work)
    with pytest.raises(RequestRefused, match="the queue takes about 5") as refused:
        made.queue.submit([job(work, "b", seconds=2.0)])
    assert refused.value.status == 429
    assert 4 <= refused.value.retry_after <= 6
    work.gate.set()


def test_an_error_belongs_to_the_request_that_caused_it():
    def answer(text: str) -> str:
        if text == "bad":
            raise DataError("this text is bad.", expected="a good one")
        return text.upper()

    made, work = engine(), Recorded(answer)
    held(made, work)
    good, bad, other = job(work, "good"), job(work, "fine", "bad"), job(work, "more")
    for each in (good, bad, other):
        made.queue.submit([each])
    work.gate.set()
    assert (good.future.result(30), other.future.result(30)) == (["GOOD"], ["MORE"])
    with pytest.raises(RequestRefused, match="this text is bad") as refused:
        bad.future.result(30)
    assert refused.value.status == 400
    assert refused.value.text == "this text is bad. Expected: a good one."


def test_a_failed_batch_is_computed_again_in_halves():
    once = []

    def answer(text: str) -> str:
        if not once:
            once.append(text)
            raise RuntimeError("a passing fault")
        return text.upper()

    made, work = engine(), Recorded(answer)
    work.gate.set()
    asked = job(work, "a", "b", "c")
    made.queue.submit([asked])
    assert asked.future.result(30) == ["A", "B", "C"]
    assert work.batches[0] == ["a", "b", "c"]
    assert made.metrics.registry.get_sample_value("jumok_engine_faults_total", {"model": "m"}) == 1


def test_three_faults_in_a_row_are_fatal():
    def answer(text: str) -> str:
        raise RuntimeError("broken")

    fatal: list[BaseException] = []
    made, work = engine(fatal), Recorded(answer)
    work.gate.set()
    for _ in range(3):
        asked = job(work, "a")
        made.queue.submit([asked])
        with pytest.raises(RequestRefused, match="The model failed") as refused:
            asked.future.result(30)
        assert refused.value.status == 500
        wait_until(lambda: made.queue.idle)
    wait_until(lambda: fatal)
    (error,) = fatal
    assert isinstance(error, EngineBroken)
    assert re.fullmatch(
        r"the model m failed 3 times in a row: RuntimeError at test_engine\.py:\d+ <.*", str(error)
    )
    with pytest.raises(RequestRefused, match="The model m is broken") as refused:
        made.queue.submit([job(work, "a")])
    assert refused.value.status == 503


def test_the_end_of_an_engines_thread_is_fatal(monkeypatch):
    fatal: list[BaseException] = []
    made, work = engine(fatal), Recorded()
    work.gate.set()
    monkeypatch.setattr(made.queue, "answered", lambda *_: 1 / 0)
    made.queue.submit([job(work, "a")])
    wait_until(lambda: fatal)
    assert isinstance(fatal[0], ZeroDivisionError)
    assert made.state == "broken"


@dataclass
class Counting:
    """A text of numbers."""

    last: int
    log: list[str]
    name: str
    tokens: int = 0
    closed: bool = False

    def next_part(self):
        yield from ()
        if self.tokens == self.last:
            return None
        self.log.append(self.name)
        self.tokens += 1
        return str(self.tokens - 1)

    def close(self):
        self.closed = True


def test_generated_texts_are_written_in_turns_and_dropped_at_a_token():
    made, log = engine(), []
    found: dict[str, list[object]] = {"a": [], "b": []}
    over = threading.Semaphore(0)

    def send(name: str) -> Callable[[object], None]:
        def receive(part: object) -> None:
            found[name].append(part)
            if part == "1" and name == "b":
                made.queue.drop(jobs["b"])
            if part is OVER:
                over.release()

        return receive

    until = time.monotonic() + 30
    jobs = {name: WritingJob(Counting(4, log, name), 4, until, send(name)) for name in "ab"}
    with made.queue._turn:  # both are there before the first token
        made.queue._admit([jobs["a"]])
    for each in jobs.values():
        made.queue.submit([each])
    assert over.acquire(timeout=30)
    assert found == {"a": ["0", "1", "2", "3", OVER], "b": ["0", "1"]}
    assert log.count("b") == 2
    assert all(job.writing.closed for job in jobs.values())
    assert made.queue.idle


def test_the_places_of_one_request_are_reserved_for_all_of_its_texts_or_none():
    made, log = engine(queue_requests=2), []
    until = time.monotonic() + 30
    three = [WritingJob(Counting(4, log, "c"), 4, until, lambda part: None) for _ in range(3)]
    with pytest.raises(RequestRefused, match="3 requests, and the limit is 2"):
        made.queue.submit(three)
    assert made.queue.idle
    assert not log


@dataclass
class Searching:
    """A work that takes steps, as a search does, until nobody waits."""

    steps: int = 0
    begun: threading.Event = field(default_factory=threading.Event)

    def run(self, given: Sequence[str]) -> list[str]:
        while self.steps < 30_000:
            check_cancelled()
            self.steps += 1
            self.begun.set()
            time.sleep(0.001)
        return list(given)


def test_a_search_that_nobody_waits_for_ends_at_its_next_step():
    made, work, next_work = engine(), Searching(), Recorded()
    next_work.gate.set()
    two = [Job(work, [text], [1], time.monotonic() + 30) for text in "ab"]
    made.queue.submit(two)
    assert work.begun.wait(30)
    made.queue.drop(two[0])
    going = work.steps
    time.sleep(0.05)
    assert work.steps > going  # the other one is still waited for
    made.queue.drop(two[1])
    after = job(next_work, "next")
    made.queue.submit([after])
    assert after.future.result(30) == ["NEXT"]
    assert work.steps < 30_000
    ended = made.metrics.registry.get_sample_value("jumok_ended_total", {"model": "m"})
    assert ended == 1.0


def test_requests_join_what_is_computed_if_the_model_lets_them():
    looked = []
    made = engine(look_again=lambda: looked.append(1))
    slow, quick = Recorded(), Recorded()
    quick.gate.set()
    first = held(made, slow)
    begun = first.started
    second = job(quick, "a", "b")
    made.queue.submit([second])
    assert second.future.result(30) == ["A", "B"]
    assert second.started - begun >= JOIN_SECONDS  # a short batch would have been over by then
    assert not first.future.done()
    assert not looked
    made.queue.drop(first)
    assert looked
    slow.gate.set()


def test_as_many_batches_join_as_there_are_threads_one_after_the_other():
    made = engine(look_again=lambda: None, batch_tokens=1)
    work = Recorded()
    held(made, work)
    jobs = [job(work, letter) for letter in "abcd"]
    for each in jobs:
        made.queue.submit([each])
    wait_until(lambda: len(work.batches) >= MOST_TOGETHER)
    started = sorted(each.started for each in jobs if each.started is not None)
    assert all(b - a >= JOIN_SECONDS for a, b in pairwise(started))
    assert len(started) == MOST_TOGETHER - 1
    work.gate.set()
    assert [each.future.result(30) for each in jobs] == [["A"], ["B"], ["C"], ["D"]]


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no niceness of their own")
def test_the_threads_that_compute_are_nicer_than_those_that_answer():
    found = []

    @dataclass
    class Asked:
        def run(self, given: Sequence[str]) -> list[str]:
            found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
            return list(given)

    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    asked = Job(Asked(), ["a"], [1], time.monotonic() + 30)
    engine().queue.submit([asked])
    asked.future.result(30)
    assert found == [min(19, own + NICER)]
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == own
