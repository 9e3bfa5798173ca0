"""Streaming of generated texts from the engine's thread."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence

from jumok.serving.clients import ClientDisconnected
from jumok.serving.http.api.submit import disconnected, log_texts, timing_of
from jumok.serving.http.handlers import Continuation
from jumok.serving.http.models import ServedModel
from jumok.serving.http.queue import OVER, WritingJob, deadline_passed
from jumok.serving.http.refusals import RequestRefused
from jumok.serving.http.requests import RequestContext
from jumok.systems.conversation import text_before


class TextsInWriting:
    """The texts of one request, which the engine writes at the same time.

    Raises:
        RequestRefused: there is no place in the queue for all of them.
    """

    def __init__(
        self,
        context: RequestContext,
        model: ServedModel,
        texts: Sequence[Continuation],
        costs: Sequence[int],
        deadline: float,
    ) -> None:
        log_texts(context, [text_before(text.prompt) for text in texts])
        self.texts, self._deadline = texts, deadline
        self._model, self._meters = model, context.service.metrics
        self._begun = time.monotonic()
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[int, object]] = asyncio.Queue()
        self._jobs = [
            WritingJob(text, cost, deadline, self._sender(number))
            for number, (text, cost) in enumerate(zip(texts, costs, strict=True))
        ]
        model.engine.queue.submit(self._jobs)

    def _sender(self, number: int) -> Callable[[object], None]:
        def send(part: object) -> None:  # in the engine's thread
            self._loop.call_soon_threadsafe(self._queue.put_nowait, (number, part))

        return send

    @property
    def timing(self) -> str:
        """The header Server-Timing: until the first text was begun, until it had a token, and until
        all had ended."""
        jobs = self._jobs
        started = min(job.started or job.arrived for job in jobs)
        begun = min(job.begun or started for job in jobs)
        ended = max(job.ended or begun for job in jobs)
        return timing_of(
            {
                "queue": started - min(job.arrived for job in jobs),
                "encode": begun - started,
                "decode": ended - begun,
                "compute": ended - started,
            }
        )

    def drop(self) -> None:
        """Takes the texts out of the queue."""
        for job in self._jobs:
            self._model.engine.queue.drop(job)

    async def parts(self) -> AsyncIterator[tuple[int, str | None]]:
        """The number of a text with its next part, and with None at its end.

        Raises:
            RequestRefused: the deadline has passed, or the model failed.
        """
        left, first = len(self.texts), True
        try:
            while left:
                seconds = max(self._deadline - time.monotonic(), 0.0)
                try:
                    # not `wait_for`: of Python 3.11 it swallows the end of the connection, a
                    # cancellation, whenever a part is there at the same time
                    async with asyncio.timeout(seconds):
                        number, part = await self._queue.get()
                except TimeoutError:
                    raise deadline_passed() from None
                await asyncio.sleep(0)  # `get` does not wait where the engine is ahead
                if isinstance(part, RequestRefused):
                    raise part
                if first:
                    begun = time.monotonic() - self._begun
                    self._meters.first_token.labels(self._model.id).observe(begun)
                    first = False
                left -= part is OVER
                yield number, part if isinstance(part, str) else None
        finally:
            self.drop()
            self._meters.tokens.labels("out").inc(sum(text.tokens for text in self.texts))


async def collected(context: RequestContext, writing: TextsInWriting) -> list[str]:
    """The whole texts; raises what `parts` does, or ClientDisconnected."""
    parts_of_text: list[list[str]] = [[] for _ in writing.texts]

    async def collect() -> None:
        async for number, part in writing.parts():
            parts_of_text[number].append(part or "")

    work = asyncio.ensure_future(collect())
    gone = asyncio.ensure_future(disconnected(context))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            context.service.metrics.cancelled.inc()
            raise ClientDisconnected
        work.result()
        return ["".join(each) for each in parts_of_text]
    finally:
        gone.cancel()
        work.cancel()
        writing.drop()
