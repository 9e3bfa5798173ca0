"""What a connection lets through, and for how long: at a real server with short limits."""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx
import pytest

from jumok.serving.http.connections import HEAD_BYTES
from tests.serving.http.hurried import LIMITS
from tests.serving.http.process import SECONDS, ServedProcess, serving

LONG = " ".join(["the cat sat on the mat, and the dog barked."] * 4)
SLACK = 5.0
"""Seconds by which a busy machine may be late."""


@pytest.fixture(scope="module")
def server(tiny_bundle, tmp_path_factory) -> Iterator[ServedProcess]:
    """A server with a place for one request."""
    folder = tmp_path_factory.mktemp("hurried")
    with serving(folder, f"m={tiny_bundle}", module="tests.serving.http.hurried") as server:
        yield server
        assert "Traceback" not in server.errors
        assert '"status": 500' not in server.log


class Line:
    """A connection whose bytes a test sends itself."""

    def __init__(self, server: ServedProcess) -> None:
        host, port = server.url.removeprefix("http://").split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=SECONDS)
        self.reader = self.socket.makefile("rb")

    def send(self, *parts: bytes) -> None:
        self.socket.sendall(b"".join(parts))

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        """The status, the headers and the body of the next answer."""
        status = int(self.reader.readline().split(b" ")[1])
        headers: dict[str, str] = {}
        while line := self.reader.readline().strip().decode("latin-1"):
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
        return status, headers, self.reader.read(int(headers.get("content-length", "0")))

    def closed_after(self) -> float:
        """Seconds until the server closes the connection."""
        begin = time.monotonic()
        with suppress(ConnectionResetError):
            assert self.reader.read(1) == b""
        return time.monotonic() - begin


@pytest.fixture
def line(server) -> Iterator[Line]:
    line = Line(server)
    yield line
    line.socket.close()


def head(path: str, *fields: str, method: str = "POST") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *fields, "", ""]).encode()


def rejected(server: ServedProcess, reason: str) -> int:
    text = httpx.get(f"{server.url}/metrics", timeout=SECONDS).text
    found = re.search(rf'jumok_rejected_total{{reason="{reason}"}} (\d+)', text)
    return int(found[1]) if found else 0


@contextmanager
def full(server: ServedProcess) -> Iterator[None]:
    """The queue has no place meanwhile."""
    over = threading.Event()

    def hold() -> None:
        with server.client() as client:
            while not over.is_set():
                with suppress(httpx.TransportError):  # closed while this thread had to wait
                    client.post("/v1/translate", json={"text": LONG, "beam": 64})

    threads = [threading.Thread(target=hold) for _ in range(2)]  # one of them has the place
    for each in threads:
        each.start()
    until = time.monotonic() + SECONDS
    with server.client() as client:
        while (
            'jumok_queue_requests{model="m"} 1.0' not in client.get("/metrics").text
            and time.monotonic() < until
        ):
            time.sleep(0.002)
    try:
        yield
    finally:
        over.set()
        for each in threads:
            each.join(SECONDS)


def refusal(line: Line, *parts: bytes) -> tuple[int, dict[str, str], bytes]:
    """The refusal; a request that found a place between two others is asked again."""
    until = time.monotonic() + SECONDS
    while True:
        line.send(*parts)
        found = line.answer()
        if found[0] == 429 or time.monotonic() > until:
            return found


JSON = "Content-Type: application/json"


def test_a_full_queue_refuses_before_the_body_is_there(server, line):
    with full(server):
        until = time.monotonic() + SECONDS
        status = 0
        while status != 429 and time.monotonic() < until:
            again = Line(server)
            again.send(head("/v1/translate", JSON, "X-Request-Id: early-1", "Content-Length: 9"))
            status, headers, body = again.answer()  # 408 where there was a place
        assert status == 429
        told = json.loads(body)
        assert (told["code"], told["request_id"]) == ("queue_full", "early-1")
        assert told["detail"] == "The queue is full: 2 requests, and the limit is 1."
        assert 1 <= int(headers["retry-after"]) <= 60
        assert headers["x-request-id"] == "early-1"
        assert headers["content-type"] == "application/problem+json"
        assert headers["x-content-type-options"] == "nosniff"
        assert "date" in headers
        # the body comes after its refusal, and the connection goes on
        again.send(b'{"a": 1}}', head("/health/live", method="GET"))
        assert again.answer()[0] == 200
        again.socket.close()
        until = time.monotonic() + SECONDS
        while '"early-1"' not in server.log and time.monotonic() < until:
            time.sleep(0.01)
        lines = [json.loads(each) for each in server.log.splitlines() if '"early-1"' in each]
        assert ("/v1/translate", "POST", 429) in [
            (each["route"], each["method"], each["status"]) for each in lines
        ]
        assert rejected(server, "queue_full") > 0


def test_each_dialect_refuses_in_its_own_form_while_the_queue_is_full(server, line):
    text = "The queue is full: 2 requests, and the limit is 1."
    body = b"not read at all"
    length = f"Content-Length: {len(body)}"
    with full(server):
        _, _, told = refusal(line, head("/translate", JSON, length), body)
        assert json.loads(told) == {"error": text}
        _, _, told = refusal(line, head("/v1/embeddings", JSON, length), body)
        assert json.loads(told)["error"]["code"] == "queue_full"
        # what needs no model, or what no model can answer, is not refused for want of a place
        line.send(head("/v1/fill", JSON, "Content-Length: 13"), b'{"text": "a"}')
        assert line.answer()[0] == 404
        line.send(head("/languages", method="GET"))
        assert line.answer()[0] == 200
        line.send(head("/detect", JSON, "Content-Length: 10"), b'{"q": "a"}')
        assert line.answer()[0] == 200
        # another host name is refused for its name
        wrong = head("/v1/translate", JSON, length).replace(b"localhost", b"evil.example.org")
        line.send(wrong, body)
        assert line.answer()[0] == 421


