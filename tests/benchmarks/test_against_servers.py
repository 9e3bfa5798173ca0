"""The comparison of servers, with two of jumok's own: others need environments of their own."""

import asyncio
import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.against_servers import SHARES, Figures, measure, shown, table
from benchmarks.errors import BenchmarkError
from benchmarks.load import Question, Reply, Target, closed_loop, percentile
from benchmarks.saturation import Offline, compared, cpu_of, hold
from benchmarks.servers import FASTAPI, JUMOK, Kind, jumok_server, libretranslate, started
from benchmarks.serving import loaded
from tests.serving.http.process import serving

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="CPU times and memory are read in /proc"
)
TEXTS = ["a cat.", "the dog.", "I am."]
CORE = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0


@pytest.fixture
def folder(tiny_bundle: Path, tmp_path: Path) -> Path:
    (tmp_path / "model").symlink_to(tiny_bundle, target_is_directory=True)
    return tmp_path


@pytest.fixture(autouse=True)
def cores():
    """The cores of this process as they were."""
    before = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, before)


def test_servers_take_turns_and_become_rows_of_a_table(folder):
    kinds = [jumok_server("first"), jumok_server("second", "--queue-requests", "64")]
    with ExitStack() as stack:
        servers = [stack.enter_context(started(kind, folder, 1, CORE)) for kind in kinds]
        assert os.sched_getaffinity(servers[0].session) == {CORE}
        measured = measure(servers, TEXTS, beam=1, seconds=0.3, rounds=2, counts=(3, 6))
        peak = {server.kind.name: server.peak for server in servers}
    for figures in measured.values():
        assert len(figures.alone) == 6
        assert len(figures.rates) == len(figures.cpu_rates) == len(figures.cpu_alone) == 2
        assert min(*figures.rates, *figures.cpu_rates) > 0
        assert set(figures.shares) == set(SHARES)
        assert figures.failed == 0
    assert measured["first"].texts == measured["second"].texts
    assert all(size > 10e6 for size in peak.values())
    lines = list(table(measured, peak))
    assert [line.count("|") for line in lines] == [11] * 4
    assert lines[3].startswith("| second | ")
    assert lines[3].endswith("| 3 of 3 |")


def test_a_translation_that_differs_and_a_failure_are_shown():
    one = Figures([1.0, 2.0], [0.5], [10.0], [20.0], {0.5: [1.0], 0.8: []}, 0, ["a", "b"])
    two = Figures([1.0, 2.0], [0.5], [10.0], [20.0], {0.5: [1.0], 0.8: [9.0]}, 4, ["a", "c"])
    last = list(table({"one": one, "two": two}, {"one": 1_000_000, "two": 2_000_000}))[-1]
    assert last == "| two | 1.0; 2.0 | 0.5 | 10 | 20 | 1.0; 1.0 | 9.0; 9.0 | 4 | 2 | 1 of 2 |"
    assert shown([]) == "-"


@pytest.mark.parametrize(
    ("count", "share", "expected"),
    [(1, 0.5, 1), (2, 0.5, 1), (3, 0.5, 2), (100, 0.99, 99), (101, 0.99, 100), (10, 1.0, 10)],
)
def test_a_percentile_is_a_value_that_was_measured(count, share, expected):
    assert percentile([float(value) for value in range(count, 0, -1)], share) == expected


@pytest.mark.parametrize("answered", [b"", b"HTTP/1.1 200 OK\r\nContent-Le"])
def test_a_request_on_a_connection_that_ended_is_sent_again_unless_an_answer_began(answered):
    """A server that answers the first request of each connection, and breaks off at the second."""

    async def serve(reader, writer):
        for reply in (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", answered):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(reply)
        await writer.drain()
        writer.close()

    async def run():
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            target = Target(f"http://127.0.0.1:{port}")
            replies = [await target.ask(Question("/")) for _ in range(2)]
            await target.close()
        return [(reply.status, reply.again) for reply in replies]

    assert asyncio.run(run()) == [(200, False), (200, True) if not answered else (0, False)]


def test_a_server_that_ends_is_said_with_its_log(folder):
    kind = Kind("broken", JUMOK, lambda *_: ["python", "-c", "raise SystemExit('no model')"])
    with (
        pytest.raises(BenchmarkError, match="broken did not start: no model"),
        started(kind, folder, 1, CORE),
    ):
        pass


def test_every_dialect_asks_in_its_own_words():
    asked = [each.question("a", 4) for each in (JUMOK, FASTAPI, libretranslate("en", "ko"))]
    assert asked == [
        Question("/v1/translate", {"text": "a", "beam": 4}),
        Question("/translate", {"text": "a", "beam": 4}),
        Question("/translate", {"q": "a", "source": "en", "target": "ko"}),
    ]
    assert JUMOK.text(Reply(200, 0.0, {}, b'{"answers": [{"text": "x"}]}')) == "x"
    assert libretranslate("en", "ko").text(Reply(200, 0.0, {}, b'{"translatedText": "x"}')) == "x"


def test_a_saturated_server_is_compared_with_the_offline_command(tiny_bundle, tmp_path):
    offline = Offline(tiny_bundle, CORE)
    with serving(tmp_path, f"m={tiny_bundle}", "--grace", "0") as server:
        pid = server.process.pid
        hold(pid, CORE)
        threads = [int(each.name) for each in Path(f"/proc/{pid}/task").iterdir()]
        assert {frozenset(os.sched_getaffinity(each)) for each in threads} == {frozenset({CORE})}
        before = cpu_of(pid)

        def send(given):
            return loaded(server.url, lambda target: closed_loop(target, given, 4))

        try:
            for count in (1, 2):
                facts = compared(pid, send, offline, TEXTS * 2, 1, count, rounds=2)
                assert min(facts.values()) > 0, facts
        finally:
            offline.close()
        assert cpu_of(pid) > before
