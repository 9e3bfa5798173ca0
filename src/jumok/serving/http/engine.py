"""The engine of one model: a queue with a limit, and the thread that computes what is in it.

No timer: a batch is what arrived while the last one was computed, so a lone request does not wait.
Within a budget of tokens the texts that waited long come first, and among these the short ones.
Texts of several requests share a batch if they ask for the same (`Work`). Generated texts are
written in turns, a token each, between the batches.
"""

import math
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from jumok.errors import JumokError
from jumok.serving.http.logs import fault_of, log
from jumok.serving.http.meters import Meters
from jumok.serving.http.refusals import RequestRefused, refusal_of
from jumok.serving.http.settings import ServeLimits

AGE_SECONDS = 0.5
"""Texts whose waiting times differ by less are sorted by length."""

MOST_FAULTS = 3
"""Faults in a row, after which the engine is broken."""

WRITERS = 16
"""Generated texts that are written at the same time."""

OVER: object = object()


class Work(Protocol):
    """What is asked of each text. Equal works are computed together; hashable."""

    def run(self, given: Sequence[Any]) -> Sequence[object]:
        """An answer for each."""
        ...


class Writing(Protocol):
    """A text that is written token by token."""

    def parts(self) -> Iterator[object]:
        """One item for each token."""
        ...


@dataclass(eq=False)
class Job:
    """A request's texts in the queue.

    Attributes:
        costs: tokens of each text, estimated.
        deadline: of `time.monotonic`.
        answers: an answer for each text; the future has them all.
    """

    work: Work
    given: Sequence[object]
    costs: Sequence[int]
    deadline: float
    arrived: float = field(default_factory=time.monotonic)
    started: float | None = None
    ended: float | None = None
    over: bool = False
    future: "Future[list[object]]" = field(default_factory=Future)
    answers: dict[int, object] = field(default_factory=dict)

    @property
    def cost(self) -> int:
        return sum(self.costs)


@dataclass(eq=False)
class WritingJob:
    """A generated text in the queue.

    Attributes:
        send: receives each part, and then OVER or the RequestRefused that ended it; called in the
            engine's thread.
    """

    writing: Writing
    cost: int
    deadline: float
    send: Callable[[object], None]
    arrived: float = field(default_factory=time.monotonic)
    started: float | None = None
    over: bool = False
    stream: Iterator[object] | None = None


