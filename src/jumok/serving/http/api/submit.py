"""Submission of requests to a model's queue."""

import asyncio
import re
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from jumok.decoding.options import DecodingOptions
from jumok.options import options_of
from jumok.serving.clients import ClientDisconnected
from jumok.serving.http.models import ServedModel, Service
from jumok.serving.http.queue import Handler, Job, deadline_passed
from jumok.serving.http.refusals import RequestRefused, invalid
from jumok.serving.http.requests import RequestContext

DEADLINE = "x-request-deadline"
DECODING = options_of(DecodingOptions)


@dataclass(frozen=True)
class EngineAnswers:
    """
    Attributes:
        seconds: in the "queue", of the whole computation, "compute", and of its parts "encode" and
            "decode" where a model has both.
        engines: what searched for texts, "native" or "torch".
    """

    answers: list[Any]
    seconds: Mapping[str, float]
    engines: Set[str]

    @property
    def timing(self) -> str:
        """The header Server-Timing."""
        return timing_of(self.seconds)


def timing_of(seconds: Mapping[str, float]) -> str:
    """The value of the header Server-Timing, in milliseconds."""
    return ", ".join(f"{name};dur={each * 1e3:.2f}" for name, each in seconds.items())


def _engine_answers(job: Job, answers: list[Any]) -> EngineAnswers:
    started, ended = job.started or job.arrived, job.ended or time.monotonic()
    seconds = {"queue": started - job.arrived}
    for spent in job.spent:
        for part, each in spent.seconds.items():
            seconds[part] = seconds.get(part, 0.0) + each
    engines = set[str]().union(*(spent.engines for spent in job.spent))
    return EngineAnswers(answers, seconds | {"compute": ended - started}, engines)


def deadline_of(context: RequestContext, milliseconds: float | None = None) -> float:
    """When the answer has to be there, in seconds of `time.monotonic`.

    Args:
        milliseconds: from the body; the header X-Request-Deadline counts as well, and the server's
            own limit.

    Raises:
        RequestRefused: the header is not a positive number.
    """
    limit = context.service.settings.limits.seconds
    given = [limit] if milliseconds is None else [limit, milliseconds / 1000.0]
    header = context.headers.get(DEADLINE)
    if header is not None:
        if not re.fullmatch(r"\d{1,12}(\.\d{1,6})?", header, re.ASCII):
            raise invalid("X-Request-Deadline is a number of milliseconds.", "X-Request-Deadline")
        given.append(float(header) / 1000.0)
    return context.arrived + min(given)


def check_texts(service: Service, texts: Sequence[str], name: str) -> None:
    """Checks the number of a request's texts, and that they are valid Unicode.

    Raises:
        RequestRefused: there is none, there are too many, or one has half a character in it (an
            unpaired surrogate).
    """
    check_count(service, len(texts), name)
    for text in texts:
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise invalid(f"{name} is not valid Unicode.", name) from None


def check_count(service: Service, count: int, name: str) -> None:
    """Raises RequestRefused: there is no text, or there are too many."""
    most = service.settings.limits.texts
    if not count:
        raise invalid(f"{name} is empty.", name)
    if count > most:
        text = f"A request has at most {most} texts, and this one has {count}."
        raise RequestRefused(400, "too_many_texts", text, parameter=name)


def check_token_count(service: Service, tokens: int, name: str) -> None:
    """Raises RequestRefused: the estimated tokens of a request are too many."""
    most = service.settings.limits.tokens
    if tokens > most:
        text = f"A request has at most {most} tokens, and this one has about {tokens}."
        raise RequestRefused(400, "too_many_tokens", text, parameter=name)


def costs_of(
    service: Service,
    model: ServedModel,
    texts: Sequence[str],
    name: str,
    options: DecodingOptions | None = None,
) -> list[int]:
    """The tokens of each text, estimated; with options of decoding those that are computed.

    Raises:
        RequestRefused: there are too many.
    """
    costs = [model.cost(text) for text in texts]
    if options is not None:
        costs = [decoding_cost(each, options) for each in costs]
    check_token_count(service, sum(costs), name)
    return costs


