"""The application: the routes of all dialects, behind the gate, with errors in their dialects."""

from importlib.metadata import version

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from jumok.errors import JumokError
from jumok.serving.http.admission.direct import Direct
from jumok.serving.http.admission.gate import Gate
from jumok.serving.http.dialects import box, files, libretranslate, openai, own
from jumok.serving.http.dialects.asking import ClientGone, service_of
from jumok.serving.http.models import Service
from jumok.serving.http.refusals import RequestRefused, invalid, refusal_of, response_to

HUNG_UP = 499  # nginx's number for it; it is not sent, only counted
CORS_SECONDS = 20 * 24 * 3600
RATE_HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


def application(service: Service) -> ASGIApp:
    """The application that serves these models."""
    # FastAPI's pages of documentation load scripts from elsewhere; the description itself does not.
    app = FastAPI(title="jumok", version=version("jumok"), docs_url=None, redoc_url=None)
    app.state.service = service
    routers = (own.router, openai.router, libretranslate.router, files.router, box.router)
    for router in routers:
        app.include_router(router)
    app.add_api_route("/metrics", metrics, methods=["GET"])
    known = (RequestRefused, RequestValidationError, HTTPException, JumokError, ClientGone)
    for kind in (*known, Exception):
        app.add_exception_handler(kind, refuse)
    guarded: ASGIApp = Gate(Direct(app, routers, refuse, known), service)
    if not service.settings.cors:
        return guarded
    return CORSMiddleware(
        guarded,
        allow_origins=service.settings.cors,
        allow_methods=["GET", "POST"],
        allow_headers=["Authorization", "Content-Type", "X-Request-Id", "X-Request-Deadline"],
        expose_headers=["X-Request-Id", "Retry-After", "Server-Timing", *RATE_HEADERS],
        max_age=CORS_SECONDS,
    )


async def metrics(request: Request) -> Response:
    """The metrics in the text format of Prometheus."""
    written = service_of(request).meters.written()
    return Response(written, media_type="text/plain; version=0.0.4; charset=utf-8")


async def refuse(request: Request, error: Exception) -> Response:
    """The response to a request that failed."""
    if isinstance(error, ClientGone):
        return Response(status_code=HUNG_UP)
    return response_to(_refused(request, error), request.url.path, request.scope["jumok.id"])


def _refused(request: Request, error: Exception) -> RequestRefused:
    if isinstance(error, RequestRefused):
        return error
    if isinstance(error, JumokError):
        return refusal_of(error)
    if isinstance(error, RequestValidationError):
        return _wrong_fields(request, error)
    if not isinstance(error, HTTPException):  # the gate logs it
        return RequestRefused(500, "internal_error", "The server failed at this request.")
    known = {
        404: ("not_found", "There is no such route."),
        405: ("method_not_allowed", f"This route does not answer {request.method}."),
        400: ("invalid_request", "The body is not JSON."),
    }
    code, text = known.get(error.status_code, ("http_error", "The request cannot be answered."))
    allow = {name: value for name, value in (error.headers or {}).items() if name == "Allow"}
    return RequestRefused(error.status_code, code, text, headers=allow)


def _wrong_fields(request: Request, error: RequestValidationError) -> RequestRefused:
    """The first wrong field; what the client sent is not repeated."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        text = "The body must be JSON, with Content-Type: application/json."
        return RequestRefused(415, "unsupported_media_type", text)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return invalid("The body is not JSON.")
    place = ".".join(str(part) for part in first["loc"] if part != "body")
    name = (
        place
        if place.isprintable() and len(place) <= 60
        else place[:57].encode("ascii", "replace").decode() + "..."
    )
    if first["type"] == "extra_forbidden":
        return invalid(f"The field {name} is not known.", name)
    return invalid(f"{name or 'The body'}: {first['msg']}.", name or None)
