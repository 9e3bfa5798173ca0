"""The application: the routes of all APIs, behind the middleware."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import cache
from importlib.metadata import version
from typing import Any

from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Router
from starlette.types import ASGIApp

from jumok.serving.http.api import libretranslate, native, openai, page
from jumok.serving.http.middleware import RequestContext, RequestMiddleware
from jumok.serving.http.models import Service
from jumok.serving.http.routing import openapi, route

CORS_SECONDS = 20 * 24 * 3600
RATE_HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")

Lifespan = Callable[[Any], AbstractAsyncContextManager[None]]


def application(service: Service, lifespan: Lifespan | None = None) -> ASGIApp:
    """The application that serves these models.

    Args:
        lifespan: entered when the server starts, and left when it has ended.
    """
    router = Router(ROUTES, redirect_slashes=False, lifespan=lifespan)
    app: ASGIApp = RequestMiddleware(router, service, [each.path for each in ROUTES])
    if not service.settings.cors:
        return app
    return CORSMiddleware(
        app,
        allow_origins=service.settings.cors,
        allow_methods=["GET", "POST"],
        allow_headers=["Authorization", "Content-Type", "X-Request-Id", "X-Request-Deadline"],
        expose_headers=["X-Request-Id", "Retry-After", "Server-Timing", *RATE_HEADERS],
        max_age=CORS_SECONDS,
    )


async def metrics(context: RequestContext) -> Response:
    """The metrics in the text format of Prometheus."""
    written = context.service.metrics.written()
    return Response(written, media_type="text/plain; version=0.0.4; charset=utf-8")


async def description(_: RequestContext) -> JSONResponse:
    """This description."""
    return JSONResponse(_openapi())


@cache
def _openapi() -> dict[str, Any]:
    return openapi(ROUTES, version("jumok"))


ROUTES = [
    *native.ROUTES,
    *libretranslate.ROUTES,
    *openai.ROUTES,
    *page.ROUTES,
    route(["GET"], "/metrics", metrics, "server"),
    route(["GET"], "/openapi.json", description, "server", described=False),
]
