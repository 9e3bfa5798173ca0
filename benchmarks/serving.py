"""How `jumok serve` behaves under load: latency, overload, hang-ups, slow clients, its end.

    python -m benchmarks.serving MODEL [--seconds 60]
    python -m benchmarks.serving MODEL --only tagged --requests 100000 --words 200
    python -m benchmarks.serving MODEL --only soak --seconds 3600 --rate 60
    python -m benchmarks.serving MODEL --only saturation [--sentences FILE]

starts a server for each trial on one core of this machine, sends it requests from the others, and
prints a line for each figure. tests/serving/http/test_load.py runs short forms of these trials.
"""

import argparse
import asyncio
import gc
import itertools
import json
import os
import random
import re
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TypeVar

import httpx
import uvloop

from benchmarks.growth import growth
from benchmarks.load import (
    Question,
    Reply,
    Target,
    closed_loop,
    hang_ups,
    open_loop,
    percentile,
    slow_heads,
    statuses,
    while_probed,
)
from benchmarks.saturation import TOGETHER, Offline, compared, hold
from benchmarks.tagged import tagged
from jumok.systems.translation.translator import Translator
from tests.serving.http.process import ServedProcess, serving

Found = TypeVar("Found")
Facts = dict[str, object]

WORDS = [
    *("the", "a", "old", "young", "little", "cat", "dog", "bird", "boy", "girl", "teacher"),
    *("student", "house", "garden", "river", "book", "saw", "found", "read", "carried", "loves"),
    *("near", "in", "behind", "and", "but", "today", "slowly", "again"),
]
HEALTH = Question("/health/live")
SOAK_PARTS = 60
SATURATED = 512


def loaded(url: str, work: Callable[[Target], Awaitable[Found]]) -> Found:
    """Runs a load, and closes its connections.

    Without the garbage collector, which would look through all answers and send nothing meanwhile.
    """

    async def whole() -> Found:
        target = Target(url)
        try:
            return await work(target)
        finally:
            await target.close()

    gc.disable()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(whole())
    finally:
        gc.enable()


def sentence(draw: random.Random, most: int, least: int = 1) -> str:
    """A text of so many words, without a full stop inside: one segment, unless it is long."""
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(least, most))) + "."


def questions(draw: random.Random, most: int = 12, beam: int = 1) -> Iterator[Question]:
    """Endless requests for translations."""
    while True:
        yield Question("/v1/translate", {"text": sentence(draw, most), "beam": beam})


def times(replies: Sequence[Reply], status: int = 200) -> Facts:
    """Milliseconds of the answers with this status."""
    milliseconds = [reply.seconds * 1e3 for reply in replies if reply.status == status]
    if not milliseconds:
        return {}
    return {
        "p50": round(percentile(milliseconds, 0.5), 1),
        "p99": round(percentile(milliseconds, 0.99), 1),
    }


def capacity(url: str, count: int, together: int = 32, most: int = 12) -> float:
    """Requests a second that the server answers when there are always some waiting."""
    given = list(itertools.islice(questions(random.Random(1), most), count))
    replies, seconds = loaded(url, lambda target: closed_loop(target, given, together))
    return statuses(replies)[200] / seconds


def steady(url: str, rate: float, seconds: float, most: int = 12) -> Facts:
    """A load below the capacity."""
    draw = random.Random(2)
    given = questions(draw, most)
    replies = loaded(url, lambda target: open_loop(target, given, rate, seconds, draw))
    return {"rate": round(rate, 1), "statuses": dict(statuses(replies)), **times(replies)}


def overload(
    server: ServedProcess, rate: float, seconds: float, burst: float, most: int = 12
) -> Facts:
    """Twice the capacity, then ten times as much for a short time, then nothing."""
    draw = random.Random(3)

    async def work(target: Target) -> tuple[list[Reply], list[Reply], float]:
        given = questions(draw, most)
        twice = await open_loop(target, given, 2 * rate, seconds, draw)
        tenfold = await open_loop(target, given, 10 * rate, burst, draw)
        begin = time.perf_counter()
        while (await target.ask(next(given))).status != 200:
            await asyncio.sleep(0.01)
        return twice, tenfold, time.perf_counter() - begin

    before = memory(server.process.pid)
    twice, tenfold, recovered = loaded(server.url, work)
    refused = [reply for reply in twice + tenfold if reply.status == 429]
    retries = [int(reply.headers["retry-after"]) for reply in refused]
    return {
        "twice": {"statuses": dict(statuses(twice)), **times(twice)},
        "tenfold": {"statuses": dict(statuses(tenfold)), **times(tenfold)},
        "goodput": round(statuses(twice)[200] / (seconds * rate), 3),
        "refusal": times([replace(each, seconds=each.own) for each in refused], 429),
        "retry_after": [min(retries, default=0), max(retries, default=0)],
        "memory": round(memory(server.process.pid) / before, 3),
        "recovered": round(recovered, 3),
    }


