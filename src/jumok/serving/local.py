"""A page on this machine alone: who may ask, how much, and for how long.

Any web page that a person visits can send requests to 127.0.0.1, and a name that an attacker owns
can be made to point there. So a request must name this very address (Host, and Origin where there
is one) and carry the token that stands in the link which was printed.

Source: DNS rebinding: Jackson et al. 2007, Protecting browsers from DNS rebinding attacks.
"""

import hmac
import io
import json
import secrets
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from jumok.errors import JumokError

Heed = Callable[[], None]
"""Raises `NobodyWaits` where nobody waits for the answer any more."""

Answer = Callable[[Mapping[str, Any], Heed], dict[str, Any]]

Receive = Callable[[str, bytes], dict[str, str]]
"""Takes a file that the page sends, by its name and its bytes; says how to ask for it."""


class NobodyWaits(Exception):  # noqa: N818 - no error: nobody did anything wrong
    """Who asked has hung up: the page is gone, or it asked for something newer."""


MOST_BYTES = 64 * 1024
MOST_FILE_BYTES = 32 * 1024**2
"""Of a file that is sent; of a question it is MOST_BYTES."""

SECONDS = 10.0
"""For a question to come, however slowly its bytes follow one another."""

FILE_SECONDS = 120.0
"""The same of a file, which may come through a tunnel."""


class _InTime(io.RawIOBase):
    """What a connection says, until a deadline: a byte now and then does not put it off."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self._connection = connection
        self.allow(SECONDS)

    def allow(self, seconds: float) -> None:
        """So long from now on."""
        self._deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class LocalServer(ThreadingHTTPServer):
    """Serves one page on a free port of 127.0.0.1, and answers what the page asks.

    Args:
        page: makes the page's HTML, given the token.
        answer: from the JSON that the page posts to the JSON it gets. One at a time; an answer
            that is being computed hears, as often as it heeds, that nobody waits for it.
        port: 0 takes a free one.
        receive: takes the files that the page sends; None: it sends none.
        host: one more name that the page may be asked for under, with its port where a browser
            names one: that of a proxy, or of a tunnel's other end. None: this machine's alone.
    """

    daemon_threads = True

    def __init__(
        self,
        page: Callable[[str], str],
        answer: Answer,
        port: int = 0,
        receive: Receive | None = None,
        host: str | None = None,
    ) -> None:
        self.token = secrets.token_urlsafe(16)
        self.page, self.answer, self.receive, self.host = page, answer, receive, host
        self.turn = threading.Lock()
        # One thread for all answers: torch makes a pool of its own for each that computes.
        self.worker = ThreadPoolExecutor(1)
        super().__init__(("127.0.0.1", port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that was cut is nobody's fault, and no matter for the terminal."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def hosts(self) -> set[str]:
        """The names that the page may be asked for under."""
        own = {self.address, self.address.replace("127.0.0.1", "localhost")}
        return own | ({self.host} if self.host else set())

    @property
    def address(self) -> str:
        """Host and port, as a browser names them."""
        return f"127.0.0.1:{self.server_address[1]}"

    @property
    def link(self) -> str:
        """Where the page is; whoever has it may look."""
        return f"http://{self.address}/?token={self.token}"


class _Handler(BaseHTTPRequestHandler):
    server: LocalServer
    timeout = SECONDS
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.in_time = _InTime(self.connection)
        self.rfile = io.BufferedReader(self.in_time)

    def handle_one_request(self) -> None:
        self.in_time.allow(SECONDS)
        super().handle_one_request()

    def version_string(self) -> str:
        """Who answers; of which version of Python is nobody's business."""
        return "jumok"

    def do_GET(self) -> None:
        split = urlsplit(self.path)
        token = parse_qs(split.query).get("token", [""])[0]
        if self._refused(token):
            return
        if split.path != "/":
            self._send(HTTPStatus.NOT_FOUND, "text/plain", b"there is nothing here\n")
            return
        self._send(HTTPStatus.OK, "text/html", self.server.page(self.server.token).encode())

    def do_POST(self) -> None:
        if self._refused(self.headers.get("X-Token", "")):
            return
        receive = self.server.receive if self.path == "/file" else None
        if receive is None and self.path != "/trace":
            self.close_connection = True  # what was sent stays unread
            self._fault(HTTPStatus.NOT_FOUND, "there is nothing here")
            return
        most = MOST_BYTES if receive is None else MOST_FILE_BYTES
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > most:
            self.close_connection = True  # what was sent stays unread
            self._fault(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {most:,} bytes")
            return
        self.in_time.allow(SECONDS if receive is None else FILE_SECONDS)
        content = self.rfile.read(int(length))
        self.connection.settimeout(SECONDS)  # for the answer
        if receive is not None:
            self._receive(receive, content)
            return
        try:
            asked = json.loads(content)
            json.dumps(asked, ensure_ascii=False).encode()  # half a sign is no text
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            self._fault(HTTPStatus.BAD_REQUEST, "a JSON object was expected")
            return
        self._answer(asked)

    def _receive(self, receive: Receive, content: bytes) -> None:
        try:
            found = receive(unquote(self.headers.get("X-Name", "")), content)
        except JumokError as error:
            self._fault(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
            return
        self._send(HTTPStatus.OK, "application/json", json.dumps(found).encode())

    def _answer(self, asked: Mapping[str, Any]) -> None:
        """Computes, until the page hangs up.

        The page alone knows which of its questions is the newest: it hangs up on the others. The
        order in which they come says nothing, for each has a connection and a thread of its own.
        """
        server = self.server
        with server.turn:
            try:
                self._heed()
                found = server.worker.submit(server.answer, asked, self._heed).result()
            except NobodyWaits:
                self.close_connection = True
                return
            except JumokError as error:
                self._fault(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
                return
            except Exception as error:  # whoever asked must hear of it
                wrong = f"jumok failed: {type(error).__name__}: {error}\n  do: report this, please"
                self._fault(HTTPStatus.INTERNAL_SERVER_ERROR, wrong)
                return
        self._send(HTTPStatus.OK, "application/json", json.dumps(found).encode())

    def _heed(self) -> None:
        """The page says nothing more while it waits, and a closed connection says that it is gone.

        Raises:
            NobodyWaits: it is.
        """
        readable, _, _ = select.select([self.connection], [], [], 0)
        try:
            gone = bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
        except ConnectionError:
            gone = True
        if gone:
            raise NobodyWaits

    def _refused(self, token: str) -> bool:
        """Whether the request is somebody else's; then it has been told so."""
        server, host = self.server, self.headers.get("Host")
        origin = self.headers.get("Origin")
        origins = {f"http://{each}" for each in server.hosts}
        if server.host:
            origins.add(f"https://{server.host}")  # a proxy may speak it
        here = host in server.hosts and origin in (None, *origins)
        if here and hmac.compare_digest(token.encode(), server.token.encode()):
            return False
        self.close_connection = True
        why = "use the whole link that jumok printed, with its token"
        if not here:
            why = (
                f"this page is at {server.address}, and was asked for as {host!r}.\n  do: use the "
                "same port at both ends of a tunnel (ssh -L), or start jumok look with --host NAME"
            )
        self._fault(HTTPStatus.FORBIDDEN, why)
        return True

    def _fault(self, status: HTTPStatus, text: str) -> None:
        if self.command == "GET":  # a person reads it, and no page
            self._send(status, "text/plain", f"{text}\n".encode())
            return
        self._send(status, "application/json", json.dumps({"error": text}).encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Referrer-Policy", "no-referrer")  # the link has the token in it
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True  # the page was closed meanwhile

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: the terminal shows the link, and faults are shown in the page."""
