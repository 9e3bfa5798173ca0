"""The application: the routes of all APIs behind the middleware, and their description."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import cache
from importlib.metadata import version
from inspect import getdoc
from typing import Any

from pydantic.json_schema import models_json_schema
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from jumok.inspection.page.document import document
from jumok.serving.http.api.libretranslate import LIBRETRANSLATE_ROUTES
from jumok.serving.http.api.native import NATIVE_ROUTES
from jumok.serving.http.api.openai import OPENAI_ROUTES
from jumok.serving.http.models import ServedModel, Service
from jumok.serving.http.requests import Operation, RequestContext, RequestMiddleware, route
from jumok.systems.base import Facts
from jumok.systems.language_names import name_of
from jumok.systems.translation.languages import short_names
from jumok.systems.translation.translator import Translator

CORS_SECONDS = 20 * 24 * 3600
RATE_HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
SCHEMAS = "#/components/schemas/{model}"
NO_SCHEMA: dict[str, object] = {"application/json": {"schema": {}}}

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


async def box(context: RequestContext) -> HTMLResponse:
    """The page at /: a box to translate in, which asks /v1/translate with the key that its user
    types."""
    service = context.service
    models = list(service.models.values())
    facts = {
        "models": [_page_facts(each) for each in models if each.can(Translator)],
        "others": [f"{each.id}: {each.opened.task}" for each in models],
        "key": bool(service.settings.keys),
    }
    page = document("translate.js", facts, asks=True, styles=("base", "page", "translate", "box"))
    headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
    return HTMLResponse(page, headers=headers)


def _page_facts(model: ServedModel) -> Facts:
    source, target = model.languages
    named = f"{name_of(source)} → {name_of(target)}" if source and target else model.id
    first = model.opened.parts[0]
    calibration = first.card.confidence
    system = model.system if isinstance(model.system, Translator) else None
    layers = 1 if system is None else max(1, system.searcher.layers)
    languages = short_names(first.config.languages)
    return {
        "id": model.id,
        "name": f"{named} ({model.id})",
        "source": source,
        "target": target,
        "languages": {code: name_of(code) for code in languages.values()},
        "pairs": [[languages[each] for each in pair] for pair in first.config.pairs],
        "layers": layers,
        "calibrated": "" if calibration is None else calibration.text,
    }


async def metrics(context: RequestContext) -> Response:
    """The metrics in the text format of Prometheus."""
    written = context.service.metrics.written()
    return Response(written, media_type="text/plain; version=0.0.4; charset=utf-8")


async def description(_: RequestContext) -> JSONResponse:
    """This description."""
    return JSONResponse(_openapi())


@cache
def _openapi() -> dict[str, Any]:
    """The description of the routes, by OpenAPI 3.1."""
    described = [each for each in ROUTES if each.include_in_schema]
    models = {model for each in described if (model := _operation(each).model) is not None}
    named = [(model, "validation") for model in sorted(models, key=lambda each: each.__name__)]
    _, schema = models_json_schema(named, ref_template=SCHEMAS)  # type: ignore[arg-type]
    paths: dict[str, dict[str, object]] = {}
    for each in described:
        for method in sorted((each.methods or set()) - {"HEAD"}):
            paths.setdefault(each.path, {})[method.lower()] = _operation_facts(each, method)
    info = {"title": "jumok", "version": version("jumok")}
    components = {"schemas": schema.get("$defs", {})}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": components}


def _operation(each: Route) -> Operation:
    assert isinstance(each.endpoint, Operation)
    return each.endpoint


def _operation_facts(each: Route, method: str) -> dict[str, object]:
    operation = _operation(each)
    name = getattr(operation.endpoint, "__name__", "")
    described: dict[str, object] = {
        "tags": [operation.tag],
        "summary": name.replace("_", " ").capitalize(),
        "description": getdoc(operation.endpoint) or "",
        "operationId": f"{name}{each.path_format}_{method.lower()}".translate(
            str.maketrans("/{}-", "____")
        ),
        "responses": {
            "200": {"description": "The answer.", "content": NO_SCHEMA},
            "default": {"description": "An error.", "content": NO_SCHEMA},
        },
    }
    if each.param_convertors:
        described["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in each.param_convertors
        ]
    if operation.model is not None:
        reference = {"$ref": SCHEMAS.format(model=operation.model.__name__)}
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": reference}},
        }
    return described


ROUTES = [
    *NATIVE_ROUTES,
    *LIBRETRANSLATE_ROUTES,
    *OPENAI_ROUTES,
    route(["GET"], "/", box, "page", described=False),
    route(["GET"], "/metrics", metrics, "server"),
    route(["GET"], "/openapi.json", description, "server", described=False),
]
