"""Generated texts that share the steps of a model: each is what it is alone, and fails alone."""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from jumok.decoding import DecodingOptions
from jumok.engine.structures import library
from jumok.serving.http.engine import Engine
from jumok.serving.http.handlers import Continuation
from jumok.serving.http.monitoring import Metrics
from jumok.serving.http.queue import OVER, WritingJob
from jumok.serving.http.settings import ServeLimits
from jumok.systems.language_model import LanguageModel
from tests.systems.lm import write_lm

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

CONTEXT = 160
SAMPLED = DecodingOptions(beam=1, sample=True, seed=5)
WAYS = [
    DecodingOptions(beam=1), replace(SAMPLED, temperature=1.5), replace(SAMPLED, top_p=0.8),
    replace(SAMPLED, min_p=0.01, frequency_penalty=0.5), replace(SAMPLED, top_k=9),
]  # fmt: skip


@pytest.fixture(scope="module", params=["fp32", "int8"])
def letters(request, tmp_path_factory) -> LanguageModel:
    folder = write_lm(tmp_path_factory.mktemp("lm") / "m", context=CONTEXT)
    return LanguageModel.load(folder, engine="native", precision=request.param)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory) -> LanguageModel:
    """After the letter Q its log-probabilities are not numbers."""
    folder = write_lm(tmp_path_factory.mktemp("lm") / "m", context=CONTEXT, damaged="Q")
    return LanguageModel.load(folder, engine="native")


@dataclass
class Received:
    """What a text's client gets: parts, and what ended the text.

    Attributes:
        at: called with the number of parts, in the engine's thread.
    """

    parts: list[str] = field(default_factory=list)
    end: object = None
    at: Callable[[int], object] = lambda count: None

    def __call__(self, part: object) -> None:
        if isinstance(part, str):
            self.parts.append(part)
            self.at(len(self.parts))
        else:
            assert self.end is None
            self.end = part


def engine() -> Engine:
    return Engine("m", lambda: None, ServeLimits(), Metrics(), lambda error: None)


def started() -> Engine:
    made = engine()
    made.start()
    wait_until(lambda: made.state == "ready")
    return made


def wait_until(happened: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.001)


def jobs_of(given: Sequence[Continuation], received: Sequence[Received]) -> list[WritingJob]:
    until = time.monotonic() + 60
    return [WritingJob(*each, 1, until, to) for *each, to in zip(given, received, strict=True)]


def metric(made: Engine, name: str) -> float:
    found = made.metrics.registry.get_sample_value(name, {"model": "m"})
    assert found is not None
    return found


def written_by(made: Engine, given: Sequence[Continuation]) -> list[Received]:
    """What the clients of these texts receive. Each text joins when the one before it has three
    parts, or has ended."""
    received = [Received() for _ in given]
    jobs = jobs_of(given, received)
    for to, following in zip(received, jobs[1:], strict=False):
        to.at = lambda count, job=following: count == 3 and made.queue.submit([job])
    made.queue.submit(jobs[:1])
    for to, following in itertools.zip_longest(received, jobs[1:]):
        wait_until(lambda to=to: to.end is not None)
        if len(to.parts) < 3 and following is not None:
            made.queue.submit([following])
    return received


