"""One request on its way through the server: its id, its status, its line in the log."""

import re
import time
from secrets import token_hex

from starlette.datastructures import Headers
from starlette.types import Scope

from jumok.serving.http.admission.overload import ROUTES
from jumok.serving.http.logs import log
from jumok.serving.http.models import Service

ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")

TEXTS = "jumok.texts"
"""The key of a request's texts in its scope; only with `ServeSettings.log_texts` are they there."""

BODY = "jumok.body"
"""The key of its body, which the gate has read."""

ARRIVED = "jumok.whole"
"""The key of its state that its connection sets when the body has arrived."""

GONE = "jumok.gone"
"""The key of a future in its state, which is done when its connection is lost; other servers than
uvicorn have none."""


class Passage:
    """A request from its arrival to the end of its answer.

    Attributes:
        arrived: of `time.monotonic`.
        id: the client's, or a new one.
        status: of the answer; 0: none was sent.
        error: what went wrong, for the log.
    """

    def __init__(self, scope: Scope, headers: Headers) -> None:
        self._scope = scope
        self.arrived = scope["jumok.arrived"] = time.monotonic()
        given = headers.get("x-request-id", "")
        self.id = scope["jumok.id"] = given if ID.fullmatch(given) else token_hex(12)
        self.status, self.error = 0, ""

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """What every answer has."""
        found = [(b"x-request-id", self.id.encode()), (b"x-content-type-options", b"nosniff")]
        if allowance := self._scope.get("jumok.allowance"):
            found += [(name.encode(), value.encode()) for name, value in allowance.headers.items()]
        return found

    def note(self, service: Service) -> None:
        """Counts the answer, and writes its line."""
        seconds, route = time.monotonic() - self.arrived, self._route()
        service.meters.answered(route, self.status, seconds)
        line: dict[str, object] = {
            "id": self.id,
            "method": self._scope["method"],
            "route": route,
            "status": self.status,
            "ms": round(seconds * 1e3, 2),
        }
        if self.error:
            line["error"] = self.error
        if texts := self._scope.get(TEXTS):
            line["texts"] = texts
        log(line)

    def _route(self) -> str:
        """The name of the route; never a path that a client made up."""
        path: str = self._scope["path"]
        found: str | None = getattr(self._scope.get("route"), "path", None)
        return found or (path if path in ROUTES else "other")
