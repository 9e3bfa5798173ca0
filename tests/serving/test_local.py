"""Who may ask the local page's server, and what others get to hear."""

import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from jumok.errors import DataError
from jumok.serving.local import MOST_FILE_BYTES, MOST_REQUEST_BYTES, LocalServer


def answer(asked, check):
    if asked.get("text") == "bad":
        raise DataError("this text cannot be looked at.", do="give another")
    return {"heard": asked["text"]}


@contextmanager
def running(answer=answer, **options) -> Iterator[LocalServer]:
    server = LocalServer(lambda token: f"<p>{token}</p>", answer, **options)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with running() as server:
        yield server


def ask(server, method="GET", path=None, body=None, **headers) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=5)
    path = f"/?token={server.token}" if path is None else path
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, named)
    response = connection.getresponse()
    return response.status, response.read().decode()


def post(server, text, **headers):
    given = {"X_Token": server.token} | headers
    return ask(server, "POST", "/trace", json.dumps({"text": text}), **given)


def test_the_link_opens_the_page(server):
    assert ask(server) == (200, f"<p>{server.token}</p>")
    assert server.link == f"http://127.0.0.1:{server.server_address[1]}/?token={server.token}"
    assert server.server_address[0] == "127.0.0.1"


def test_the_page_is_answered(server):
    assert post(server, "a cat") == (200, '{"heard": "a cat"}')
    assert post(server, "a cat", Origin=f"http://{server.address}")[0] == 200


def test_head_is_answered_as_get_without_a_body(server):
    assert ask(server, "HEAD") == (200, "")
    assert ask(server, "HEAD", path="/") == (403, "")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_elsewhere_may_only_link_to_the_page(server, site):
    assert ask(server, Sec_Fetch_Site=site)[0] == 403
    assert post(server, "a cat", Sec_Fetch_Site=site)[0] == 403
    opened = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert ask(server, Sec_Fetch_Site=site, **opened)[0] == 200
    assert post(server, "a cat", Sec_Fetch_Site="same-origin")[0] == 200


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=wrong"])
def test_without_the_token_nothing_is_said(server, path):
    status, text = ask(server, path=path)
    assert status == 403
    assert "the whole link that jumok printed" in text
    assert server.token not in text


def test_a_post_needs_the_token_in_its_header(server):
    assert post(server, "a cat", X_Token="wrong")[0] == 403
    assert ask(server, "POST", f"/trace?token={server.token}", "{}")[0] == 403


@pytest.mark.parametrize("host", ["attacker.example", "attacker.example:80", "127.0.0.1"])
def test_another_host_is_refused(server, host):
    """A name that was made to point to 127.0.0.1 comes with its own Host."""
    assert ask(server, Host=host)[0] == 403
    assert post(server, "a cat", Host=host)[0] == 403


@pytest.mark.parametrize("origin", ["http://attacker.example", "null", "https://127.0.0.1"])
def test_another_origin_is_refused(server, origin):
    assert post(server, "a cat", Origin=origin)[0] == 403


def test_a_large_body_is_refused_unread(server):
    status, text = post(server, "x" * MOST_REQUEST_BYTES)
    assert status == 413
    assert "65,536 bytes" in text


@pytest.mark.parametrize("body", ["", "{", "[1]", "[" * 30_000, '{"text": "\\ud800 cat"}'])
def test_what_is_no_json_object_is_refused(server, body):
    status, text = ask(server, "POST", "/trace", body, X_Token=server.token)
    assert (status, "JSON object" in text) == (400, True)


@pytest.fixture
def receiving() -> Iterator[LocalServer]:
    """A server that takes files."""

    def receive(name, content):
        if not content:
            raise DataError("this file is empty.")
        return {"picture": f"{name} {len(content)}"}

    with running(receive=receive) as server:
        yield server


def test_a_file_may_be_larger_than_a_question(receiving):
    named = {"X_Token": receiving.token, "X_Name": "%EA%B0%80.png"}
    status, text = ask(receiving, "POST", "/file", b"x" * (MOST_REQUEST_BYTES + 1), **named)
    assert (status, json.loads(text)) == (200, {"picture": f"가.png {MOST_REQUEST_BYTES + 1}"})
    assert post(receiving, "x" * MOST_REQUEST_BYTES)[0] == 413, "a question may not"
    status, text = ask(receiving, "POST", "/file", b"", **named)
    assert (status, json.loads(text)) == (422, {"error": {"what": "this file is empty."}})


def test_a_file_that_is_too_large_is_refused_unread(receiving):
    length = str(MOST_FILE_BYTES + 1)
    given = {"X_Token": receiving.token, "Content_Length": length}
    status, text = ask(receiving, "POST", "/file", None, **given)
    assert status == 413
    assert "33,554,432 bytes" in text


@pytest.mark.parametrize(
    "foreign", [{"X_Token": "wrong"}, {"Host": "attacker.example"}, {"Origin": "null"}]
)
def test_nobody_else_sends_files(receiving, foreign):
    given = {"X_Token": receiving.token} | foreign
    assert ask(receiving, "POST", "/file", b"x", **given)[0] == 403


def test_a_page_of_texts_takes_no_file(server):
    given = {"X_Token": server.token}
    assert ask(server, "POST", "/file", b"x" * (MOST_REQUEST_BYTES + 1), **given)[0] == 404
    assert ask(server, "POST", "/file", b"x", **given)[0] == 404


