"""What the queue of a model holds: requests for answers, and texts that are to be written."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from jumok.engine.language import Reading, TextPass
from jumok.serving.http.refusals import RequestRefused
from jumok.stopwatch import Spent

OVER: object = object()


class Work(Protocol):
    """What is asked of each text. Equal works are computed together; hashable."""

    def run(self, given: Sequence[Any]) -> Sequence[object]:
        """An answer for each."""
        ...


class Writing(Protocol):
    """A text that is written token by token."""

    @property
    def tokens(self) -> int:
        """How many are written."""
        ...

    def next_part(self) -> Reading[str | None]:
        """What one more token makes certain of it, perhaps nothing; None: it has ended."""
        ...

    def close(self) -> None:
        """Frees what the writing needs."""
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
    spent: list[Spent] = field(default_factory=list)

    @property
    def cost(self) -> int:
        return sum(self.costs)

    def refuse(self, refused: RequestRefused) -> None:
        """Ends it without an answer."""
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
    reading: Reading[str | None] | None = None
    wanted: TextPass | None = None
    asked: int = 0

    def refuse(self, refused: RequestRefused) -> None:
        """Ends it without further parts."""
        self.send(refused)


AnyJob = Job | WritingJob


def timing_of(seconds: Mapping[str, float]) -> str:
    """The value of the header Server-Timing, in milliseconds."""
    return ", ".join(f"{name};dur={each * 1e3:.2f}" for name, each in seconds.items())


def deadline_passed() -> RequestRefused:
    """The refusal of a request whose deadline is over."""
    return RequestRefused(504, "deadline_passed", "The deadline has passed.")


def engine_failed() -> RequestRefused:
    """The refusal of a request that the model failed at."""
    return RequestRefused(500, "engine_failed", "The model failed at this request.")
