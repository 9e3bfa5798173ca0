"""A request from its arrival to its endpoint: its context, the middleware, and the routes."""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from inspect import signature
from secrets import token_hex
from typing import get_type_hints

from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jumok.serving.clients import ClientDisconnected
from jumok.serving.http.access import PREFIX, Allowance, check_host, check_key, check_origin
from jumok.serving.http.models import Service
from jumok.serving.http.monitoring import fault_of, log
from jumok.serving.http.refusals import RequestRefused, invalid, refusal_of, response_to

CONTEXT = "jumok"
"""The key of a request's context in its scope."""

ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
HUNG_UP = 499  # nginx's number for it; it is not sent, only counted
CLOSE = (b"connection", b"close")
UNBOUND = ("/metrics", "/openapi.json")
"""Paths of no API."""

Endpoint = Callable[..., Awaitable[Response]]
"""It is called with the context of a request, and if it names one, with a model of the body."""


class RequestContext(Request):
    """A request, from its arrival to the end of its answer.

    Attributes:
        arrived: of `time.monotonic`.
        id: the client's, or a new one.
        route: the path of its route; "": none is known yet.
        allowance: what its client may still send.
        content: its body, once it is read.
        texts: for the log.
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

    @property
    def bearer(self) -> str | None:
        """The key in the header Authorization."""
        kind, _, key = self.headers.get("authorization", "").partition(" ")
        return key.strip() or None if kind.lower() == "bearer" else None

    @property
    def public_url(self) -> str:
        """The address of the server as its client knows it, with a / at the end.

        Behind a proxy it begins with what X-Forwarded-Prefix says, or with the server's own path.
        """
        given = self.headers.get("x-forwarded-prefix", "")
        prefix = given if PREFIX.fullmatch(given) else self.service.settings.root_path
        return f"{str(self.base_url).rstrip('/')}{prefix}/"

    def authorize(self, key: str | None, missing: int) -> None:
        """Checks the client's key, and counts the request where their rate is limited.

        Args:
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
        """Reads the body.

        Raises:
            RequestRefused: it is too large, or too slow.
            ClientDisconnected: the client has closed the connection before its end.
        """
        limits = self.service.settings.limits
        length = self.headers.get("content-length", "0")
        if length.isdecimal() and int(length) > limits.body:
            raise _body_too_large(limits.body, int(length))
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
                        raise _body_too_large(limits.body, size)
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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

        self._service.open.add(context)
        try:
            self._check(context)
            await self._app(scope, receive, answer)
        except ClientDisconnected:
            context.status = HUNG_UP
        except Exception as error:
            await self._refuse(context, error, answer)
        finally:
            self._service.open.remove(context)
            path = scope["path"]
            context.finish(context.route or (path if path in self._paths else "other"))

    def _check(self, context: RequestContext) -> None:
        """Raises RequestRefused: it is not answered, whatever its body says."""
        service, path = self._service, context.scope["path"]
        if path.startswith("/health"):
            return
        settings = service.settings
        check_host(settings.hosts, context.headers.get("host"))
        check_origin(settings.cors, context.headers, context.method)
        if service.closed:
            raise RequestRefused(503, "stopping", "The server is stopping.", retry_after=5)
        most = settings.limits.connections
        if len(service.open) > most:
            text = f"{most} requests are being answered, and that is the limit."
            raise RequestRefused(429, "too_many_requests", text, retry_after=1)
        if path in UNBOUND or (path != "/" and api_of(path) != "libretranslate"):
            context.authorize(context.bearer, missing=401)

    async def _refuse(self, context: RequestContext, error: Exception, send: Send) -> None:
        refused = refusal_of(error, context.method)
        if refused.status == 500 and not isinstance(error, RequestRefused):
            context.error = fault_of(error)
        if isinstance(error, RequestRefused) and not context.is_admitted:
            self._service.metrics.rejected.labels(refused.code).inc()
        if context.status == 0:
            response = response_to(refused, api_of(context.scope["path"]), context.id)
            await response(context.scope, context.receive, send)


