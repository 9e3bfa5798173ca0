"""Requests that are refused before their body is read.

Under overload most requests are refused, and what that costs is taken from those that are answered.
So the connection does it (`connection.py`): without a task, the application, and a parsed body. The
answer, its line in the log and its count are those that the gate would give.
"""

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from jumok.serving.http.admission.gate import check_request
from jumok.serving.http.admission.overload import Overload
from jumok.serving.http.admission.passage import Passage
from jumok.serving.http.models import Service
from jumok.serving.http.refusals import RequestRefused, response_to


class EarlyRefusals:
    """Answers in place of the application, where they are refusals whatever the body says."""

    def __init__(self, service: Service) -> None:
        self._service, self._overload = service, Overload(service)

    def __call__(self, scope: Scope, crowded: bool) -> Response | None:
        """The refusal of a request of which the head is known; None: it is let through.

        Args:
            crowded: whether more connections are open than are served.
        """
        path = scope["path"]
        if crowded and not path.startswith("/health"):
            return self._answer(scope, Headers(scope=scope), self._crowded())
        if scope["method"] != "POST" or self._overload.refusal(path) is None:
            return None
        headers = Headers(scope=scope)
        if not self._is_plain(headers):
            return None
        try:
            check_request(self._service, self._overload, scope, headers)
        except RequestRefused as refused:
            return self._answer(scope, headers, refused)
        return None

    def _is_plain(self, headers: Headers) -> bool:
        """Whether nothing but the gate and the queue decides about the answer.

        The headers of other origins' pages are another layer's, a proxy's tell whose requests are
        counted, and a body that is too large, or without a length, is cut off by the gate.
        """
        settings = self._service.settings
        length = headers.get("content-length", "")
        return (
            not (settings.cors and "origin" in headers)
            and not self._service.rates.rate
            and length.isdecimal()
            and int(length) <= settings.limits.body
        )

    def _crowded(self) -> RequestRefused:
        most = self._service.settings.limits.connections
        text = f"More than {most} connections are open, and that is the limit."
        return RequestRefused(429, "too_many_connections", text, retry_after=1)

    def _answer(self, scope: Scope, headers: Headers, refused: RequestRefused) -> Response:
        passage = Passage(scope, headers)
        passage.status = refused.status
        response = response_to(refused, scope["path"], passage.id)
        response.raw_headers += passage.headers
        self._service.meters.rejected.labels(refused.code).inc()
        passage.note(self._service)
        return response
