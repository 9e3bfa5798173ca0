"""From a request to the engine's answers: the deadline, the place in the queue, hang-ups."""

import asyncio
import re
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from jumok.serving.http.admission.passage import GONE, TEXTS
from jumok.serving.http.jobs import Job, Work, deadline_passed, timing_of
from jumok.serving.http.models import ServedModel, Service
from jumok.serving.http.refusals import RequestRefused, invalid

DEADLINE = "x-request-deadline"


class ClientGone(Exception):  # noqa: N818 - not an error
    """The client has closed the connection, so the answer is not wanted."""


@dataclass(frozen=True)
class Answered:
    """The engine's answers.

    Attributes:
        seconds: in the queue; of that part of the computation that reads sources, "encode", and
            that writes texts, "decode", where a model does both; and of all of it, "compute".
        engines: what searched for texts, "native" or "torch".
    """

    answers: list[Any]
    seconds: Mapping[str, float]
    engines: Set[str]

    @property
    def timing(self) -> str:
        """The value of the header Server-Timing, in milliseconds."""
        return timing_of(self.seconds)


def _answered(job: Job, found: list[Any]) -> Answered:
    started, ended = job.started or job.arrived, job.ended or time.monotonic()
    seconds = {"queue": started - job.arrived}
    for spent in job.spent:
        for part, each in spent.seconds.items():
            seconds[part] = seconds.get(part, 0.0) + each
    engines = set[str]().union(*(spent.engines for spent in job.spent))
    return Answered(found, seconds | {"compute": ended - started}, engines)


def service_of(request: Request) -> Service:
    """The service behind the routes."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


def deadline_of(request: Request, milliseconds: float | None = None) -> float:
    """When the answer has to be there, in seconds of `time.monotonic`.

    Args:
        milliseconds: from the body; the header X-Request-Deadline counts as well, and the server's
            own limit.

    Raises:
        RequestRefused: the header is not a positive number.
    """
    limit = service_of(request).settings.limits.seconds
    given = [limit] if milliseconds is None else [limit, milliseconds / 1000.0]
    header = request.headers.get(DEADLINE)
    if header is not None:
        if not re.fullmatch(r"\d{1,12}(\.\d{1,6})?", header, re.ASCII):
            raise invalid("X-Request-Deadline is a number of milliseconds.", "X-Request-Deadline")
        given.append(float(header) / 1000.0)
    arrived: float = request.scope.get("jumok.arrived", time.monotonic())
    return arrived + min(given)


def check_count(service: Service, count: int, name: str) -> None:
    """Checks the number of texts of a request.

    Raises:
        RequestRefused: there is none, or too many.
    """
    most = service.settings.limits.texts
    if not count:
        raise invalid(f"{name} is empty.", name)
    if count > most:
        text = f"A request has at most {most} texts, and this one has {count}."
        raise RequestRefused(400, "too_many_texts", text, parameter=name)


def check_tokens(service: Service, tokens: int, name: str) -> None:
    """Checks the estimated number of tokens of a request.

    Raises:
        RequestRefused: there are too many.
    """
    most = service.settings.limits.tokens
    if tokens > most:
        text = f"A request has at most {most} tokens, and this one has about {tokens}."
        raise RequestRefused(400, "too_many_tokens", text, parameter=name)


def check_whole(texts: Sequence[str], name: str) -> None:
    """Checks that texts are valid Unicode.

    Raises:
        RequestRefused: one has half a character in it (an unpaired surrogate).
    """
    for text in texts:
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise invalid(f"{name} is not valid Unicode.", name) from None


async def answered(
    request: Request,
    model: ServedModel,
    work: Work,
    given: Sequence[Any],
    costs: Sequence[int],
    deadline: float,
) -> Answered:
    """The engine's answers; the job leaves the queue when the client does.

    Raises:
        RequestRefused: there is no place in the queue, or the deadline has passed.
        ClientGone: the client has closed the connection.
    """
    note_texts(request, given)
    job = Job(work, given, costs, deadline)
    model.engine.queue.submit([job])
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def wake(_: object = None) -> None:
        if not over.done():
            over.set_result(None)

    # `asyncio.wait` would do the same in three times the time
    job.future.add_done_callback(lambda _: loop.call_soon_threadsafe(wake))
    gone = hang_up(request)
    gone.add_done_callback(wake)
    timer = loop.call_later(max(deadline - time.monotonic(), 0.0), wake)
    try:
        await over
        if job.future.done():
            return _answered(job, job.future.result())
        if gone.done():
            service_of(request).meters.cancelled.inc()
            raise ClientGone
        raise deadline_passed()
    finally:
        timer.cancel()
        gone.remove_done_callback(wake)
        stop_waiting(gone)
        model.engine.queue.drop(job)


def note_texts(request: Request, given: Sequence[object]) -> None:
    """Notes the texts of a request for the log, if it is to have them; never images."""
    if service_of(request).settings.log_texts:
        request.scope[TEXTS] = [each for each in given if isinstance(each, str | tuple)]


def hang_up(request: Request) -> "asyncio.Future[None]":
    """Is done when the client has closed the connection; `stop_waiting` ends it."""
    known: asyncio.Future[None] | None = (request.scope.get("state") or {}).get(GONE)
    return asyncio.ensure_future(_disconnected(request)) if known is None else known


def stop_waiting(gone: "asyncio.Future[None]") -> None:
    """Ends the waiting for a client's end, where it is this request's and not its connection's."""
    if isinstance(gone, asyncio.Task):
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