async def submit(
    context: RequestContext,
    model: ServedModel,
    handler: Handler,
    inputs: Sequence[Any],
    costs: Sequence[int],
    milliseconds: float | None = None,
) -> EngineAnswers:
    """The engine's answers; the job leaves the queue when the client does.

    Args:
        costs: tokens of each input, estimated.
        milliseconds: the deadline, from the body.

    Raises:
        RequestRefused: there is no place in the queue, or the deadline has passed.
        ClientDisconnected: the client has closed the connection.
    """
    deadline = deadline_of(context, milliseconds)
    log_texts(context, inputs)
    job = Job(handler, inputs, costs, deadline)
    model.engine.queue.submit([job])
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def wake(_: object = None) -> None:
        if not over.done():
            over.set_result(None)

    # `asyncio.wait` would do the same in three times the time
    job.future.add_done_callback(lambda _: loop.call_soon_threadsafe(wake))
    gone = asyncio.ensure_future(disconnected(context))
    gone.add_done_callback(wake)
    timer = loop.call_later(max(deadline - time.monotonic(), 0.0), wake)
    try:
        await over
        if job.future.done():
            return _engine_answers(job, job.future.result())
        if gone.done():
            context.service.metrics.cancelled.inc()
            raise ClientDisconnected
        raise deadline_passed()
    finally:
        timer.cancel()
        gone.cancel()
        model.engine.queue.drop(job)


def log_texts(context: RequestContext, inputs: Sequence[object]) -> None:
    """Keeps texts for the log, if it is to have them; never images."""
    if context.service.settings.log_texts:
        context.texts = [each for each in inputs if isinstance(each, str | tuple)]


async def disconnected(context: RequestContext) -> None:
    """Waits until the client has closed the connection."""
    while (await context.receive())["type"] != "http.disconnect":
        pass


def decoding_fields(defaults: DecodingOptions, *without: str) -> dict[str, Any]:
    """The fields of pydantic's `create_model`, with the help and the limits of the options.

    Each may be null (`given_options`).

    Args:
        without: options that a route does not have.
    """
    return {
        name: (
            known.kind | None,
            Field(
                getattr(defaults, name),
                description=known.option.help,
                ge=known.option.minimum,
                gt=known.option.above,
                le=known.option.maximum,
            ),
        )
        for name, known in DECODING.items()
        if name not in without
    }


def given_options(asked: BaseModel) -> dict[str, Any]:
    """The options that a request names; null is as if one were left out, unless it is a value."""
    given = {
        name: (getattr(asked, name), known.optional)
        for name, known in DECODING.items()
        if name in asked.model_fields_set
    }
    return {name: value for name, (value, null) in given.items() if null or value is not None}


def decoding_of(
    service: Service, given: Mapping[str, Any], defaults: DecodingOptions, alternatives: int = 0
) -> DecodingOptions:
    """The options of a request.

    Args:
        given: `given_options`.
        alternatives: outputs that are wanted besides the best; the beam is as large as they need.

    Raises:
        ConfigError: the options contradict each other.
        RequestRefused: they are more than this server does.
    """
    limits = service.settings.limits
    if alternatives > limits.alternatives:
        text = f"At most {limits.alternatives} alternatives are returned, and {alternatives} were "
        text += "asked for."
        raise RequestRefused(400, "too_many_alternatives", text, parameter="alternatives")
    if alternatives:
        beam = max(given.get("beam", defaults.beam), alternatives + 1)
        given = {**given, "beam": beam, "nbest": alternatives + 1}
    options = defaults.changed(given)
    for name, most in (("beam", limits.beam), ("maximum_length", limits.tokens)):
        if getattr(options, name) > most:
            text = f"{name} is at most {most} on this server, and {getattr(options, name)} was "
            raise invalid(f"{text}asked for.", name)
    return options


def decoding_cost(cost: int, options: DecodingOptions) -> int:
    """The tokens that are computed, from those of the source."""
    return max(cost, options.minimum_length) * options.nbest