def own_answers(url: str, count: int, most: int, offline: Translator) -> Facts:
    """Requests of random lengths and beams; how many answers are those of the offline command."""
    texts = (sentence(draw, most) for draw in [random.Random(4)] for _ in range(count))
    return dict(tagged(texts, lambda work: loaded(url, work), offline, count))


def hung_up(url: str, count: int, longest: float, most: int = 30) -> Facts:
    """Clients that close the connection at random moments; what the server counted."""
    draw = random.Random(5)
    given = list(itertools.islice(questions(draw, most, beam=4), count))
    before = counted(url)
    loaded(url, lambda target: hang_ups(target, given, longest, draw))
    until = time.monotonic() + 60
    while time.monotonic() < until and counted(url)["queue"] + counted(url)["running"]:
        time.sleep(0.02)
    return {name: number - before[name] for name, number in counted(url).items()}


def counted(url: str) -> dict[str, float]:
    """What the metrics say of translations."""
    text = httpx.get(f"{url}/metrics", timeout=60).text

    def total(pattern: str) -> float:
        return sum(float(each) for each in re.findall(pattern + r" ([\d.e+]+)$", text, re.M))

    route = r'^jumok_requests_total\{route="/v1/translate",status="%s"\}'
    return {
        "answered": total(route % "200"),
        "refused": total(route % "429"),
        "hung_up": total(route % "499"),
        "cancelled": total("^jumok_cancelled_total"),
        "faults": total(r"^jumok_engine_faults_total\{.*\}"),
        "queue": total(r"^jumok_queue_requests\{.*\}"),
        "running": total(r"^jumok_running\{.*\}"),
    }


def ended(server: ServedProcess, count: int, most: int = 20) -> Facts:
    """SIGTERM while requests wait; how many of them were answered."""

    async def work(target: Target) -> list[Reply]:
        given = list(itertools.islice(questions(random.Random(6), most, beam=4), count))
        running = asyncio.ensure_future(closed_loop(target, given, count))
        probe = Target(server.url)
        while True:
            text = (await probe.ask(Question("/metrics"))).body.decode()
            known = re.findall(
                r"^jumok_(?:requests_total.*v1/translate|queue_requests).* (\S+)", text, re.M
            )
            if sum(map(float, known)) >= count:  # answered, or in the queue
                break
            await asyncio.sleep(0.005)
        server.process.send_signal(signal.SIGTERM)
        replies, _ = await running
        await probe.close()
        return replies

    replies = loaded(server.url, work)
    begin = time.monotonic()
    code = server.process.wait(60)
    return {
        "statuses": dict(statuses(replies)),
        "exit_code": code,
        "seconds": round(time.monotonic() - begin, 2),
    }


def besieged(url: str, count: int, seconds: float) -> Facts:
    """Many connections that send a byte at a time, while others ask for their health."""

    async def work(target: Target) -> tuple[list[Reply], object]:
        slow = asyncio.ensure_future(slow_heads(target, count, seconds))
        return await while_probed(target, HEALTH, 0.02, slow), slow.result()

    replies, ends = loaded(url, work)
    return {"health": {"statuses": dict(statuses(replies)), **times(replies)}, "ended": ends}


def health_while_searching(url: str, count: int, beam: int, most: int = 60) -> Facts:
    """The health route while the longest searches run."""
    draw = random.Random(7)
    given = [
        Question("/v1/translate", {"text": sentence(draw, most), "beam": beam})
        for _ in range(count)
    ]

    async def work(target: Target) -> list[Reply]:
        return await while_probed(target, HEALTH, 0.01, closed_loop(target, given, count))

    replies = loaded(url, work)
    return {"statuses": dict(statuses(replies)), **times(replies)}


def alone(url: str, count: int) -> dict[str, dict[str, float]]:
    """One request after the other, and how much of their time is not the engine's."""
    given = list(itertools.islice(questions(random.Random(8)), count))
    replies, _ = loaded(url, lambda target: closed_loop(target, given, 1))
    whole = [reply.seconds * 1e3 for reply in replies]
    inside = [_milliseconds(reply, "queue") + _milliseconds(reply, "compute") for reply in replies]
    around = [all_of_it - engine for all_of_it, engine in zip(whole, inside, strict=True)]
    return {
        "whole": {"p50": percentile(whole, 0.5), "p99": percentile(whole, 0.99)},
        "around": {"p50": percentile(around, 0.5), "p99": percentile(around, 0.99)},
    }


def _milliseconds(reply: Reply, name: str) -> float:
    match = re.search(rf"{name};dur=([\d.]+)", reply.headers["server-timing"])
    return float(match[1]) if match else 0.0


def memory(process: int) -> int:
    """Kilobytes of memory that the process has now."""
    status = Path(f"/proc/{process}/status").read_text("ascii")
    match = re.search(r"VmRSS:\s+(\d+)", status)
    return int(match[1]) if match else 0