def test_a_fault_in_the_text_is_told(server):
    status, text = post(server, "bad")
    assert status == 422
    assert json.loads(text)["error"]["what"] == "this text cannot be looked at."


def test_there_is_nothing_else(server):
    assert ask(server, path=f"/etc/passwd?token={server.token}")[0] == 404
    for path in ("/", "/traces", "/trace/"):
        assert ask(server, "POST", path, "{}", X_Token=server.token)[0] == 404


def test_who_answers_says_no_more_than_its_name(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=5)
    connection.request("GET", f"/?token={server.token}")
    assert connection.getresponse().getheader("Server") == "jumok"


def test_an_error_of_ours_is_told_and_the_server_lives_on(capfd):
    def broken(asked, check):
        raise IndexError("list index out of range")

    with running(broken) as server:
        for _ in range(2):
            status, text = post(server, "a cat")
            assert status == 500
            assert json.loads(text)["error"] == {
                "what": "jumok failed: IndexError: list index out of range",
                "do": "report this, please",
            }
    assert "Traceback" not in capfd.readouterr().err


def test_a_connection_that_is_reset_says_nothing_in_the_terminal(server, capfd):
    for _ in range(3):
        connection = socket.create_connection(server.server_address)
        connection.sendall(b"POST /trace HTTP/1.1\r\nContent-Length: 5\r\n")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()  # with a reset
    assert post(server, "a cat")[0] == 200
    time.sleep(0.2)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("begins", [b"", b"POST /trace HTTP/1.1\r\nX: "])
def test_who_sends_a_byte_now_and_then_is_cut_off(server, monkeypatch, begins):
    """The time is for the whole request: a byte now and then does not put its end off."""
    monkeypatch.setattr("jumok.serving.local.SECONDS", 0.6)
    with socket.create_connection(server.server_address, timeout=5) as connection:
        connection.sendall(begins)
        started = time.monotonic()
        connection.settimeout(0.05)
        cut = False
        while not cut and time.monotonic() - started < 5:
            try:
                connection.sendall(b"G")
                cut = connection.recv(1) == b""
            except TimeoutError:
                continue  # nothing was said, and the connection stands
            except ConnectionError:
                cut = True
        assert time.monotonic() - started < 3


def test_a_wrong_port_is_said_to_be_one(server):
    """As `ssh -L 9000:127.0.0.1:PORT` asks; the token is right."""
    status, text = ask(server, Host="localhost:9000")
    assert status == 403
    assert f"this page is at {server.address}, and was asked for as 'localhost:9000'" in text
    assert "the same port at both ends of a tunnel (ssh -L)" in text
    assert "--host NAME" in text


@pytest.mark.parametrize("name", ["localhost:9000", "hub.example.org"])
def test_one_more_name_can_be_allowed(name):
    with running(host=name) as server:
        assert ask(server, Host=name) == (200, f"<p>{server.token}</p>")
        for scheme in ("http", "https"):
            assert post(server, "a cat", Host=name, Origin=f"{scheme}://{name}")[0] == 200
        assert ask(server, Host="attacker.example")[0] == 403
        assert post(server, "a cat", Host=name, Origin="https://attacker.example")[0] == 403


def test_who_hung_up_before_its_turn_is_not_served():
    """One is being answered, two wait; the elder of them gives up."""
    begun, go_on = threading.Event(), threading.Event()
    served = []

    def slow(asked, check):
        served.append(asked["text"])
        begun.set()
        assert go_on.wait(5)
        return {}

    statuses = {}
    with running(slow) as server:

        def visit(text):
            statuses[text] = post(server, text)[0]

        first, third = (threading.Thread(target=visit, args=(text,)) for text in ("first", "third"))
        first.start()
        assert begun.wait(5)
        second = http.client.HTTPConnection("127.0.0.1", server.server_address[1])
        second.request("POST", "/trace", json.dumps({"text": "second"}), {"X-Token": server.token})
        second.close()
        third.start()
        go_on.set()
        for visitor in (first, third):
            visitor.join(5)
    assert statuses == {"first": 200, "third": 200}
    assert served == ["first", "third"]


def test_what_is_computed_ends_when_its_page_is_gone():
    begun, ended = threading.Event(), threading.Event()

    def slow(asked, check):
        begun.set()
        try:
            while True:
                check()
        finally:
            ended.set()

    with running(slow) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1])
        connection.request("POST", "/trace", "{}", {"X-Token": server.token})
        assert begun.wait(5)
        connection.close()
        assert ended.wait(5)


def test_the_threads_of_open_connections_end_with_the_server():
    """Two pages keep their connections; what one of them waits for is not computed any more."""
    before, begun = threading.enumerate(), threading.Event()

    def slow(asked, check):
        begun.set()
        while True:
            check()

    with running(slow) as server:
        port = server.server_address[1]
        idle, waiting = (http.client.HTTPConnection("127.0.0.1", port) for _ in range(2))
        idle.request("GET", f"/?token={server.token}")
        assert idle.getresponse().read()
        waiting.request("POST", "/trace", "{}", {"X-Token": server.token})
        assert begun.wait(5)
        made = [each for each in threading.enumerate() if each not in before and not each.daemon]
    server.worker.shutdown()
    assert len(made) == 3  # two connections, and the worker
    assert not [each for each in made if each.is_alive()]
