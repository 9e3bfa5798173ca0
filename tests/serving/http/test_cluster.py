"""Behind Ray Serve: two replicas, of which one is killed under load."""

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from benchmarks import serving as trials
from benchmarks.load import open_loop, statuses
from jumok.errors import ConfigError
from jumok.serving.http import cluster

SECONDS = 180.0

STARTED = """
import sys
import ray
from ray import serve
from jumok.serving.http.cluster import app

models, port = sys.argv[1:]
# All on this machine; the sizes are small, because a test machine is.
ray.init(num_cpus=4, include_dashboard=False, object_store_memory=80 * 1024**2,
         logging_level="error")
serve.start(http_options={"host": "127.0.0.1", "port": int(port)})
serve.run(app({"models": models, "min_replicas": "2", "max_replicas": "2"}), name="jumok")
print("ready", flush=True)
sys.stdin.read()
serve.shutdown()
ray.shutdown()
"""


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


@pytest.fixture(scope="module")
def url(tiny_bundle: Path) -> Iterator[str]:
    """A local cluster of two replicas."""
    pytest.importorskip("ray", reason="needs the extra ray, which is 457 MB")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-c", STARTED, f"m={tiny_bundle}", str(port)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": _paths()},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert "ready" in (line.strip() for line in process.stdout), "the cluster did not start"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.communicate(timeout=SECONDS)


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


@pytest.mark.slow
def test_a_killed_replica_loses_only_what_it_computed(url, capsys):
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
    assert set(counted) <= {200, 429, 500, 502, 503}, counted
    assert counted[200] >= 0.8 * len(replies), counted
    assert len(set(replicas()) - {victim}) == 2