def test_texts_that_join_each_other_are_those_of_each_alone(letters):
    """Prompts of none to all tokens of the context, stops, log-probabilities, windows that move."""
    lengths = [0, CONTEXT - 1, 1, 90, 7, 200, 3, 30, CONTEXT, 2, 64, 65, 5, 12, 130, 9]

    def texts() -> list[Continuation]:
        return [
            Continuation(
                letters, ("To be, or not to be. " * 20)[:length],
                replace(
                    WAYS[number % len(WAYS)], seed=number,
                    stop=("e", "zz") if number % 5 == 1 else (),
                ),
                40 + 7 * number, top=number % 4 or None,
            )
            for number, length in enumerate(lengths)
        ]  # fmt: skip

    alone, together, made = texts(), texts(), started()
    lone = started()
    expected = [written_by(lone, [text])[0].parts for text in alone]
    for text, parts in zip(alone, expected, strict=True):
        if not text.options.stop:
            whole = letters.generate(text.prompt, text.options, max_tokens=text.max_tokens)
            assert "".join(parts) == "".join(whole)
    found = written_by(made, together)
    assert [to.parts for to in found] == expected
    assert {to.end for to in found} == {OVER}
    for ours, theirs in zip(together, alone, strict=True):
        assert (ours.tokens, ours.ended, ours.steps) == (theirs.tokens, theirs.ended, theirs.steps)
    assert metric(made, "jumok_batch_rows_sum") > 3 * metric(lone, "jumok_batch_rows_sum")
    wait_until(lambda: metric(made, "jumok_running") == 0)
    assert all(text._text.writer.close.__self__.closed for text in together)


def test_a_text_that_fails_hangs_up_or_is_late_ends_alone(damaged):
    made = started()
    given = [Continuation(damaged, "a" * (9 - each), SAMPLED, 90) for each in range(5)]
    given[1].prompt = "a Q"
    whole = "".join(damaged.generate(given[0].prompt, SAMPLED, max_tokens=90))
    received = [Received() for _ in given]
    jobs = jobs_of(given, received)
    ends = {
        2: lambda: made.queue.drop(jobs[2]),
        3: lambda: setattr(jobs[3], "deadline", 0.0),
        4: given[4].close,  # a fault in the shared step
    }
    tokens = {}

    def ending(number: int) -> Callable[[int], None]:
        def end(count: int) -> None:
            if count == 4:
                tokens[number] = given[number].tokens
                ends[number]()

        return end

    for number in ends:
        received[number].at = ending(number)
    made.queue.submit(jobs)
    wait_until(lambda: received[0].end is not None)
    assert "".join(received[0].parts) == whole
    assert received[0].end is OVER
    assert "no probability" in received[1].end.text
    assert received[2].end is None
    assert received[3].end.code == "deadline_passed"
    assert received[4].end.code == "engine_failed"
    assert [len(to.parts) for to in received[1:]] == [0, 4, 4, 4]
    assert tokens == {number: given[number].tokens for number in ends}
    wait_until(lambda: made.queue.idle and metric(made, "jumok_running") == 0)
    assert metric(made, "jumok_engine_faults_total") == 1
    assert all(text._text.writer.close.__self__.closed for text in given)
    after = Received()
    made.queue.submit(jobs_of([Continuation(damaged, "a" * 9, SAMPLED, 90)], [after]))
    wait_until(lambda: after.end is OVER)
    assert "".join(after.parts) == whole


def test_long_prompts_are_read_while_the_others_are_written(letters):
    """64 tokens of prompts in each round, in turns."""
    made = engine()
    made.queue.state = "ready"
    given = [Continuation(letters, "a" * count, WAYS[0], 6) for count in (1, 159, 120, 3)]
    jobs = jobs_of(given, [Received() for _ in given])
    made.queue.submit(jobs[:1])
    counted, computed = [], []
    made.queue.measured = lambda tokens, seconds: computed.append(tokens)
    while not made.queue.idle:
        made._writers.round(made.queue.next()[1])
        counted.append(tuple(text.tokens for text in given))
        if len(counted) == 1:
            made.queue.submit(jobs[1:])
    assert counted[:7] == [
        (1, 0, 0, 0),
        (2, 0, 0, 0),  # 64 of 160
        (3, 0, 0, 0),  # 64 of 121
        (4, 0, 0, 1),  # 4 of 4, and the next 64 of 160 do not fit
        (5, 0, 0, 2),
        (6, 0, 1, 3),
        (6, 1, 2, 4),
    ]
    assert sum(computed) == (2 + 160 + 121 + 4) + 4 * 6, "prompts, and what was written"