def test_many_refusals_at_once_come_in_order(server, line):
    asked = b"".join(
        head("/v1/translate", JSON, f"X-Request-Id: n{number}", "Content-Length: 2") + b"{}"
        for number in range(20)
    )
    with full(server):
        line.send(asked)
        ids = [line.answer()[1]["x-request-id"] for _ in range(20)]
    assert ids == [f"n{number}" for number in range(20)]


def test_a_body_that_does_not_come_has_an_answer_and_ends_the_connection(server, line):
    before = rejected(server, "body_too_slow")
    line.send(head("/v1/translate", JSON, "Content-Length: 50"), b"{")
    status, headers, body = line.answer()
    assert (status, json.loads(body)["code"]) == (408, "body_too_slow")
    assert headers["connection"] == "close"
    assert line.closed_after() < SLACK
    assert rejected(server, "body_too_slow") == before + 1


def test_a_connection_on_which_nothing_more_comes_is_closed(line):
    line.send(head("/health/live", method="GET"))
    assert line.answer()[0] == 200
    assert LIMITS.idle_seconds - 0.2 < line.closed_after() < LIMITS.idle_seconds + SLACK


def test_requests_over_the_number_are_refused_in_the_form_of_their_api(server):
    """Each of the others waits for its body meanwhile; the health is told all the same."""
    waiting = [Line(server) for _ in range(LIMITS.connections)]
    for each in waiting:
        each.send(head("/detect", JSON, "Content-Length: 50"), b"{")
    told: list[tuple[int, dict[str, str], bytes]] = []
    for path, method in (("/v1/models", "GET"), ("/languages", "GET"), ("/health/live", "GET")):
        line = Line(server)
        line.send(head(path, method=method))
        told.append(line.answer())
        line.socket.close()
    late = [each.answer()[0] for each in waiting]
    for each in waiting:
        each.socket.close()
    assert late == [408] * LIMITS.connections
    text = f"{LIMITS.connections} requests are being answered, and that is the limit."
    assert [status for status, _, _ in told] == [429, 429, 200]
    assert json.loads(told[0][2])["error"]["message"] == text
    assert json.loads(told[1][2]) == {"error": text}
    assert told[0][1]["retry-after"] == "1"


FIELDS = [f"a{number}: {'b' * 9}" for number in range(9_000)]


@pytest.mark.parametrize(
    "sent",
    [
        head("/health", f"X: {'x' * 1_000_000}"),
        head("/health", "X: " + "x" * (HEAD_BYTES + 1 - len(head("/health", "X: ")))),
        head("/health", *FIELDS),
        head("/health/" + "a" * 70_000),
        b"GET /" + b"a" * 1_000_000,
        head("/health", *FIELDS)[:-4],
    ],
)
def test_a_head_that_is_too_large_is_refused(line, sent):
    line.send(sent)
    status, headers, _ = line.answer()
    assert (status, headers["connection"]) == (431, "close")
    assert line.reader.read() == b"The head of a request has at most 65536 bytes."


def test_the_largest_head_is_read_and_its_body_with_it(line):
    for _ in range(2):
        body = b'{"q": "a"}' + b" " * 900
        fields = JSON, f"Content-Length: {len(body)}"
        room = HEAD_BYTES - len(head("/detect", *fields, "X: "))
        line.send(head("/detect", *fields, "X: " + "x" * room), body)
        assert line.answer()[0] == 200


def test_damage_behind_an_answer_closes_the_connection(server, line):
    line.send(head("/nothing", "Transfer-Encoding: chunked"))
    assert line.answer()[0] == 404
    line.send(b"no size\r\n")
    line.closed_after()
    assert "Traceback" not in server.errors


@pytest.mark.parametrize("trailer", [b"A: b\r\n" * 30_000, b"A: " + b"b" * 900_000])
def test_a_trailer_without_end_is_refused(line, trailer):
    try:
        line.send(head("/detect", "Transfer-Encoding: chunked"), b"0\r\n", trailer)
        status, headers, _ = line.answer()
    except (ConnectionResetError, BrokenPipeError, IndexError):
        return  # it was closed before all of it was sent
    assert status == 400
    assert headers["connection"] == "close"


def test_a_request_for_another_protocol_is_answered_in_this_one(line):
    """Java's HTTP client asks for HTTP/2 in its first request."""
    fields = "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAAA"
    for _ in range(2):
        line.send(head("/health/live", *fields, method="GET"))
        status, headers, body = line.answer()
        assert (status, json.loads(body)) == (200, {"status": "ok"})
        assert "connection" not in headers
        line.send(head("/detect", *fields, JSON, "Content-Length: 10"), b'{"q"')
        time.sleep(0.05)
        line.send(b': "a"}', head("/languages", method="GET"))
        assert [line.answer()[0] for _ in range(2)] == [200, 200]
    line.send(head("localhost:80", method="CONNECT"))
    assert line.answer()[0] == 404
