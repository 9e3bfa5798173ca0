"""A load generator for HTTP: requests on a schedule of their own, whatever the server does.

A closed loop (the next request after the last answer) slows down together with the server, and so
hides the waiting time. Here requests are sent at the times of a Poisson process, each on a
connection of its own that is reused when it is free. Only for servers on this machine.
"""

import asyncio
import json
import math
import random
import time
from collections import Counter
from collections.abc import Awaitable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

SECONDS = 120.0
"""The time limit for an answer."""

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]

LOST = 0
"""The status of a request whose connection was cut."""


@dataclass(frozen=True)
class Reply:
    """An answer.

    Attributes:
        status: LOST if the connection was cut.
        seconds: from the time at which the request was due to the last byte of the answer.
        own: from the time at which the request was sent, which may be later.
        at: when it was due, in seconds from the beginning of the load.
        number: that of the request.
        again: the server closed an idle connection while the request was sent on it, and so it was
            sent again on a new one, as browsers do.
    """

    status: int
    seconds: float
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    own: float = 0.0
    at: float = 0.0
    number: int = 0
    again: bool = False

    @property
    def json(self) -> dict[str, object]:
        """The body."""
        content: dict[str, object] = json.loads(self.body)
        return content


@dataclass(frozen=True)
class Question:
    """A request: its path, and what is posted as JSON; None: a GET.

    Attributes:
        tag: is sent as `X-Request-Id`, which a server returns with the answer.
    """

    path: str
    body: object = None
    tag: str = ""

    def encoded(self, host: str) -> bytes:
        """The request as it is sent."""
        content = b"" if self.body is None else json.dumps(self.body).encode()
        method = "GET" if self.body is None else "POST"
        tag = f"X-Request-Id: {self.tag}\r\n" if self.tag else ""
        head = (
            f"{method} {self.path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            f"{tag}Content-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content


class Target:
    """A server, and the connections to it that are free.

    Args:
        url: http://HOST:PORT.
    """

    def __init__(self, url: str) -> None:
        self.host = url.removeprefix("http://").rstrip("/")
        name, _, port = self.host.rpartition(":")
        self.address = name, int(port)
        self._free: list[Connection] = []

    async def ask(self, question: Question) -> Reply:
        """Sends one request and reads its answer."""
        start, again = time.perf_counter(), False
        try:
            async with asyncio.timeout(SECONDS):
                free = self._connection()
                try:
                    status, headers, body = await self._exchange(free, question)
                except (ConnectionError, asyncio.IncompleteReadError) as error:
                    begun = isinstance(error, asyncio.IncompleteReadError) and error.partial
                    if free is None or begun:
                        raise
                    again = True
                    status, headers, body = await self._exchange(None, question)
        except (OSError, EOFError, TimeoutError, ValueError):
            return Reply(LOST, time.perf_counter() - start)
        return Reply(status, time.perf_counter() - start, headers, body, again=again)

    async def _exchange(
        self, connection: Connection | None, question: Question
    ) -> tuple[int, dict[str, str], bytes]:
        """Sends a request on a free connection, or on a new one."""
        if connection is None:
            connection = await asyncio.open_connection(*self.address)
        connection[1].write(question.encoded(self.host))
        reply = await read_reply(connection[0])
        if reply[1].get("connection") == "close":
            connection[1].close()
        else:
            self._free.append(connection)
        return reply

    def _connection(self) -> Connection | None:
        """A free connection that is open."""
        while self._free:
            reader, writer = self._free.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
        return None

    async def close(self) -> None:
        """Closes the free connections."""
        for _, writer in self._free:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        self._free = []


async def read_reply(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    """The status, the headers in lower case, and the body of an answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    status = int(head[0].split(" ")[1])
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
    return status, headers, await reader.readexactly(int(headers.get("content-length", "0")))


async def open_loop(
    target: Target,
    questions: Iterable[Question],
    rate: float,
    seconds: float,
    draw: random.Random,
) -> list[Reply]:
    """Sends requests at the times of a Poisson process; waits for all answers.

    Args:
        rate: requests a second.
        seconds: how long requests are sent.
    """
    begin = time.perf_counter()
    running: list[asyncio.Task[Reply]] = []
    due, number = draw.expovariate(rate), 0

    async def one(question: Question, due: float, number: int) -> Reply:
        reply = await target.ask(question)
        late = time.perf_counter() - begin - due
        return replace(reply, seconds=late, own=reply.seconds, at=due, number=number)

    given = iter(questions)
    while due < seconds:
        await asyncio.sleep(max(due - (time.perf_counter() - begin), 0.0))
        running.append(asyncio.create_task(one(next(given), due, number)))
        due, number = due + draw.expovariate(rate), number + 1
    return list(await asyncio.gather(*running))


async def closed_loop(
    target: Target, questions: Sequence[Question], together: int
) -> tuple[list[Reply], float]:
    """Answers questions as fast as the server can, `together` at a time; the replies, and seconds.

    The replies are in the order of the questions.
    """
    replies: list[Reply | None] = [None] * len(questions)
    left = iter(range(len(questions)))

    async def worker() -> None:
        for number in left:
            replies[number] = await target.ask(questions[number])

    begin = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(together)))
    seconds = time.perf_counter() - begin
    return [each for each in replies if each is not None], seconds


async def hang_ups(
    target: Target, questions: Iterable[Question], longest: float, draw: random.Random
) -> None:
    """Sends each request on a new connection, and closes it after a random time up to `longest`."""

    async def one(question: Question, seconds: float) -> None:
        with suppress(OSError):
            _, writer = await asyncio.open_connection(*target.address)
            writer.write(question.encoded(target.host))
            await writer.drain()
            await asyncio.sleep(seconds)
            writer.close()
            await writer.wait_closed()

    await asyncio.gather(*(one(each, draw.uniform(0.0, longest)) for each in questions))


async def while_probed(
    target: Target, question: Question, interval: float, work: Awaitable[object]
) -> list[Reply]:
    """Answers to one question that is asked at an interval while something else goes on."""
    replies: list[Reply] = []
    task = asyncio.ensure_future(work)
    while not task.done():
        replies.append(await target.ask(question))
        await asyncio.sleep(interval)
    await task
    return replies


async def slow_heads(
    target: Target, count: int, seconds: float, interval: float = 0.5
) -> Counter[str]:
    """Connections that send the head of a request a byte at a time; how each of them ended."""
    ended: Counter[str] = Counter()
    head = Question("/health").encoded(target.host)

    async def one() -> None:
        try:
            reader, writer = await asyncio.open_connection(*target.address)
            until = time.perf_counter() + seconds
            for byte in head[:-4]:
                if time.perf_counter() > until:
                    break
                writer.write(bytes([byte]))
                await writer.drain()
                with suppress(TimeoutError):
                    async with asyncio.timeout(interval):
                        if not await reader.read(1):
                            ended["closed by the server"] += 1
                            return
            ended["held open"] += 1
            writer.close()
        except OSError:
            ended["closed by the server"] += 1

    await asyncio.gather(*(one() for _ in range(count)))
    return ended


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(round(share * len(ordered), 9)) - 1)]


def statuses(replies: Iterable[Reply]) -> Counter[int]:
    """How many answers have each status."""
    return Counter(reply.status for reply in replies)
