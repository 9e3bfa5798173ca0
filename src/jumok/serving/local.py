"""A server for one page on this machine: access, sizes of requests and time limits.

It is the standard library's, so that `jumok look` needs no extra.

Any web page that a user visits can send requests to 127.0.0.1, also under a host name of its own.
So a request must name exactly this address (Host, and Origin where there is one) and contain the
token of the printed link.

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
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qs, unquote, urlsplit

from jumok.errors import JumokError
from jumok.serving.clients import ClientDisconnected, is_foreign

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CancelCheck = Callable[[], None]
"""The cancellation check: raises `ClientDisconnected` once the page has closed the connection."""

Answer = Callable[[Mapping[str, object], CancelCheck], dict[str, object]]

Receive = Callable[[str, bytes], dict[str, str]]
"""Takes the name and the bytes of a file that the page sends; returns how to request it."""


MOST_REQUEST_BYTES = 64 * 1024
MOST_FILE_BYTES = 32 * 1024**2
"""The limit for a file that the page sends; for other requests it is MOST_REQUEST_BYTES."""

SECONDS = 10.0
"""The time limit for a whole request to arrive."""

FILE_SECONDS = 120.0
"""The time limit for a file, which may come through a tunnel."""


def error_parts(error: JumokError) -> dict[str, object]:
    """The parts of an error, with the name of the page's own text for it."""
    parts = {name: getattr(error, name) for name in ("what", "expected", "got", "do")}
    known, *numbers = error.known or ("",)
    place = None if error.place is None else str(error.place)
    whole = parts | {"place": place, "known": known, "numbers": numbers}
    return {name: part for name, part in whole.items() if part}


class _InTime(io.RawIOBase):
    """Reads a connection until a deadline, which arriving bytes do not extend."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self._connection = connection
        self.allow(SECONDS)

    def allow(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class LocalServer(ThreadingHTTPServer):
    """Serves one page on a port of 127.0.0.1, and answers the page's requests.

    Args:
        page: makes the page's HTML, given the token.
        answer: from the page's JSON, one at a time; its second argument is the cancellation check.
        port: 0 takes a free one.
        receive: takes the files that the page sends; None: it sends none.
        host: a further name of the server, such as a proxy's, with its port where a browser names
            one.
    """

    # A thread that is inside torch when the interpreter ends would abort the process.
    daemon_threads = False

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
        # One thread for all answers: torch makes a thread pool for each thread that computes.
        self.worker = ThreadPoolExecutor(1)
        self._connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    def process_request(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        self._connections.add(cast("socket.socket", request))
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        self._connections.discard(cast("socket.socket", request))
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Closes all connections, and waits for their threads."""
        for connection in list(self._connections):
            with suppress(OSError):  # the client closed it
                connection.shutdown(socket.SHUT_RDWR)
        super().server_close()

    def handle_error(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        """Ignores connections that were cut."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def hosts(self) -> set[str]:
        """The host names that a request may use."""
        own = {self.address, self.address.replace("127.0.0.1", "localhost")}
        return own | ({self.host} if self.host else set())

    @property
    def address(self) -> str:
        """Host and port, as a browser names them."""
        return f"127.0.0.1:{self.server_address[1]}"

    @property
    def link(self) -> str:
        """The address of the page, with its token."""
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
        """Without the version of Python."""
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

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        if self._refused(self.headers.get("X-Token", "")):
            return
        receive = self.server.receive if self.path == "/file" else None
        if receive is None and self.path != "/trace":
            self.close_connection = True  # what was sent stays unread
            self._fault(HTTPStatus.NOT_FOUND, JumokError("there is nothing here"))
            return
        most = MOST_REQUEST_BYTES if receive is None else MOST_FILE_BYTES
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > most:
            self.close_connection = True  # what was sent stays unread
            error = JumokError(f"at most {most:,} bytes", known=("faultTooMuch", most))
            self._fault(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error)
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
            error = JumokError("a JSON object was expected", known=("faultHalf",))
            self._fault(HTTPStatus.BAD_REQUEST, error)
            return
        self._answer(asked)

    def _receive(self, receive: Receive, content: bytes) -> None:
        try:
            receipt = receive(unquote(self.headers.get("X-Name", "")), content)
        except JumokError as error:
            self._fault(HTTPStatus.UNPROCESSABLE_ENTITY, error)
            return
        self._send(HTTPStatus.OK, "application/json", json.dumps(receipt).encode())

    def _answer(self, asked: Mapping[str, object]) -> None:
        """Computes the answer unless the page, which has a newer request, closes the connection."""
        server = self.server
        with server.turn:
            try:
                self._check_connected()
                trace = server.worker.submit(server.answer, asked, self._check_connected).result()
            except ClientDisconnected:
                self.close_connection = True
                return
            except JumokError as error:
                self._fault(HTTPStatus.UNPROCESSABLE_ENTITY, error)
                return
            except Exception as error:  # the page must get a response
                wrong = f"jumok failed: {type(error).__name__}: {error}"
                failed = JumokError(wrong, do="report this, please")
                self._fault(HTTPStatus.INTERNAL_SERVER_ERROR, failed)
                return
        self._send(HTTPStatus.OK, "application/json", json.dumps(trace).encode())

    def _check_connected(self) -> None:
        """Raises ClientDisconnected; a page that waits sends nothing."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        try:
            gone = bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
        except ConnectionError:
            gone = True
        if gone:
            raise ClientDisconnected

    def _refused(self, token: str) -> bool:
        """Whether a wrong token, host or origin was answered with an error."""
        server, host = self.server, self.headers.get("Host")
        origin = self.headers.get("Origin")
        origins = {f"http://{each}" for each in server.hosts}
        if server.host:
            origins.add(f"https://{server.host}")  # a proxy may send HTTP/1.0
        here = host in server.hosts and origin in (None, *origins)
        here = here and not is_foreign(self.headers.get, self.command, origins)
        if here and hmac.compare_digest(token.encode(), server.token.encode()):
            return False
        self.close_connection = True
        why = JumokError(
            "use the whole link that jumok printed, with its token", known=("faultToken",)
        )
        if not here:
            why = JumokError(
                f"this page is at {server.address}, and was asked for as {host!r}.",
                do="use the same port at both ends of a tunnel (ssh -L), or start jumok look with "
                "--host NAME",
                known=("faultHost",),
            )
        self._fault(HTTPStatus.FORBIDDEN, why)
        return True

    def _fault(self, status: HTTPStatus, error: JumokError) -> None:
        if self.command in ("GET", "HEAD"):  # read by the user, not by the page
            self._send(status, "text/plain", f"{error}\n".encode())
            return
        self._send(status, "application/json", json.dumps({"error": error_parts(error)}).encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Referrer-Policy", "no-referrer")  # the link has the token in it
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True  # the page was closed in the meantime

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing: the terminal shows the link, and the page shows errors."""
