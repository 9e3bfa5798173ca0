"""Routes whose bodies pydantic validates, and their description for OpenAPI."""

import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from inspect import getdoc, signature
from typing import Any, get_type_hints

from pydantic import BaseModel, ValidationError
from pydantic.json_schema import models_json_schema
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from jumok.serving.http.middleware import CONTEXT, RequestContext
from jumok.serving.http.refusals import RequestRefused, invalid

Endpoint = Callable[..., Awaitable[Response]]
"""It is called with the context of a request, and if it names one, with a model of the body."""

SCHEMAS = "#/components/schemas/{model}"
NO_SCHEMA: dict[str, object] = {"application/json": {"schema": {}}}


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
        """One request."""
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


def parsed(model: type[BaseModel], context: RequestContext) -> BaseModel:
    """The body of a request.

    Raises:
        RequestRefused: it is no JSON, or a field is wrong: the first of them is named, and what the
            client sent is not repeated.
    """
    media = context.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        text = "The body must be JSON, with Content-Type: application/json."
        raise RequestRefused(415, "unsupported_media_type", text)
    try:
        return model.model_validate(json.loads(context.content))
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


def openapi(routes: Sequence[Route], version: str) -> dict[str, Any]:
    """The description of the routes, by OpenAPI 3.1."""
    operations = [(each, _operation(each)) for each in routes if each.include_in_schema]
    models = {operation.model for _, operation in operations if operation.model is not None}
    named = [(model, "validation") for model in sorted(models, key=lambda each: each.__name__)]
    _, schema = models_json_schema(named, ref_template=SCHEMAS)  # type: ignore[arg-type]
    paths: dict[str, dict[str, object]] = {}
    for each, operation in operations:
        for method in sorted((each.methods or set()) - {"HEAD"}):
            paths.setdefault(each.path, {})[method.lower()] = _described(each, operation, method)
    info = {"title": "jumok", "version": version}
    components = {"schemas": schema.get("$defs", {})}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": components}


def _operation(each: Route) -> Operation:
    assert isinstance(each.endpoint, Operation)
    return each.endpoint


def _described(each: Route, operation: Operation, method: str) -> dict[str, object]:
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