def _headers(context: RequestContext) -> list[tuple[bytes, bytes]]:
    headers = [(b"x-request-id", context.id.encode()), (b"x-content-type-options", b"nosniff")]
    if context.allowance is not None:
        headers += Headers(context.allowance.headers).raw
    if context.status in (408, 413):  # the rest of the body stays unread
        headers.append(CLOSE)
    return headers


def _body_too_large(most: int, size: int) -> RequestRefused:
    text = f"A request has at most {most} bytes, and this one has {size} or more."
    return RequestRefused(413, "body_too_large", text)


def api_of(path: str) -> str:
    """The API of a path: "openai", "native" or "libretranslate"."""
    openai = ("/v1/completions", "/v1/chat/", "/v1/embeddings", "/v1/models")
    if path.startswith(openai) and not path.endswith("/card"):
        return "openai"
    return "native" if path.startswith("/v1/") else "libretranslate"


class Operation:
    """The ASGI application of one route.

    Args:
        tasks: of the models that may answer; where the queues of all of them are full, a request is
            refused before its body is read.

    Attributes:
        model: of the body, which is JSON; None: the endpoint reads the body itself.
    """

    def __init__(self, path: str, endpoint: Endpoint, tasks: frozenset[str], tag: str) -> None:
        self.path, self.endpoint, self.tasks, self.tag = path, endpoint, tasks, tag
        hints = get_type_hints(endpoint)
        kinds = [hints[name] for name in signature(endpoint).parameters]
        self.model: type[BaseModel] | None = next(
            (kind for kind in kinds if issubclass(kind, BaseModel)), None
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context: RequestContext = scope[CONTEXT]
        context.route = self.path
        refused = context.service.overload(self.tasks)
        if refused is not None:
            raise refused
        await context.read()
        context.is_admitted = True
        if self.model is None:
            response = await self.endpoint(context)
        else:
            response = await self.endpoint(context, parsed(self.model, context))
        await response(scope, receive, send)


def route(
    methods: Sequence[str],
    path: str,
    endpoint: Endpoint,
    tag: str,
    tasks: Collection[str] = (),
    described: bool = True,
) -> Route:
    """A route of the server.

    Args:
        tasks: see `Operation`.
        described: whether /openapi.json has it.
    """
    operation = Operation(path, endpoint, frozenset(tasks), tag)
    return Route(path, operation, methods=methods, include_in_schema=described)


def read_body(content: bytes | str) -> object:
    """The value of a JSON text.

    Raises:
        RequestRefused: an object has a name twice, of which only one value could be read.
        RecursionError: it is nested too deeply.
        ValueError: it is no JSON.
    """
    return json.loads(content, object_pairs_hook=_unique_names)


def _unique_names(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for name, value in pairs:
        if name in fields:
            raise repeated(name)
        fields[name] = value
    return fields


def repeated(name: str) -> RequestRefused:
    """The refusal of a field that is given twice."""
    return invalid(f"Invalid request: {name[:40]} is given more than once", name[:40])


def parsed(model: type[BaseModel], context: RequestContext) -> BaseModel:
    """The body of a request.

    Raises:
        RequestRefused: it is no JSON, or a field is wrong or given twice: the first of them is
            named, and what the client sent is not repeated.
    """
    media = context.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        text = "The body must be JSON, with Content-Type: application/json."
        raise RequestRefused(415, "unsupported_media_type", text)
    try:
        return model.model_validate(read_body(context.content))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    except (ValueError, RecursionError):
        raise invalid("The body is not JSON.") from None
    name = ".".join(map(str, first["loc"]))
    if not name.isprintable() or len(name) > 60:
        name = name[:57].encode("ascii", "replace").decode() + "..."
    if first["type"] == "extra_forbidden":
        raise invalid(f"The field {name} is not known.", name)
    raise invalid(f"{name or 'The body'}: {first['msg']}.", name or None)
