"""Connections that cannot be held open for nothing, and refusals that cost next to nothing.

uvicorn waits without a limit for the head of a request, for its end, and for a client that does not
read its answer. Here all have to go on in time, and within a size, so that slow clients do not use
up the process's files and memory. A connection over the number that is served gets an answer to its
first request, a refusal, and is closed; over twice the number it is closed at once.

The parser is llhttp (httptools), which is written in C. It has no limit on the size of a head, so
the limits are here.
"""

import asyncio
from collections.abc import Callable
from typing import ClassVar

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from starlette.responses import Response
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from jumok.serving.http.admission.passage import ARRIVED, GONE
from jumok.serving.http.settings import ServeLimits

HEAD_BYTES = 64 * 1024
"""The most bytes of a head, and of what follows a body (trailers)."""

FIELD_BYTES = 32
"""What a field counts besides its name and its value."""

PIPELINED = 32
"""Requests that one connection may send before the first of them is answered."""

Refuse = Callable[..., Response | None]
"""The refusal of a request before its body is read, or None: it is to be answered.

It is called with the request's scope, and whether more connections are open than are served.
"""


class HeadTooLarge(ValueError):  # noqa: N818 - the client's
    """The head of a request, or what follows its body, has too many bytes."""


class LimitedConnection(HttpToolsProtocol):
    """One connection, whose requests have to arrive in time, and whose answers have to be read.

    Attributes:
        count: called with the reason for which a connection is closed.
        refuse: called for each request.
    """

    limits: ClassVar[ServeLimits]
    count: ClassVar[Callable[[str], None]]
    refuse: ClassVar[Refuse]
    _overdue: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _gone: asyncio.Future[None] | None = None
    _in_head = False
    _in_body = False
    _crowded = False
    _size = 0
    """Bytes of header fields of this request."""
    _discarded = 0
    """Bytes of a body that came after its request was answered."""
    _pending = 0
    """Bytes that were received since the last whole header field or part of a body."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        most = self.limits.connections
        self._crowded = len(self.connections) > most
        if len(self.connections) > 2 * most:
            self._close("too_many_connections")
        else:
            self._wait(self.limits.idle_seconds, "idle")

    def data_received(self, data: bytes) -> None:
        self._pending += len(data)
        self._unset_keepalive_if_required()
        self._feed(data)
        if self.transport.is_closing():
            self._stop_waiting()
        elif self._pending > HEAD_BYTES:
            self._refuse_head()
        elif self._discarded > self.limits.body:
            self._close("body_too_large")
        elif len(self.pipeline) > PIPELINED:
            self._close("too_many_pipelined")
        else:
            self._watch()

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as asked:
            self._feed_without_upgrade(data[asked.args[0] :])
        except HttpParserError:
            self.send_400_response("Invalid HTTP request received.")

    def _feed_without_upgrade(self, rest: bytes) -> None:
        """Answers a request for another protocol in this one, as a server may.

        llhttp takes what follows its head for the other protocol. So the head is parsed again
        without the wish. (Java's HTTP client asks for HTTP/2 in this way.)
        """
        method = self.parser.get_method()
        if method == b"CONNECT":
            self.send_400_response("Invalid HTTP request received.")
            return
        lines = [b"%s %s HTTP/%s" % (method, self.url, self.parser.get_http_version().encode())]
        lines += [b"%s: %s" % field for field in self.headers if field[0] != b"upgrade"]
        self.parser = HttpRequestParser(self)
        self._feed(b"\r\n".join(lines) + b"\r\n\r\n" + rest)

    def _watch(self) -> None:
        """Limits the time for what the client has to send next."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()  # the application is at work, or waits for the body
        elif self._overdue is None:  # later bytes do not extend the time
            if self._in_head:
                self._wait(self.limits.head_seconds, "head_too_slow")
            elif self._in_body:
                self._wait(self.limits.body_seconds, "body_too_slow")
            elif self.timeout_keep_alive_task is None:
                self._wait(self.limits.idle_seconds, "idle")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._size, self._discarded = True, 0, 0
        self._stop_waiting()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._pending = 0
        self._size += FIELD_BYTES + len(name) + len(value)
        if self._size > HEAD_BYTES:
            raise HeadTooLarge
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # it is parsed again
        self._in_head, self._in_body = False, True
        self._stop_waiting()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._pending = 0
        if self.cycle.response_complete:
            self._discarded += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._in_body, self._pending = False, 0
        self._stop_waiting()
        self.scope["state"][ARRIVED] = True
        super().on_message_complete()
        self._forget()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._forget()

    def _forget(self) -> None:
        """Drops what is known of a request that is answered: idle connections take memory too."""
        between = not (self._in_head or self._in_body)
        if between and self.cycle is not None and self.cycle.response_complete:
            self.scope = self.headers = self.cycle = None  # type: ignore[assignment]

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        if self._crowded:
            cycle.keep_alive = False
        # Who does not read the answers gets no further ones without waiting.
        refused = None if self.flow.write_paused else type(self).refuse(cycle.scope, self._crowded)
        if refused is None:
            if self._gone is None:
                self._gone = self.loop.create_future()
            cycle.scope["state"][GONE] = self._gone
            super()._start_asgi_task(cycle, app)
        else:
            self._answer(cycle, refused)

    def _answer(self, cycle: RequestResponseCycle, response: Response) -> None:
        """Sends a response without a task, and without the application."""
        lines = [STATUS_LINE[response.status_code]]
        for name, value in (*self.server_state.default_headers, *response.raw_headers):
            lines += (name, b": ", value, b"\r\n")
        lines.append(b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n")
        lines.append(bytes(response.body))
        cycle.response_started = cycle.response_complete = True
        self.transport.write(b"".join(lines))
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()

    def _refuse_head(self) -> None:
        type(self).count("head_too_large")
        text = b"The head of the request is too large."
        lines = [STATUS_LINE[431], b"content-type: text/plain; charset=utf-8\r\n"]
        lines.append(b"content-length: %d\r\nconnection: close\r\n\r\n" % len(text))
        self.transport.write(b"".join([*lines, text]))
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        seconds = self.limits.write_seconds
        self._unread = self.loop.call_later(seconds, self._close, "answer_not_read")

    def resume_writing(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self._unread is not None:
            self._unread.cancel()
        if self._gone is not None and not self._gone.done():
            self._gone.set_result(None)
        super().connection_lost(exc)

    def _wait(self, seconds: float, reason: str) -> None:
        """Closes the connection if what it waits for has not arrived after this many seconds."""
        self._stop_waiting()
        self._overdue = self.loop.call_later(seconds, self._close, reason)

    def _stop_waiting(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None

    def _close(self, reason: str) -> None:
        type(self).count(reason)
        self.transport.abort()


def connections(
    limits: ServeLimits, count: Callable[[str], None], refuse: Refuse
) -> type[LimitedConnection]:
    """The class of the connections of a server with these limits."""
    own = {"limits": limits, "count": staticmethod(count), "refuse": staticmethod(refuse)}
    return type("ServedConnection", (LimitedConnection,), own)
