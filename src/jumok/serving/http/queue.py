"""The request queue of one model.

Within a budget of tokens the texts that waited long come first, and among these the short ones.
Texts of several requests share a batch if they have the same `Handler`.
"""

import math
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from jumok.computation import Timings
from jumok.engine.language import Passes, TextPass
from jumok.serving.http.monitoring import Metrics
from jumok.serving.http.refusals import RequestRefused
from jumok.serving.http.settings import ServeLimits

AGE_SECONDS = 0.5
"""Texts whose waiting times differ by less are sorted by length."""

JOIN_SECONDS = 0.01
"""A batch is joined by another one when it has run for so long: short ones are computed one after
the other, which makes more of a core, and no text waits for the end of a long one."""

MOST_WRITERS = 16
"""Generated texts that are written at the same time. More of them make a step hardly cheaper a row
(a small GPT in float32: 1.1 ms alone, 0.18 of 16, 0.17 of 32; in int8: 0.17, 0.06, 0.06), and each
needs room for the keys and values of a whole context (that GPT: 4.7 MB, with 256 tokens)."""

OVER: object = object()


class Handler(Protocol):
    """Computes the answers of one kind of request. Equal ones are computed together; hashable."""

    def run(self, given: Sequence[Any]) -> Sequence[object]: ...


class Writing(Protocol):
    """A text that is written token by token."""

    @property
    def tokens(self) -> int: ...

    def next_part(self) -> Passes[str | None]:
        """What one more token makes certain of it, perhaps nothing; None: it has ended."""
        ...

    def close(self) -> None:
        """Frees the memory."""
        ...


@dataclass(eq=False)
class Job:
    """A request's texts in the queue.

    Attributes:
        costs: tokens of each text, estimated.
        deadline: of `time.monotonic`.
        answers: an answer for each text; the future has them all.
        spent: what computing them took, with the texts that were computed by the same call.
    """

    handler: Handler
    given: Sequence[object]
    costs: Sequence[int]
    deadline: float
    arrived: float = field(default_factory=time.monotonic)
    started: float | None = None
    ended: float | None = None
    over: bool = False
    future: "Future[list[object]]" = field(default_factory=Future)
    answers: dict[int, object] = field(default_factory=dict)
    spent: list[Timings] = field(default_factory=list)

    @property
    def cost(self) -> int:
        return sum(self.costs)

    def refuse(self, refused: RequestRefused) -> None:
        self.future.set_exception(refused)


@dataclass(eq=False)
class WritingJob:
    """A generated text in the queue.

    Attributes:
        send: receives each part, and then OVER or the RequestRefused that ended it; called in the
            engine's thread.
        begun: when its first token was there.
        reading: its next part, which is not there yet.
        wanted: the pass that `reading` waits for.
        asked: orders the passes that texts wait for: the least was wanted first.
    """

    writing: Writing
    cost: int
    deadline: float
    send: Callable[[object], None]
    arrived: float = field(default_factory=time.monotonic)
    started: float | None = None
    begun: float | None = None
    ended: float | None = None
    over: bool = False
    reading: Passes[str | None] | None = None
    wanted: TextPass | None = None
    asked: int = 0

    def refuse(self, refused: RequestRefused) -> None:
        self.send(refused)


AnyJob = Job | WritingJob


def deadline_passed() -> RequestRefused:
    """Status 504."""
    return RequestRefused(504, "deadline_passed", "The deadline has passed.")


def engine_failed() -> RequestRefused:
    """Status 500."""
    return RequestRefused(500, "engine_failed", "The model failed at this request.")


EngineBatch = Sequence[tuple[Job, int]]
"""Texts: each a request and a place in it."""


