"""Keys, limits, overload and hang-ups, at a server with small limits."""

import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.serving.http.process import SECONDS, ServedProcess, serving

KEY = {"Authorization": "Bearer right-key"}
LONG = " ".join(["the cat sat on the mat, and the dog barked."] * 4)


@pytest.fixture(scope="module")
def guarded(tiny_bundle, tmp_path_factory) -> Iterator[ServedProcess]:
    """A server with keys, and with places for three requests."""
    folder = tmp_path_factory.mktemp("guarded")
    keys = folder / "keys"
    keys.touch(0o600)
    keys.write_text("# ours\nright-key\n\nother-key\n")
    limits = ["--max-body", "2000", "--max-texts", "3", "--max-tokens", "300"]
    queue = ["--queue-requests", "3", "--cors", "https://example.org", "--grace", "0"]
    with serving(
        folder, f"m={tiny_bundle}", "--key-file", str(keys), "--host", "0.0.0.0", *limits, *queue
    ) as server:
        server.url = server.url.replace("0.0.0.0", "127.0.0.1")
        yield server


@pytest.fixture
def client(guarded: ServedProcess) -> Iterator[httpx.Client]:
    with guarded.client() as client:
        yield client


def metric(client: httpx.Client, name: str) -> float:
    text = client.get("/metrics", headers=KEY).text
    return sum(float(line.split(" ")[-1]) for line in text.splitlines() if line.startswith(name))


def test_keys_are_asked_for_in_each_dialect(client):
    body = {"q": "a", "source": "en", "target": "ko"}
    assert client.post("/translate", json=body).status_code == 400
    answer = client.post("/translate", json=body | {"api_key": "wrong"})
    assert (answer.status_code, answer.json()) == (403, {"error": "The API key is not valid."})
    assert client.post("/translate", json=body | {"api_key": "right-key"}).status_code == 200
    assert client.post("/translate", data=body | {"api_key": "other-key"}).status_code == 200
    assert client.post("/translate", json=body, headers=KEY).status_code == 200
    answer = client.post("/v1/translate", json={"text": "a"})
    assert (answer.status_code, answer.json()["code"]) == (401, "key_missing")
    assert answer.headers["www-authenticate"] == "Bearer"
    answer = client.get("/v1/models", headers={"Authorization": "Bearer right"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (403, "permission_error")
    assert client.get("/metrics").status_code == 401
    assert client.get("/health").status_code == 200
    assert client.get("/frontend/settings").json()["keyRequired"] is True


def test_limits_are_named_with_their_values(client):
    answer = client.post("/v1/translate", content=b" " * 2001, headers=KEY)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    text = "A request has at most 2000 bytes, and this one has 2001 or more."
    assert answer.json()["detail"] == text

    def chunks() -> Iterator[bytes]:
        yield from [b" " * 900] * 4

    answer = client.post("/translate", content=chunks(), headers=KEY)
    assert (answer.status_code, answer.json()["error"][:39]) == (413, text[:39])
    answer = client.post("/v1/translate", json={"text": ["a"] * 4}, headers=KEY)
    assert answer.json()["detail"] == "A request has at most 3 texts, and this one has 4."
    answer = client.post("/v1/translate", json={"text": "a" * 1500}, headers=KEY)
    text = "A request has at most 300 tokens, and this one has about 501."
    assert (answer.status_code, answer.json()["detail"]) == (400, text)


def test_pages_of_other_origins_get_what_cors_allows(client):
    asked = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    asked["Access-Control-Request-Headers"] = "authorization,content-type,x-request-id"
    answer = client.options("/translate", headers=asked)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://example.org"
    answer = client.options("/translate", headers=asked | {"Origin": "https://example.com"})
    assert "access-control-allow-origin" not in answer.headers
    answer = client.post("/v1/translate", json={}, headers={"Origin": "https://example.org"})
    assert answer.status_code == 401
    assert answer.headers["access-control-allow-origin"] == "https://example.org"


def test_an_overload_is_refused_at_once_with_the_time_to_come_back(client):
    def ask(_: int) -> httpx.Response:
        return client.post("/v1/translate", json={"text": LONG, "beam": 40}, headers=KEY)

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(24)))
    counted = Counter(answer.status_code for answer in answers)
    assert set(counted) == {200, 429}
    for answer in answers:
        if answer.status_code == 429:
            assert answer.json()["code"] == "queue_full"
            assert "4 requests, and the limit is 3" in answer.json()["detail"]
            assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert client.post("/v1/translate", json={"text": "a"}, headers=KEY).status_code == 200
    assert metric(client, "jumok_queue_requests") == metric(client, "jumok_queue_tokens") == 0.0
    assert metric(client, 'jumok_rejected_total{reason="queue_full"}') == counted[429]


