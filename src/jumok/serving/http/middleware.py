"""The request context, and the middleware of every request."""

import asyncio
import re
import time
from collections.abc import Collection
from secrets import token_hex

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jumok.serving.clients import ClientDisconnected
from jumok.serving.http.access import (
    Allowance,
    bearer,
    check_host,
    check_key,
    check_origin,
)
from jumok.serving.http.models import Service
from jumok.serving.http.monitoring import fault_of, log
from jumok.serving.http.refusals import RequestRefused, api_of, refusal_of, response_to

CONTEXT = "jumok"
"""The key of a request's context in its scope."""

ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
HUNG_UP = 499  # nginx's number for it; it is not sent, only counted
CLOSE = (b"connection", b"close")
UNBOUND = ("/metrics", "/openapi.json")
"""Paths of no API."""


class RequestContext(Request):
    """A request, from its arrival to the end of its answer.

    Attributes:
        arrived: of `time.monotonic`.
        id: the client's, or a new one.
        route: the path of its route; "": none is known yet.
        allowance: what its client may still send.
        content: its body, once it is read.
        texts: for the log; with `ServeSettings.log_texts` alone.
        status: of the answer; 0: none was sent.
        error: what went wrong, for the log.
        is_admitted: whether a handler has it.
    """

    def __init__(self, scope: Scope, receive: Receive, service: Service) -> None:
        super().__init__(scope, receive)
        self.service = service
        self.arrived = time.monotonic()
        client_id = self.headers.get("x-request-id", "")
        self.id = client_id if ID.fullmatch(client_id) else token_hex(12)
        self.route, self.content = "", b""
        self.allowance: Allowance | None = None
        self.texts: list[object] = []
        self.status, self.error, self.is_admitted = 0, "", False

    def authorize(self, key: str | None, missing: int) -> None:
        """Checks the key of the request, and counts it where requests a minute are limited.

        Args:
            key: what the client gave; None: nothing.
            missing: the status for a request without a key.

        Raises:
            RequestRefused: the key is missing or wrong, or the client has sent too many requests.
        """
        keys = self.service.settings.keys
        check_key(keys, key, missing)
        if self.method == "POST":
            client = key if keys else (self.scope.get("client") or ("",))[0]
            self.allowance = self.service.rates.take(client)

    async def read(self) -> None:
        """Reads the body, within the limits of size and time.

        Raises:
            RequestRefused: it is too large, or too slow.
            ClientDisconnected: the client has closed the connection before its end.
        """
        limits = self.service.settings.limits
        length = self.headers.get("content-length", "0")
        if length.isdecimal() and int(length) > limits.body:
            raise _too_large(limits.body, int(length))
        parts, size = [], 0
        try:
            async with asyncio.timeout(limits.body_seconds):
                while True:
                    message = await self.receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnected
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > limits.body:
                        raise _too_large(limits.body, size)
                    if not message.get("more_body", False):
                        self.content = b"".join(parts)
                        return
        except TimeoutError:
            text = f"The body did not arrive within {limits.body_seconds:g} seconds."
            raise RequestRefused(408, "body_too_slow", text) from None

    def finish(self, route: str) -> None:
        """Counts the answer, and writes its line in the log."""
        seconds = time.monotonic() - self.arrived
        self.service.metrics.answered(route, self.status, seconds)
        line: dict[str, object] = {
            "id": self.id,
            "method": self.method,
            "route": route,
            "status": self.status,
            "ms": round(seconds * 1e3, 2),
        }
        if self.error:
            line["error"] = self.error
        if self.texts:
            line["texts"] = self.texts
        log(line)


class RequestMiddleware:
    """Checks what the head of a request tells, and answers errors in the form of their API.

    Args:
        paths: those of the routes; others are not named in the log.
    """

    def __init__(self, app: ASGIApp, service: Service, paths: Collection[str]) -> None:
        self._app, self._service, self._paths = app, service, frozenset(paths)
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An application of ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        context = scope[CONTEXT] = RequestContext(scope, receive, self._service)
        scope["app"] = self._app  # so that the router raises its errors

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                context.status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_headers(context)]
            await send(message)

        self._open += 1
        try:
            self._check(context)
            await self._app(scope, receive, answer)
        except ClientDisconnected:
            context.status = HUNG_UP
        except Exception as error:
            await self._refuse(context, error, answer)
        finally:
            self._open -= 1
            path = scope["path"]
            context.finish(context.route or (path if path in self._paths else "other"))

    def _check(self, context: RequestContext) -> None:
        """Raises RequestRefused: it is not to be answered, whatever its body says."""
        service, path = self._service, context.scope["path"]
        if path.startswith("/health"):
            return
        settings = service.settings
        check_host(settings.hosts, context.headers.get("host"))
        check_origin(settings.cors, context.headers, context.method)
        if service.closed:
            raise RequestRefused(503, "stopping", "The server is stopping.", retry_after=5)
        most = settings.limits.connections
        if self._open > most:
            text = f"{most} requests are being answered, and that is the limit."
            raise RequestRefused(429, "too_many_requests", text, retry_after=1)
        if path in UNBOUND or (path != "/" and api_of(path) != "libretranslate"):
            context.authorize(bearer(context.headers.get("authorization")), missing=401)

    async def _refuse(self, context: RequestContext, error: Exception, send: Send) -> None:
        refused = refusal_of(error, context.method)
        if refused.status == 500 and not isinstance(error, RequestRefused):
            context.error = fault_of(error)
        if isinstance(error, RequestRefused) and not context.is_admitted:
            self._service.metrics.rejected.labels(refused.code).inc()
        if context.status == 0:
            response = response_to(refused, context.scope["path"], context.id)
            await response(context.scope, context.receive, send)


def _headers(context: RequestContext) -> list[tuple[bytes, bytes]]:
    """What every answer has."""
    headers = [(b"x-request-id", context.id.encode()), (b"x-content-type-options", b"nosniff")]
    if context.allowance is not None:
        headers += Headers(context.allowance.headers).raw
    if context.status in (408, 413):  # the rest of the body stays unread
        headers.append(CLOSE)
    return headers


def _too_large(most: int, size: int) -> RequestRefused:
    text = f"A request has at most {most} bytes, and this one has {size} or more."
    return RequestRefused(413, "body_too_large", text)
