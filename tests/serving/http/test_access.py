"""Who may call the server, how often, and under which name; and what the log has of it."""

import json

import pytest
from starlette.datastructures import Headers

from jumok.serving.http.access import MOST_CLIENTS, Rates, check_host, check_origin, own_names
from jumok.serving.http.refusals import RequestRefused
from tests.serving.http.process import serving


def test_a_client_may_send_a_minutes_requests_at_once_and_then_evenly():
    """By hand: 6 a minute are 6 at once, and then one every 10 seconds."""
    now = [0.0]
    rates = Rates(6.0, lambda: now[0])
    left = [rates.take("a").left for _ in range(6)]
    assert left == [5, 4, 3, 2, 1, 0]
    with pytest.raises(RequestRefused, match="A client may send 6 requests a minute") as refused:
        rates.take("a")
    assert (refused.value.status, refused.value.retry_after) == (429, 10)
    assert refused.value.headers["RateLimit-Remaining"] == "0"
    assert rates.take("b").left == 5  # another client
    now[0] = 9.9
    with pytest.raises(RequestRefused):
        rates.take("a")
    now[0] = 10.0
    assert rates.take("a").left == 0
    now[0] = 100.0
    assert rates.take("a").left == 5
    assert Rates(0.0).take("a") is None


def test_the_numbers_of_many_clients_take_no_more_memory():
    rates = Rates(6.0, lambda: 0.0)
    for client in range(2 * MOST_CLIENTS):
        rates.take(client)
    assert len(rates._schedule) <= MOST_CLIENTS
    for _ in range(6):
        rates.take("a")
    with pytest.raises(RequestRefused):
        rates.take("a")


def test_a_server_of_this_machine_answers_to_its_own_names_only():
    names = own_names("127.0.0.1", ["Proxy.example.org"])
    for host in ("localhost:5000", "127.0.0.1", "LOCALHOST:1", "[::1]:5000", "proxy.example.org"):
        check_host(names, host)
    check_host(names, None)
    for host in ("evil.example.org", "localhost.evil.org:5000", "127.0.0.1.evil.org", ""):
        with pytest.raises(RequestRefused, match="does not answer to this host name") as refused:
            check_host(names, host)
        assert refused.value.status == 421
    check_host(own_names("0.0.0.0", []), "any.example.org")
    assert own_names("0.0.0.0", ["a.org"]) == {"a.org"}
    check_host(own_names("::1", []), "[::1]:80")


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),  # curl
        ({"Origin": "http://localhost:1"}, True),
        ({"Origin": "https://localhost:1", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Origin": "http://other.example"}, True),  # of --cors
        ({"Origin": "http://other.example", "Sec-Fetch-Site": "cross-site"}, True),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "http://localhost:2", "Sec-Fetch-Site": "same-site"}, False),
        ({"Origin": "null", "Sec-Fetch-Site": "cross-site"}, False),
        ({"Origin": "null"}, False),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
    ],
)
def test_pages_of_other_origins_may_not_use_the_server(headers, allowed):
    given = Headers({"Host": "localhost:1"} | headers)
    for method in ("GET", "POST"):
        if allowed:
            check_origin(("http://other.example",), given, method)
        else:
            with pytest.raises(RequestRefused, match="start it with --cors") as refused:
                check_origin(("http://other.example",), given, method)
            assert refused.value.status == 403
    check_origin(("*",), given, "POST")


def test_a_link_to_the_server_may_be_anywhere():
    opened = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    check_origin((), Headers(opened | {"Sec-Fetch-Dest": "document"}), "GET")
    for headers, method in ((opened | {"Sec-Fetch-Dest": "iframe"}, "GET"), (opened, "POST")):
        with pytest.raises(RequestRefused):
            check_origin((), Headers(headers), method)


def test_a_page_elsewhere_computes_nothing_here(client):
    """A form and a file are requests that a page may send anywhere without asking first."""
    evil = {"Origin": "http://evil.example"}
    form = {"q": "a cat", "source": "en", "target": "ko"}
    for route, files in (("/translate", None), ("/translate_file", {"file": ("a.txt", b"a cat")})):
        refused = client.post(route, data=form, files=files, headers=evil)
        assert refused.status_code == 403, refused.text
        assert "--cors http://evil.example" in refused.json()["error"]
    asking = evil | {"Access-Control-Request-Method": "POST"}
    assert client.options("/v1/translate", headers=asking).status_code == 403
    own = {"Origin": str(client.base_url).rstrip("/")}
    assert client.post("/translate", data=form, headers=own).status_code == 200


@pytest.mark.parametrize("route", ["/", "/languages", "/v1/models", "/health/live", "/metrics"])
def test_head_is_answered_as_get_without_a_body(client, route):
    answer, whole = client.head(route), client.get(route)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == whole.headers["content-type"]
    assert client.head("/v1/translate").status_code == client.get("/v1/translate").status_code


def test_rates_names_and_texts_at_a_real_server(tiny_bundle, tmp_path):
    with serving(tmp_path, f"m={tiny_bundle}", "--rate", "2", "--log-texts") as server:
        client = server.client()
        body = {"text": "a cat", "beam": 1}
        other = client.post("/v1/translate", json=body, headers={"Host": "evil.example.org"})
        assert (other.status_code, other.json()["code"]) == (421, "host_not_allowed")
        first = client.post("/v1/translate", json=body)
        assert (first.status_code, first.headers["ratelimit-remaining"]) == (200, "1")
        asked = {"q": "a cat", "source": "en", "target": "ko"}
        assert client.post("/translate", data=asked).status_code == 200
        third = client.post("/translate", json=asked)
        assert third.status_code == 429
        assert third.json() == {"error": "A client may send 2 requests a minute."}
        assert 1 <= int(third.headers["retry-after"]) <= 30
        assert client.get("/languages").status_code == 200
        assert client.get("/health/ready").status_code == 200
        logged = [json.loads(line) for line in server.log.splitlines()]
        texts = [line["texts"] for line in logged if "texts" in line]
        assert texts == [[["a cat", ""]]] * 2
