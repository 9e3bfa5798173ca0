"""A saturated server against `jumok translate`: what the way over HTTP costs.

Both translate the same sentences on the same core, in turns. Both rates are also given for each
CPU-second of the process, which hardly changes while other programs use the core.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.environments import FOLDER, OURS, python_of
from benchmarks.load import Question, Reply
from benchmarks.measure import median_ratio
from benchmarks.process import one_thread_environment, pinned, stop
from benchmarks.servers import hold_to_another_core

ROUNDS = 3
BATCH = 32
TOGETHER = 64
"""Clients, so that a batch waits while another one is computed."""

CPU_FIELDS = slice(11, 13)
"""utime and stime in /proc/PID/stat, after the name."""


@dataclass(frozen=True)
class Throughput:
    """Sentences a second, and a CPU-second."""

    wall: float
    cpu: float


def hold(process: int, core: int) -> None:
    """Holds all threads of a process to one core, and this process to the others."""
    for thread in Path(f"/proc/{process}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {core})
    hold_to_another_core(core)


def cpu_of(process: int) -> float:
    """CPU-seconds of one process, all of its threads."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return sum(map(int, fields[CPU_FIELDS])) / os.sysconf("SC_CLK_TCK")


class Offline:
    """`Translator.translate`, as `jumok translate` calls it, in a process on one core."""

    def __init__(self, model: Path, core: int) -> None:
        worker = FOLDER / "workers" / "jumok_translating.py"
        self._process = subprocess.Popen(
            pinned([python_of(OURS), worker, model], core),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=one_thread_environment(),
            start_new_session=True,
        )

    def rate(self, texts: Sequence[str], beam: int) -> Throughput:
        """How fast it translates in batches of BATCH."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"texts": texts, "beam": beam, "batch": BATCH}
        begin = time.perf_counter()
        self._process.stdin.write((json.dumps(request) + "\n").encode())
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        seconds = time.perf_counter() - begin
        return Throughput(len(texts) / seconds, len(texts) / answer["cpu_seconds"])

    def close(self) -> None:
        stop(self._process)


def http_rate(
    process: int,
    send: Callable[[Sequence[Question]], tuple[list[Reply], float]],
    texts: Sequence[str],
    beam: int,
    texts_a_request: int,
) -> Throughput:
    """How fast a server translates for TOGETHER clients.

    Raises:
        AssertionError: a request was not answered.
    """
    given = [
        Question("/v1/translate", {"text": list(texts[at : at + texts_a_request]), "beam": beam})
        for at in range(0, len(texts), texts_a_request)
    ]
    before = cpu_of(process)
    replies, seconds = send(given)
    used = cpu_of(process) - before
    assert all(reply.status == 200 for reply in replies), [reply.status for reply in replies]
    return Throughput(len(texts) / seconds, len(texts) / max(used, 0.01))


def compared(
    process: int,
    send: Callable[[Sequence[Question]], tuple[list[Reply], float]],
    offline: Offline,
    texts: Sequence[str],
    beam: int,
    texts_a_request: int = 1,
    rounds: int = ROUNDS,
) -> dict[str, float]:
    """Both rates, and the server's as a share of the other: medians over rounds."""
    http_rate(process, send, texts[:TOGETHER], beam, texts_a_request)  # to warm up
    offline.rate(texts[:BATCH], beam)
    served, alone = [], []
    for _ in range(rounds):
        served.append(http_rate(process, send, texts, beam, texts_a_request))
        alone.append(offline.rate(texts, beam))
    return {
        "http": round(median(each.wall for each in served), 1),
        "offline": round(median(each.wall for each in alone), 1),
        "share": round(median_ratio([x.wall for x in served], [x.wall for x in alone]), 3),
        "http_cpu": round(median(each.cpu for each in served), 1),
        "offline_cpu": round(median(each.cpu for each in alone), 1),
        "share_cpu": round(median_ratio([x.cpu for x in served], [x.cpu for x in alone]), 3),
    }