class Engine:
    """The queue of one model and its thread.

    Args:
        name: the model's.
        load: loads the model; called in the engine's thread.
        fatal: called when the model cannot be loaded or fails again and again.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], None],
        limits: ServeLimits,
        meters: Meters,
        fatal: Callable[[BaseException], None],
    ) -> None:
        self.name, self._load, self.limits = name, load, limits
        self.meters, self._fatal = meters, fatal
        self.state: Literal["loading", "ready", "broken"] = "loading"
        self._turn = threading.Condition()
        self._waiting: list[tuple[Job, int]] = []
        self._new: list[WritingJob] = []
        self._writing: list[WritingJob] = []
        self._requests, self._tokens = 0, 0
        self._rate = 0.0  # tokens a second
        self._faults = 0
        self._thread = threading.Thread(target=self._work, name=f"engine {name}", daemon=True)

    def start(self) -> None:
        """Starts the thread, which first loads the model."""
        self._thread.start()

    def submit(self, job: Job | WritingJob) -> None:
        """Reserves a place in the queue, before anything is computed, and puts the job there.

        Raises:
            RequestRefused: the model is being loaded, or there is no place; says when to try again.
        """
        with self._turn:
            self._admit(job)
            self._requests += 1
            self._tokens += job.cost
            self._count()
            if isinstance(job, Job):
                self._waiting += [(job, place) for place in range(len(job.given))]
            else:
                self._new.append(job)
            self.meters.tokens.labels("in").inc(job.cost)
            self._turn.notify()

    def drop(self, job: Job | WritingJob) -> None:
        """Takes a job out of the queue; what is computed now is not interrupted."""
        with self._turn:
            self._leave(job)

    @property
    def idle(self) -> bool:
        """Whether no request waits or runs."""
        return self._requests == 0

    def _admit(self, job: Job | WritingJob) -> None:
        limits = self.limits
        if self.state != "ready":
            self.meters.rejected.labels("not_ready").inc()
            text = f"The model {self.name} is {self.state}."
            raise RequestRefused(503, "not_ready", text, retry_after=self._later())
        for what, most, now, more in (
            ("requests", limits.queue_requests, self._requests, 1),
            ("tokens", limits.queue_tokens, self._tokens, job.cost),
        ):
            if now + more > most:
                self.meters.rejected.labels("queue_full").inc()
                text = f"The queue is full: {now + more} {what}, and the limit is {most}."
                raise RequestRefused(429, "queue_full", text, retry_after=self._later())
        wait = self._tokens / self._rate if self._rate else 0.0
        if time.monotonic() + wait > job.deadline:
            self.meters.rejected.labels("deadline").inc()
            text = f"The deadline would be missed: the queue takes about {wait:.1f} seconds."
            raise RequestRefused(429, "deadline_too_short", text, retry_after=self._later())

    def _later(self) -> int:
        """Seconds after which the queue is probably empty, with jitter: 1 to 60."""
        wait = self._tokens / self._rate if self._rate else 1.0
        return max(1, min(60, math.ceil(wait * random.uniform(0.8, 1.2))))

    def _leave(self, job: Job | WritingJob) -> None:
        if job.over:
            return
        job.over = True
        self._requests -= 1
        self._tokens -= job.cost
        self._count()
        if isinstance(job, Job):
            self._waiting = [each for each in self._waiting if each[0] is not job]
        elif job in self._new:
            self._new.remove(job)

    def _count(self) -> None:
        self.meters.queue_requests.labels(self.name).set(self._requests)
        self.meters.queue_tokens.labels(self.name).set(self._tokens)

    def _work(self) -> None:
        try:
            self._load()
        except BaseException as error:
            self.state = "broken"
            self._fatal(error)
            return
        self.state = "ready"
        while self.state == "ready":
            with self._turn:
                while not (self._waiting or self._new or self._writing):
                    self._turn.wait()
                self._expire()
                batch = self._batch()
                while self._new and len(self._writing) < WRITERS:
                    self._writing.append(self._new.pop(0))
            if batch:
                self._compute(batch)
            for job in list(self._writing):
                self._write(job)

    def _expire(self) -> None:
        now = time.monotonic()
        for job in {id(job): job for job, _ in self._waiting}.values():
            if job.deadline < now:
                self._fail(job, deadline_passed())
        for writer in [each for each in self._new if each.deadline < now]:
            self._leave(writer)
            writer.send(deadline_passed())

    def _batch(self) -> list[tuple[Job, int]]:
        """The texts that are computed next, all with the same work, within the budget."""
        if not self._waiting:
            return []
        now = time.monotonic()

        def order(each: tuple[Job, int]) -> tuple[int, int, float]:
            job, place = each
            age = int((now - job.arrived) / AGE_SECONDS)
            return -age, job.costs[place], job.arrived

        self._waiting.sort(key=order)
        work, cost = self._waiting[0][0].work, 0
        batch: list[tuple[Job, int]] = []
        for each in self._waiting:
            job, place = each
            if job.work != work:
                continue
            if batch and cost + job.costs[place] > self.limits.batch_tokens:
                break
            cost += job.costs[place]
            batch.append(each)
        chosen = set(map(_identity, batch))
        self._waiting = [each for each in self._waiting if _identity(each) not in chosen]
        for job, _ in batch:
            if job.started is None:
                job.started = now
                self.meters.queued.labels(self.name).observe(now - job.arrived)
        return batch

    def _compute(self, batch: Sequence[tuple[Job, int]]) -> None:
        cost = sum(job.costs[place] for job, place in batch)
        self.meters.batch_rows.labels(self.name).observe(len(batch))
        self.meters.batch_tokens.labels(self.name).observe(cost)
        self.meters.running.labels(self.name).set(len(batch))
        start = time.monotonic()
        self._run(batch)
        rate = cost / max(time.monotonic() - start, 1e-6)
        self._rate = 0.8 * self._rate + 0.2 * rate if self._rate else rate
        self.meters.running.labels(self.name).set(len(self._writing))

    def _run(self, batch: Sequence[tuple[Job, int]], again: bool = True) -> None:
        """Computes a batch; after an error its parts, so that it is only one request's error."""
        batch = [each for each in batch if not each[0].over]
        if not batch:
            return
        try:
            answers = batch[0][0].work.run([job.given[place] for job, place in batch])
        except (JumokError, RequestRefused) as error:
            if len(batch) == 1:
                refused = refusal_of(error) if isinstance(error, JumokError) else error
                with self._turn:
                    self._fail(batch[0][0], refused)
                return
            for each in batch:
                self._run([each], again)
        except Exception as error:  # the other requests must be answered
            self._fault(error, batch, again)
        else:
            self._faults = 0
            self._answered(batch, answers)

    def _answered(self, batch: Sequence[tuple[Job, int]], answers: Sequence[object]) -> None:
        with self._turn:
            for (job, place), answer in zip(batch, answers, strict=True):
                job.answers[place] = answer
                if len(job.answers) == len(job.given) and not job.over:
                    self._leave(job)
                    job.ended = time.monotonic()
                    job.future.set_result([job.answers[each] for each in range(len(job.given))])

    def _fault(self, error: Exception, batch: Sequence[tuple[Job, int]], again: bool) -> None:
        self._note_fault(error)
        if again:
            half = (len(batch) + 1) // 2
            self._run(batch[:half], again=False)
            self._run(batch[half:], again=False)
            return
        with self._turn:
            for job, _ in batch:
                self._fail(job, engine_failed())
        self._failed(error)

    def _note_fault(self, error: Exception) -> None:
        self.meters.faults.labels(self.name).inc()
        log({"event": "fault", "model": self.name, "error": fault_of(error)})

    def _failed(self, error: Exception) -> None:
        self._faults += 1
        if self._faults >= MOST_FAULTS:
            self.state = "broken"
            with self._turn:
                for job in {id(job): job for job, _ in self._waiting}.values():
                    self._fail(job, engine_failed())
                for writer in [*self._new, *self._writing]:
                    self._leave(writer)
                    writer.send(engine_failed())
            self._fatal(error)

    def _fail(self, job: Job, refused: RequestRefused) -> None:
        if not job.over:
            self._leave(job)
            job.future.set_exception(refused)

    def _write(self, job: WritingJob) -> None:
        """One more token of a generated text."""
        found: object = OVER
        try:
            if job.stream is None:
                job.started = time.monotonic()
                self.meters.queued.labels(self.name).observe(job.started - job.arrived)
                job.stream = job.writing.parts()
            if job.over:
                found = OVER
            elif job.deadline < time.monotonic():
                found = deadline_passed()
            else:
                found = next(job.stream, OVER)
        except JumokError as error:
            found = refusal_of(error)
        except Exception as error:  # the other requests must be answered
            self._note_fault(error)
            found = engine_failed()
            self._failed(error)
        if found is OVER or isinstance(found, RequestRefused):
            self._writing = [each for each in self._writing if each is not job]
            with self._turn:
                self._leave(job)
        job.send(found)


def _identity(each: tuple[Job, int]) -> tuple[int, int]:
    return id(each[0]), each[1]


def deadline_passed() -> RequestRefused:
    """The refusal of a request whose deadline is over."""
    return RequestRefused(504, "deadline_passed", "The deadline has passed.")


def engine_failed() -> RequestRefused:
    """The refusal of a request that the model failed at."""
    return RequestRefused(500, "engine_failed", "The model failed at this request.")
