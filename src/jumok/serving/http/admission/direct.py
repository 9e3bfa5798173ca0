"""The way from a request to its route without FastAPI's, which takes longer than all else around
the computation: it compares the path with every route, and solves dependencies that no route has.

Only what is certain goes this way: a path without parameters and a body that is what the route
expects. Everything else (errors, unknown paths, other methods) is left to FastAPI, which has the
same routes and describes them. tests/serving/http/test_direct.py compares the two.
"""

import json
from collections.abc import Awaitable, Callable, Iterable
from inspect import signature
from typing import get_type_hints

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from jumok.serving.http.admission.passage import BODY

Handler = Callable[..., Awaitable[Response]]
Refuse = Callable[[Request, Exception], Awaitable[Response]]


class Direct:
    """Wraps FastAPI's application.

    Args:
        routers: whose routes are called directly.
        refuse: the response to the errors of `known`; others are the caller's.
    """

    def __init__(
        self,
        app: FastAPI,
        routers: Iterable[APIRouter],
        refuse: Refuse,
        known: tuple[type[Exception], ...],
    ) -> None:
        self.app, self._refuse, self._known = app, refuse, known
        self._ways = {
            (method, route.path): _Way(route)
            for router in routers
            for route in router.routes
            if isinstance(route, APIRoute) and not route.param_convertors
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, whose body is in its scope."""
        way = self._ways.get((scope["method"], scope["path"]))
        request = Request(scope, receive)
        arguments = None if way is None else way.arguments(request)
        if way is None or arguments is None:
            await self.app(scope, receive, send)
            return
        scope["app"], scope["route"] = self.app, way.route
        try:
            response = await way.handler(*arguments)
        except self._known as error:
            response = await self._refuse(request, error)
        await response(scope, receive, send)


class _Way:
    """One route: what it calls, and with what."""

    def __init__(self, route: APIRoute) -> None:
        self.route = route
        self.handler: Handler = route.endpoint
        hints = get_type_hints(route.endpoint)
        self._kinds = [hints[name] for name in signature(route.endpoint).parameters]

    def arguments(self, request: Request) -> list[object] | None:
        """What the route is called with; None: FastAPI is to find out what is wrong."""
        found: list[object] = []
        for kind in self._kinds:
            if kind is Request:
                found.append(request)
            elif issubclass(kind, BaseModel) and _is_json(request):
                try:
                    found.append(kind.model_validate(json.loads(request.scope[BODY])))
                except (ValueError, RecursionError, ValidationError):
                    return None
            else:
                return None
        return found


def _is_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower() == "application/json"
