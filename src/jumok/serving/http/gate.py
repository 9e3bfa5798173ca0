"""What every request passes: its id, its key, the limit of its body, the log and the metrics."""

import asyncio
import re
import time
from http import HTTPStatus
from secrets import token_hex

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jumok.serving.http.access import bearer, check_host, check_key
from jumok.serving.http.logs import fault_of, log
from jumok.serving.http.models import Service
from jumok.serving.http.refusals import RequestRefused, dialect_of, response_to

ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")

TEXTS = "jumok.texts"
"""The key of a request's texts in its scope; only with `ServeSettings.log_texts` are they there."""

UNBOUND = ("/metrics", "/openapi.json")
"""Paths of no dialect."""


def admit(service: Service, scope: Scope, key: str | None, missing: int) -> None:
    """Checks the key of a request, and counts it where requests a minute are limited.

    Args:
        key: what the client gave; None: nothing.
        missing: the status for a request without a key.

    Raises:
        RequestRefused: the key is missing or wrong, or the client has sent too many requests.
    """
    check_key(service.settings.keys, key, missing)
    if scope["method"] == "POST":
        client = key if service.settings.keys else (scope.get("client") or ("",))[0]
        scope["jumok.allowance"] = service.rates.take(client)


class Gate:
    """Wraps the application.

    Its refusals are in the dialect of the path. Bodies arrive completely, within the limits of size
    and time, before the application sees them.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        passage = _Passage(scope, send)
        try:
            await self._pass(scope, receive, passage)
        except Exception as error:
            passage.error = fault_of(error)
            if passage.status == 0:
                refused = RequestRefused(500, "internal_error", "The server failed.")
                await response_to(refused, scope["path"], passage.id)(scope, receive, passage.send)
        finally:
            self._note(scope, passage)

    async def _pass(self, scope: Scope, receive: Receive, passage: "_Passage") -> None:
        path, headers = scope["path"], Headers(scope=scope)
        try:
            self._check(scope, headers)
            body = await self._body(headers, receive)
        except RequestRefused as refused:
            self.service.meters.rejected.labels(refused.code).inc()
            await response_to(refused, path, passage.id)(scope, receive, passage.send)
            return
        if body is not None:
            await self.app(scope, _replayed(body, receive), passage.send)

    def _check(self, scope: Scope, headers: Headers) -> None:
        path, service = scope["path"], self.service
        if path.startswith("/health"):
            return
        check_host(service.settings.hosts, headers.get("host"))
        if service.closed:
            raise RequestRefused(503, "stopping", "The server is stopping.", retry_after=5)
        if path != "/" and (dialect_of(path) != "libretranslate" or path in UNBOUND):
            key = bearer(headers.get("authorization"))
            admit(service, scope, key, missing=401)

    async def _body(self, headers: Headers, receive: Receive) -> bytes | None:
        """The whole body; None if the client closed the connection before its end."""
        limits = self.service.settings.limits
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > limits.body:
            raise _too_large(limits.body, int(length))
        parts, size = [], 0
        try:
            async with asyncio.timeout(limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > limits.body:
                        raise _too_large(limits.body, size)
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            text = f"The body did not arrive within {limits.body_seconds:g} seconds."
            raise RequestRefused(408, "body_too_slow", text) from None

    def _note(self, scope: Scope, passage: "_Passage") -> None:
        route = getattr(scope.get("route"), "path", "other")
        seconds, meters = time.monotonic() - passage.arrived, self.service.meters
        meters.requests.labels(route, str(passage.status)).inc()
        meters.seconds.labels(route).observe(seconds)
        line: dict[str, object] = {
            "id": passage.id,
            "method": scope["method"],
            "route": route,
            "status": passage.status,
            "ms": round(seconds * 1e3, 2),
        }
        if passage.error:
            line["error"] = passage.error
        if texts := scope.get(TEXTS):
            line["texts"] = texts
        log(line)


class _Passage:
    """One request on its way through."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.arrived = scope["jumok.arrived"] = time.monotonic()
        given = Headers(scope=scope).get("x-request-id", "")
        self.id = scope["jumok.id"] = given if ID.fullmatch(given) else token_hex(12)
        self.status, self.error = 0, ""
        self._send, self._scope = send, scope

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self.id
            headers["X-Content-Type-Options"] = "nosniff"
            if allowance := self._scope.get("jumok.allowance"):
                headers.update(allowance.headers)
            if self.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                headers["Connection"] = "close"  # the rest of the body stays unread
        await self._send(message)


def _too_large(most: int, size: int) -> RequestRefused:
    text = f"A request has at most {most} bytes, and this one has {size} or more."
    return RequestRefused(413, "body_too_large", text)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Gives the application the body, and then what the connection reports."""
    left = [body]

    async def next_message() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return next_message
