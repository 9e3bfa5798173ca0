"""Behind Ray Serve: two replicas, of which one is killed under load."""

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from benchmarks import serving as trials
from benchmarks.load import open_loop, statuses
from jumok.cli.main import app
from jumok.errors import ConfigError, MissingExtraError
from jumok.serving.http import cluster

SECONDS = 180.0


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "do not describe a deployment"),
        ({"models": "a", "colour": "red"}, "colour=red"),
        ({"models": "a", "min_replicas": "0"}, "min_replicas is a number from 1 on"),
    ],
)
def test_wrong_arguments_are_said(given, text):
    with pytest.raises(ConfigError, match=text):
        cluster.app(given)


def test_a_cluster_that_others_can_reach_needs_keys(tiny_bundle):
    with pytest.raises(ConfigError, match="no key is asked for"):
        cluster.serving_of({"models": f"m={tiny_bundle}", "host": "0.0.0.0"})
    serving = cluster.serving_of({"models": f"m={tiny_bundle}", "threads": "2"})
    assert (list(serving.models), serving.threads) == (["m"], 2)
    assert "localhost" in (serving.settings.hosts or ())


class Dying:
    """An application in Ray's proxy: some replicas die before they answer."""

    def __init__(self, deaths: int) -> None:
        self.deaths, self.read = deaths, list[bytes]()

    async def __call__(self, scope, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        self.read.append(body)
        if len(self.read) > self.deaths:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"answer"})


@pytest.mark.parametrize(
    ("deaths", "status", "asked"), [(0, 200, 1), (1, 200, 2), (3, 200, 4), (9, 503, 4)]
)
def test_a_request_to_a_dead_replica_is_answered_by_another(deaths, status, asked):
    dying = Dying(deaths)

    async def ask():
        transport = httpx.ASGITransport(cluster.AnsweredAgain(dying))
        async with httpx.AsyncClient(transport=transport, base_url="http://m") as client:
            return await client.post("/v1/translate", content=b"a whole body")

    reply = asyncio.run(ask())
    assert (reply.status_code, dying.read) == (status, [b"a whole body"] * asked)
    assert reply.headers.get("Retry-After") == ("1" if status == 503 else None)


def test_nobody_is_asked_again_for_a_client_that_went():
    asked = []

    async def gone(scope, receive, send):
        asked.append(await receive())

    async def disconnect():
        return {"type": "http.disconnect"}

    async def nothing(message):
        raise AssertionError(message)

    asyncio.run(cluster.AnsweredAgain(gone)({"type": "http"}, disconnect, nothing))
    assert asked == [{"type": "http.disconnect"}]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--replicas", "2"], "add --ray, or take --processes"),
        (["--max-replicas", "2"], "add --ray, or take --processes"),
        (["--ray", "--processes", "2"], "take --replicas instead of --processes"),
        (["--ray", "--grace", "5"], "leave --grace out"),
        (["--ray", "--replicas", "3", "--max-replicas", "2"], "--replicas 3 --max-replicas 2"),
    ],
)
def test_options_of_a_cluster_that_contradict_one_another(tiny_bundle, options, text):
    done = CliRunner().invoke(app, ["serve", str(tiny_bundle), *options])
    assert isinstance(done.exception, ConfigError)
    assert text in str(done.exception)


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_a_cluster_needs_the_extra(tiny_bundle):
    done = CliRunner().invoke(app, ["serve", str(tiny_bundle), "--ray"])
    assert isinstance(done.exception, MissingExtraError)
    assert 'pip install "jumok[ray]"' in str(done.exception)


@pytest.fixture(scope="module")
def url(tiny_bundle: Path) -> Iterator[str]:
    """A local cluster of two replicas."""
    pytest.importorskip("ray", reason="needs the extra ray, which is 457 MB")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jumok", "serve", f"m={tiny_bundle}", "--ray"]
    process = subprocess.Popen(
        [*command, "--replicas", "2", "--port", str(port)],
        stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": _paths()},
    )  # fmt: skip
    assert process.stderr is not None
    try:
        assert any("Press Ctrl-C" in line for line in process.stderr), "the cluster did not start"
        reader = threading.Thread(target=process.stderr.read, daemon=True)
        reader.start()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=SECONDS)
    assert process.returncode == 0


def _paths() -> str:
    return os.pathsep.join(each for each in sys.path if each)


def replicas() -> list[int]:
    """The processes of this machine that are replicas, by the name that Ray gives them."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                name = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if b"ServeReplica:jumok" in name:
                found.append(int(folder.name))
    return found


def wait_for(url: str, ready: int) -> float:
    """Seconds until this many requests in a row are answered."""
    begin, row = time.monotonic(), 0
    while row < ready and time.monotonic() - begin < SECONDS:
        row = row + 1 if httpx.get(f"{url}/health/ready", timeout=60).status_code == 200 else 0
        time.sleep(0.05)
    assert row == ready
    return time.monotonic() - begin


@pytest.mark.nightly
def test_a_killed_replica_loses_nothing(url, capsys):
    wait_for(url, 20)
    answer = httpx.post(f"{url}/v1/translate", json={"text": "a cat"}, timeout=60)
    assert answer.status_code == 200, answer.text
    assert len(replicas()) == 2
    draw = random.Random(1)

    async def load(target):
        async def kill() -> int:
            await asyncio.sleep(3.0)
            victim = replicas()[0]
            os.kill(victim, signal.SIGKILL)
            return victim

        given = trials.questions(draw, 2)
        return await asyncio.gather(open_loop(target, given, 12.0, 10.0, draw), kill())

    replies, victim = trials.loaded(url, load)
    counted = statuses(replies)
    again = wait_for(url, 20)
    until = time.monotonic() + SECONDS
    while len(set(replicas()) - {victim}) < 2 and time.monotonic() < until:
        time.sleep(0.2)
    with capsys.disabled():
        print(f"\none of two replicas killed: {dict(counted)}; all ready {again:.1f} s later")
    assert set(counted) <= {200, 429}, counted
    assert counted[200] >= 0.8 * len(replies), counted
    assert len(set(replicas()) - {victim}) == 2