def open_files(process: int) -> int:
    """The open files of the process, connections included."""
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def saturation(server: ServedProcess, model: Path, texts: Sequence[str], core: int) -> Facts:
    """The server against the offline command on the server's core."""
    offline = Offline(model, core)

    def send(given: Sequence[Question]) -> tuple[list[Reply], float]:
        return loaded(server.url, lambda target: closed_loop(target, given, TOGETHER))

    try:
        return {
            f"beam {beam}, {count} in a request": compared(
                server.process.pid, send, offline, texts, beam, count
            )
            for beam in (1, 4)
            for count in (1, 16)
        }
    finally:
        offline.close()


def soak(
    server: ServedProcess, rate: float, seconds: float, most: int = 12, parts: int = SOAK_PARTS
) -> Facts:
    """A steady load for long; memory (kB) and open files after each part of it.

    The first tenth is left out of the rise: memory that is used once and then kept is not lost.
    """
    begin, pid = time.perf_counter(), server.process.pid
    counted: Counter[int] = Counter()
    slowest, again = 0.0, 0
    measured: list[tuple[float, int, int]] = []
    draw = random.Random(2)
    given = questions(draw, most)
    for _ in range(parts):
        replies = loaded(
            server.url, lambda target: open_loop(target, given, rate, seconds / parts, draw)
        )
        counted += statuses(replies)
        again += sum(reply.again for reply in replies)
        slowest = max(slowest, *(reply.seconds for reply in replies), 0.0)
        time.sleep(0.2)
        measured.append((time.perf_counter() - begin, memory(pid), open_files(pid)))
    at, kilobytes, files = zip(*measured[len(measured) // 10 :], strict=True)
    rise = growth(at, kilobytes)
    return {
        "rate": rate,
        "statuses": dict(counted),
        "sent_again": again,
        "slowest_ms": round(slowest * 1e3, 1),
        "memory": [measured[0][1], min(kilobytes), max(kilobytes), kilobytes[-1]],
        "memory_rise": {**asdict(rise), "grows": rise.grows},
        "open_files": [files[0], max(files), files[-1]],
    }


def main() -> None:
    """Runs all trials."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds of each load")
    parser.add_argument("--only", default="", help="the trials whose names begin with this")
    parser.add_argument("--option", action="append", default=[], help="an option of the server")
    parser.add_argument("--requests", type=int, default=2_000, help="of `tagged`, or a capacity")
    parser.add_argument("--words", type=int, default=60, help="the longest text of `tagged`")
    parser.add_argument("--sentences", type=Path, help="those of `saturation`, one a line")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--rate", type=float, default=0.0, help="requests a second of `soak`")
    asked = parser.parse_args()
    for name, trial in TRIALS.items():
        if name.startswith(asked.only):
            with (
                tempfile.TemporaryDirectory() as folder,
                serving(Path(folder), f"m={asked.model}", "--grace", "0", *asked.option) as server,
            ):
                hold(server.process.pid, asked.core)
                begun = os.getloadavg()[0]
                facts = trial(server, asked)
                print(f"{name}: {json.dumps(facts)} load={begun:.1f}", flush=True)
                assert "Traceback" not in server.errors, server.errors


def _loads(server: ServedProcess, asked: argparse.Namespace) -> Facts:
    """The 99 % of each load is also given as a multiple of the median of one client."""
    most, lone = capacity(server.url, asked.requests), alone(server.url, 300)
    facts: Facts = {"capacity": round(most, 1), "alone": lone}
    for share in (0.5, 0.8):
        load = steady(server.url, share * most, asked.seconds)
        if isinstance(slow := load.get("p99"), float):  # without an answer there is none
            load["of_lone"] = round(slow / lone["whole"]["p50"], 1)
        facts[f"{share:.0%}"] = load
    return facts


def _saturation(server: ServedProcess, asked: argparse.Namespace) -> Facts:
    """With the sentences that are given; without them with 20 to 30 random words."""
    draw = random.Random(9)
    texts = [sentence(draw, 30, 20) for _ in range(SATURATED)]
    if asked.sentences:
        texts = asked.sentences.read_text("utf-8").splitlines()[:SATURATED]
    return saturation(server, Path(asked.model), texts, asked.core)


def _soak(server: ServedProcess, asked: argparse.Namespace) -> Facts:
    """At the rate that is asked for; without one at 70 % of the capacity."""
    most = capacity(server.url, asked.requests)
    facts = soak(server, asked.rate or 0.7 * most, asked.seconds)
    return {"capacity": round(most, 1), **facts}


TRIALS: dict[str, Callable[[ServedProcess, argparse.Namespace], Facts]] = {
    "loads": _loads,
    "overload": lambda server, asked: overload(
        server, capacity(server.url, asked.requests), asked.seconds, min(asked.seconds, 5.0)
    ),
    "tagged": lambda server, asked: own_answers(
        server.url, asked.requests, asked.words, Translator.load(asked.model, device="cpu")
    ),
    "hang-ups": lambda server, _: hung_up(server.url, 1_000, 0.5),
    "slow": lambda server, asked: besieged(server.url, 500, min(asked.seconds, 15.0)),
    "health": lambda server, _: health_while_searching(server.url, 8, 64),
    "end": lambda server, _: ended(server, 100),
    "saturation": _saturation,
    "soak": _soak,
}


if __name__ == "__main__":
    main()
