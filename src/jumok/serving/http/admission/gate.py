"""What every request passes: its id, its key, the limit of its body, the log and the metrics."""

import asyncio
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jumok.serving.http.access import bearer, check_host, check_key
from jumok.serving.http.admission.overload import Overload
from jumok.serving.http.admission.passage import ARRIVED, BODY, Passage
from jumok.serving.http.logs import fault_of
from jumok.serving.http.models import Service
from jumok.serving.http.refusals import RequestRefused, dialect_of, response_to

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


def check_request(service: Service, overload: Overload, scope: Scope, headers: Headers) -> None:
    """Checks what the head of a request tells.

    Raises:
        RequestRefused: it is not to be answered, whatever its body says.
    """
    path = scope["path"]
    if path.startswith("/health"):
        return
    check_host(service.settings.hosts, headers.get("host"))
    if service.closed:
        raise RequestRefused(503, "stopping", "The server is stopping.", retry_after=5)
    dialect = dialect_of(path)
    if path != "/" and (dialect != "libretranslate" or path in UNBOUND):
        admit(service, scope, bearer(headers.get("authorization")), missing=401)
    elif service.settings.keys or service.rates.rate:
        return  # the key may be in the body
    if scope["method"] == "POST" and (refused := overload.refusal(path)) is not None:
        raise refused


class Gate:
    """Wraps the application.

    Its refusals are in the dialect of the path. Bodies arrive completely, within the limits of size
    and time, before the application sees them.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service
        self._overload = Overload(service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        passage = Passage(scope, headers)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                passage.status = message["status"]
                message["headers"] = [*message.get("headers", ()), *passage.headers]
                if passage.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                    # the rest of the body stays unread
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        try:
            await self._pass(scope, headers, receive, answer)
        except Exception as error:
            passage.error = fault_of(error)
            if passage.status == 0:
                refused = RequestRefused(500, "internal_error", "The server failed.")
                await response_to(refused, scope["path"], passage.id)(scope, receive, answer)
        finally:
            passage.note(self.service)

    async def _pass(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        try:
            check_request(self.service, self._overload, scope, headers)
            body = await self._body(scope, headers, receive)
        except RequestRefused as refused:
            self.service.meters.rejected.labels(refused.code).inc()
            await response_to(refused, scope["path"], scope["jumok.id"])(scope, receive, send)
            return
        if body is not None:
            scope[BODY] = body
            await self.app(scope, _replayed(body, receive), send)

    async def _body(self, scope: Scope, headers: Headers, receive: Receive) -> bytes | None:
        """The whole body; None if the client closed the connection before its end."""
        limits = self.service.settings.limits
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > limits.body:
            raise _too_large(limits.body, int(length))
        parts, size, whole = [], 0, (scope.get("state") or {}).get(ARRIVED)
        try:
            # no timer for what is there already: it would take longer than the reading
            async with asyncio.timeout(None if whole else limits.body_seconds):
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
