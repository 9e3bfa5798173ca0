"""No value of a field makes the server fail: what it cannot read, it refuses."""

import json

import pytest

from benchmarks.load import LOST, percentile, statuses
from benchmarks.mutated import SILENT, damaged, faults_of
from benchmarks.mutations import QUESTIONS, VALUES
from tests.serving.http.process import serving


@pytest.mark.parametrize("route", QUESTIONS)
def test_any_value_is_answered_or_refused(client, route):
    for field in QUESTIONS[route]:
        for value in [*VALUES, "a" * 48_000]:
            body = json.dumps(QUESTIONS[route] | {field: value})
            answer = client.post(route, content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code in (200, 400, 404, 413), (body[:200], answer.text)


def test_damaged_requests_are_answered_or_refused(folders, tmp_path):
    """The short form of `python -m benchmarks.mutated`."""
    named = [f"{name}={folder}" for name, folder in folders.items()]
    with serving(tmp_path, *named) as server:
        found = damaged(server, seed=1, count=400)
        assert found.count >= 400
        assert found.failed == []
        assert faults_of(server) == []
        known = {200, 307, 400, 403, 404, 405, 408, 413, 415, 421, 429, 431, 504, LOST, SILENT}
        assert set(found.statuses) <= known, found.statuses
        assert found.statuses[200] > 10
        assert found.statuses[400] > 50
        assert found.statuses[LOST] <= 4, found.statuses
        assert set(statuses(found.health)) == {200}
        assert percentile([reply.seconds for reply in found.health], 0.5) < 1.0
        assert server.process.poll() is None
