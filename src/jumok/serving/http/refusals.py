"""Requests that are refused, in the error format of each API."""

from collections.abc import Mapping
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from jumok.errors import BundleError, JumokError

PROBLEM = "application/problem+json"


class RequestRefused(Exception):  # noqa: N818 - the client's request failed, not jumok
    """A request that is not answered.

    Args:
        status: of HTTP.
        code: names the reason, for programs: "queue_full".
        text: the reason in one sentence, with the limit and the value.
        parameter: the name of the field that is wrong.
        retry_after: seconds after which to try again.
        headers: further headers of the answer.
    """

    def __init__(
        self,
        status: int,
        code: str,
        text: str,
        *,
        parameter: str | None = None,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status, self.code, self.text = status, code, whole(text)
        self.parameter = None if parameter is None else whole(parameter)
        self.retry_after, self.headers = retry_after, dict(headers or {})
        super().__init__(text)


def whole(text: str) -> str:
    """The text with "?" for half characters (unpaired surrogates), which no answer can contain."""
    return text.encode("utf-8", "replace").decode()


def invalid(text: str, parameter: str | None = None) -> RequestRefused:
    """Status 400."""
    return RequestRefused(400, "invalid_request", text, parameter=parameter)


def refusal_of(error: Exception, method: str = "") -> RequestRefused:
    """The refusal of a request in which an error was raised.

    Args:
        method: of the request, for the routes that do not have it.
    """
    if isinstance(error, RequestRefused):
        return error
    if isinstance(error, HTTPException):  # starlette's router raises it
        known = {
            404: ("not_found", "There is no such route."),
            405: ("method_not_allowed", f"This route does not answer {method}."),
        }
        code, text = known.get(error.status_code, ("http_error", "This cannot be answered."))
        return RequestRefused(error.status_code, code, text, headers=error.headers)
    if not isinstance(error, JumokError):
        return RequestRefused(500, "internal_error", "The server failed at this request.")
    if isinstance(error, BundleError):  # of a model that was replaced since it was loaded
        return RequestRefused(503, "model_changed", error.what, retry_after=1)
    parts = [error.what]
    parts += [f"Expected: {error.expected}."] if error.expected else []
    parts += [f"Got: {error.got}."] if error.got else []
    return invalid(" ".join(parts))


def response_to(refused: RequestRefused, api: str, request_id: str) -> JSONResponse:
    """The response to a refused request, in the form of its API: "openai", "native" or
    "libretranslate"."""
    headers = dict(refused.headers)
    if refused.retry_after is not None:
        headers["Retry-After"] = str(refused.retry_after)
    if refused.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    body: dict[str, object]
    media = "application/json"
    if api == "libretranslate":
        body = {"error": refused.text}
    elif api == "openai":
        body = {"error": openai_error(refused)}
    else:
        media = PROBLEM
        body = {
            "type": "about:blank",
            "title": HTTPStatus(refused.status).phrase,
            "status": refused.status,
            "code": refused.code,
            "detail": refused.text,
            "request_id": request_id,
        }
        body |= {"parameter": refused.parameter} if refused.parameter else {}
    return JSONResponse(body, refused.status, headers, media)


def openai_error(refused: RequestRefused) -> dict[str, object]:
    """The error object of OpenAI's API."""
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    kind = kinds.get(refused.status)
    if kind is None:
        kind = "server_error" if refused.status >= 500 else "invalid_request_error"
    return {
        "message": refused.text,
        "type": kind,
        "param": refused.parameter,
        "code": refused.code,
    }