def test_a_deadline_ends_a_request(client):
    body = {"text": LONG, "beam": 64, "deadline_ms": 5}
    answer = client.post("/v1/translate", json=body, headers=KEY)
    assert answer.status_code in (429, 504), answer.text
    assert answer.json()["code"] in ("deadline_passed", "deadline_too_short")
    header = KEY | {"X-Request-Deadline": "5"}
    answer = client.post("/v1/translate", json={"text": LONG, "beam": 64}, headers=header)
    assert answer.status_code in (429, 504)
    header["X-Request-Deadline"] = "soon"
    answer = client.post("/v1/translate", json={"text": "a"}, headers=header)
    assert (answer.status_code, answer.json()["parameter"]) == (400, "X-Request-Deadline")


def test_a_client_that_hangs_up_leaves_the_queue(client, guarded):
    before = metric(client, "jumok_cancelled_total")
    host, port = guarded.url.removeprefix("http://").split(":")
    body = b'{"text": "%s", "beam": 64}' % LONG.encode()
    head = (
        b"POST /v1/translate HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer right-key\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    for _ in range(3):
        with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
            connection.sendall(head + body)
            time.sleep(0.02)
    until = time.monotonic() + SECONDS
    while metric(client, "jumok_queue_requests") and time.monotonic() < until:
        time.sleep(0.05)
    assert metric(client, "jumok_queue_requests") == 0.0
    assert metric(client, "jumok_cancelled_total") == before + 3


def test_answers_are_not_delayed_by_the_connection(client):
    """Nagle's algorithm and delayed acknowledgements together would add 40 ms to each."""

    def seconds() -> float:
        start = time.perf_counter()
        assert client.get("/health").status_code == 200
        return time.perf_counter() - start

    assert min(seconds() for _ in range(20)) < 0.03


def test_a_body_of_the_wrong_length_is_no_fault(client, guarded):
    host, port = guarded.url.removeprefix("http://").split(":")
    for length in (b"5", b"-1", b"x", b"99999999999999999999"):
        with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
            connection.sendall(
                b"POST /v1/translate HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer right-key\r\n"
                b"Content-Length: " + length + b'\r\n\r\n{"text": "a"}'
            )
            assert b"HTTP/1.1 4" in connection.recv(100)
    assert client.get("/health").status_code == 200
    assert metric(client, 'jumok_requests_total{route="/v1/translate",status="500"}') == 0.0


def test_the_log_has_no_texts_and_no_keys(client, guarded: ServedProcess):
    client.post("/v1/translate", json={"text": "mat"}, headers=KEY | {"X-Request-Id": "log-1"})
    until = time.monotonic() + SECONDS
    while "log-1" not in guarded.log and time.monotonic() < until:
        time.sleep(0.01)
    (line,) = [each for each in guarded.log.splitlines() if "log-1" in each]
    assert '"route": "/v1/translate", "status": 200' in line
    assert "mat," not in guarded.log
    assert "right-key" not in guarded.log
    assert guarded.errors.count("\n") == 2  # the address, and how to stop it


def test_metrics_have_no_label_of_a_client(client):
    client.get("/some/path?q=secret", headers=KEY)
    text = client.get("/metrics", headers=KEY).text
    assert 'route="other"' in text
    assert "secret" not in text
    assert 'jumok_model_info{digest="' in text
    for name in ("request_seconds", "queue_seconds", "batch_rows", "tokens", "running"):
        assert f"jumok_{name}" in text