class Queue:
    """The requests of one model that wait or run; used by several threads.

    Args:
        name: the model's.

    Attributes:
        state: of the model, which decides whether requests are accepted.
        left: called when a request whose texts are being computed is not wanted any more.
    """

    def __init__(self, name: str, limits: ServeLimits, metrics: Metrics) -> None:
        self.name, self._limits, self._meters = name, limits, metrics
        self.state: Literal["loading", "ready", "broken", "ended"] = "loading"
        self._turn = threading.Condition()
        self._waiting: list[tuple[Job, int]] = []
        self._new: list[WritingJob] = []
        self._writing: list[WritingJob] = []
        self._requests, self._tokens = 0, 0
        self._speed = [0.0, 0.0]  # tokens, seconds: of late
        self._running, self._joinable = 0, 0.0  # batches, and when the next one may join them
        self._watched = False  # whether a thread waits for that moment
        self.left: Callable[[], None] = lambda: None

    @property
    def idle(self) -> bool:
        """Whether no request waits or runs."""
        return self._requests == 0

    @property
    def full(self) -> RequestRefused | None:
        """The refusal of any request; None: there may be a place for one."""
        return self._no_place(1, 1) if self.state == "ready" else None

    def submit(self, jobs: Sequence[AnyJob]) -> None:
        """Reserves a place for each, before anything is computed: for all of them, or for none.

        Raises:
            RequestRefused: the model is being loaded, or there is no place; says when to try again.
        """
        with self._turn:
            self._admit(jobs)
            self._requests += len(jobs)
            cost = sum(job.cost for job in jobs)
            self._tokens += cost
            self._count()
            for job in jobs:
                if isinstance(job, Job):
                    self._waiting += [(job, place) for place in range(len(job.given))]
                else:
                    self._new.append(job)
            self._meters.tokens.labels("in").inc(cost)
            if not (self._running and self._watched):
                self._turn.notify(len(jobs))

    def drop(self, job: AnyJob) -> None:
        """Takes a job out of the queue: its client has gone."""
        with self._turn:
            computed = job.started is not None and not job.over
            self._leave(job)
        if computed:
            self.left()

    def next(self) -> tuple[EngineBatch, list[WritingJob]]:
        """Waits for work; the texts to compute next, which `ended` follows, and those to write.
        There are none when the queue is closed."""
        with self._turn:
            while self.state == "ready" and not self._due():
                self._watch()
            self._expire()
            batch = self._batch()
            if batch:
                self._running += 1
                self._joinable = time.monotonic() + JOIN_SECONDS
                if self._waiting:
                    self._turn.notify()
            while self._new and len(self._writing) < MOST_WRITERS:
                self._writing.append(self._new.pop(0))
            return batch, list(self._writing)

    def ended(self, tokens: int, seconds: float) -> None:
        """Notes that a batch is over, and what `measured` notes."""
        with self._turn:
            self._running -= 1
            self.measured(tokens, seconds)

    def answered(self, batch: EngineBatch, answers: Sequence[object]) -> None:
        """Notes the answers of a batch; a request that has all of its own is done."""
        with self._turn:
            for (job, place), answer in zip(batch, answers, strict=True):
                job.answers[place] = answer
                if len(job.answers) == len(job.given) and not job.over:
                    self._leave(job)
                    job.ended = time.monotonic()
                    job.future.set_result([job.answers[each] for each in range(len(job.given))])

    def refuse(self, job: AnyJob, refused: RequestRefused) -> None:
        with self._turn:
            self._refuse(job, refused)

    def written(self, job: WritingJob) -> None:
        with self._turn:
            self._leave(job)

    def measured(self, tokens: int, seconds: float) -> None:
        """Notes how long tokens took: waiting times are estimated from it."""
        with self._turn:
            before = self._speed
            self._speed = [0.9 * before[0] + tokens, 0.9 * before[1] + seconds]

    def close(self, state: Literal["broken", "ended"] = "broken") -> None:
        """Refuses all: the model is broken, or another one is in its place."""
        with self._turn:
            self.state = state
            for job in [*self._jobs_waiting(), *self._writing]:
                self._refuse(job, engine_failed())
            self._turn.notify_all()

    def _due(self) -> bool:
        if self._new or self._writing:
            return True
        joins = not self._running or time.monotonic() >= self._joinable
        return bool(self._waiting) and joins

    def _watch(self) -> None:
        """Waits for work; one thread only until what waits may join what runs."""
        if self._waiting and not self._watched:
            self._watched = True
            self._turn.wait(self._joinable - time.monotonic())
            self._watched = False
        else:
            self._turn.wait()

    def _admit(self, jobs: Sequence[AnyJob]) -> None:
        cost = sum(job.cost for job in jobs)
        if self.state != "ready":
            self._meters.rejected.labels("not_ready").inc()
            text = f"The model {self.name} is {self.state}."
            raise RequestRefused(503, "not_ready", text, retry_after=self._later())
        refused = self._no_place(len(jobs), cost)
        if refused is not None:
            self._meters.rejected.labels("queue_full").inc()
            raise refused
        wait = self._wait() or 0.0
        if time.monotonic() + wait > min(job.deadline for job in jobs):
            self._meters.rejected.labels("deadline").inc()
            text = f"The deadline would be missed: the queue takes about {wait:.1f} seconds."
            raise RequestRefused(429, "deadline_too_short", text, retry_after=self._later())

    def _no_place(self, requests: int, tokens: int) -> RequestRefused | None:
        for what, most, now, more in (
            ("requests", self._limits.queue_requests, self._requests, requests),
            ("tokens", self._limits.queue_tokens, self._tokens, tokens),
        ):
            if now + more > most:
                text = f"The queue is full: {now + more} {what}, and the limit is {most}."
                return RequestRefused(429, "queue_full", text, retry_after=self._later())
        return None

    def _later(self) -> int:
        """Seconds after which the queue is probably empty, with jitter: 1 to 60."""
        wait = self._wait()
        return max(
            1, min(60, math.ceil((1.0 if wait is None else wait) * random.uniform(0.8, 1.2)))
        )

    def _wait(self) -> float | None:
        """Seconds until what is in the queue now is computed; None: not known."""
        tokens, seconds = self._speed
        return self._tokens * seconds / tokens if tokens else None

    def _leave(self, job: AnyJob) -> None:
        if job.over:
            return
        job.over = True
        self._requests -= 1
        self._tokens -= job.cost
        self._count()
        if isinstance(job, Job):
            self._waiting = [each for each in self._waiting if each[0] is not job]
        else:
            self._new = [each for each in self._new if each is not job]
            self._writing = [each for each in self._writing if each is not job]

    def _refuse(self, job: AnyJob, refused: RequestRefused) -> None:
        if not job.over:
            self._leave(job)
            job.refuse(refused)

    def _jobs_waiting(self) -> list[AnyJob]:
        return [*dict.fromkeys(job for job, _ in self._waiting), *self._new]

    def _count(self) -> None:
        self._meters.queue_requests.labels(self.name).set(self._requests)
        self._meters.queue_tokens.labels(self.name).set(self._tokens)

    def _expire(self) -> None:
        now = time.monotonic()
        for job in self._jobs_waiting():
            if job.deadline < now:
                self._refuse(job, deadline_passed())

    def _batch(self) -> EngineBatch:
        """The next texts of one handler, within the budget."""
        if not self._waiting:
            return []
        now = time.monotonic()

        def order(each: tuple[Job, int]) -> tuple[int, int, float]:
            job, place = each
            age = int((now - job.arrived) / AGE_SECONDS)
            return -age, job.costs[place], job.arrived

        self._waiting.sort(key=order)
        handler, cost = self._waiting[0][0].handler, 0
        batch: list[tuple[Job, int]] = []
        others: list[tuple[Job, int]] = []
        for each in self._waiting:
            job, place = each
            fits = not batch or cost + job.costs[place] <= self._limits.batch_tokens
            if job.handler == handler and fits:
                cost += job.costs[place]
                batch.append(each)
            else:
                others.append(each)
        self._waiting = others
        for job, _ in batch:
            if job.started is None:
                job.started = now
                self._meters.queued.labels(self.name).observe(now - job.arrived)
        return batch
