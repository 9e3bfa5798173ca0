"""Connections that cannot be held open for nothing.

uvicorn waits without a limit for the head of a request, and for a client that does not read its
answer. Here both have to go on in time, and connections over a number are closed at once, so that
slow clients do not use up the process's files and memory.
"""

import asyncio
from collections.abc import Callable
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from jumok.serving.http.settings import ServeLimits


class LimitedConnection(H11Protocol):
    """One connection, whose requests have to arrive in time, and whose answers have to be read.

    Attributes:
        count: called with the reason for which a connection is closed.
    """

    limits: ClassVar[ServeLimits]
    count: ClassVar[Callable[[str], None]]
    _overdue: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _in_head = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._close("too_many_connections")
        else:
            self._wait(self.limits.idle_seconds, "idle")

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._in_head = False
            self._stop_waiting()
        elif not self._in_head:  # later bytes do not extend the time
            self._in_head = True
            self._wait(self.limits.head_seconds, "head_too_slow")

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
        super().connection_lost(exc)

    def _wait(self, seconds: float, reason: str) -> None:
        """Closes the connection if no head has arrived after this many seconds."""
        self._stop_waiting()
        self._overdue = self.loop.call_later(seconds, self._close, reason)

    def _stop_waiting(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None

    def _close(self, reason: str) -> None:
        type(self).count(reason)
        self.transport.abort()


def connections(limits: ServeLimits, count: Callable[[str], None]) -> type[LimitedConnection]:
    """The class of the connections of a server with these limits."""
    own = {"limits": limits, "count": staticmethod(count)}
    return type("ServedConnection", (LimitedConnection,), own)
