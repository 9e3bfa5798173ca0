"""The direct way to a route and FastAPI's give the same answers."""

import asyncio
import json
import re
import time
from collections.abc import Iterator

import httpx
import pytest

from benchmarks.mutations import QUESTIONS, VALUES
from jumok.serving.http.admission.direct import Direct
from jumok.serving.http.admission.gate import Gate
from jumok.serving.http.app import application
from jumok.serving.http.running import Serving
from jumok.serving.http.settings import ServeSettings
from jumok.systems.catalog import open_model
from tests.serving.http.process import SECONDS

OWN_OF_EACH = re.compile(
    r'"(queue|encode|decode|compute|request_id|id|created)": ?("[^"]*"|[\d.]+)'
)
"""What differs from answer to answer."""


@pytest.fixture(scope="module")
def gates(folders) -> Iterator[tuple[Gate, Gate]]:
    """The application of `jumok serve`, and the same without the direct way."""
    models = {name: open_model(folders[name]) for name in ("en-ko", "gaps", "labels")}
    faults: list[BaseException] = []
    service = Serving(models, ServeSettings(), threads=0).service(faults.append)
    for model in service.models.values():
        model.engine.start()
    until = time.monotonic() + SECONDS
    while not service.ready and time.monotonic() < until:
        time.sleep(0.01)
    direct = application(service)
    assert isinstance(direct, Gate)
    assert isinstance(direct.app, Direct)
    yield direct, Gate(direct.app.app, service)
    for model in service.models.values():
        model.engine.queue.close()
    assert faults == []


def answers(gate: Gate, requests: list[tuple[str, str, bytes, str]]) -> list[tuple[object, ...]]:
    async def all_of_them() -> list[tuple[object, ...]]:
        transport = httpx.ASGITransport(gate, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            found = []
            for method, path, body, kind in requests:
                headers = {"Content-Type": kind, "X-Request-Id": "same"}
                got = await client.request(method, path, content=body, headers=headers)
                text = OWN_OF_EACH.sub("", got.text)
                kept = {name: got.headers.get(name) for name in ("content-type", "allow")}
                found.append((method, path, body, got.status_code, kept, text))
            return found

    return asyncio.run(all_of_them())


def test_fields_of_every_value_have_the_same_answer_on_both_ways(gates):
    requests = [
        ("POST", route, json.dumps(QUESTIONS[route] | {field: value}).encode(), "application/json")
        for route in ("/v1/translate", "/v1/fill", "/v1/classify", "/v1/score", "/detect")
        for field in QUESTIONS[route]
        for value in VALUES[::2]
    ]
    direct, slow = (answers(gate, requests) for gate in gates)
    assert direct == slow
    assert {each[3] for each in direct} >= {200, 400}


@pytest.mark.parametrize(
    "kind",
    [
        *("application/json", "APPLICATION/JSON; charset=utf-8", "application/problem+json", ""),
        *("text/plain", "application/x-www-form-urlencoded", "application/json, text/plain"),
    ],
)
def test_types_methods_and_bodies_have_the_same_answer_on_both_ways(gates, kind):
    bodies = (
        *(b'{"text": "a", "q": "a", "source": "en", "target": "ko"}', b"", b"{", b"[]", b"null"),
        *(
            b'"a"',
            b"\xff",
            b'{"text": "\\ud800"}',
            b"[" * 3_000,
            b'{"text": 1e999}',
            b'{"text": 1}',
        ),
        *(b'\xef\xbb\xbf{"text": "a"}', '{"text": "a"}'.encode("utf-16"), b'{"text": "a", "x": 1}'),
    )
    paths = ("/v1/translate", "/translate", "/v1/fill/", "/v1/models", "/health/live", "/nothing")
    requests = [
        (method, path, body, kind)
        for method in ("POST", "GET", "PUT")
        for path in paths
        for body in (bodies if method == "POST" else bodies[:1])
    ]
    direct, slow = (answers(gate, requests) for gate in gates)
    assert direct == slow
