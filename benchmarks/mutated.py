"""Damaged requests at a real `jumok serve`: what it answers, and whether it fails at any of them.

    python -m benchmarks.mutated NAME=MODEL [NAME=MODEL ...] [--count 1000000] [--seconds 1800]

takes requests that the routes expect, damages their bodies, heads and framing at random, and counts
the answers. A status of 500, a fault or an error in the log, a traceback, or a server that is gone
is a finding, and is printed with the request. Meanwhile the health is asked for.
tests/serving/http/test_bodies.py sends a few hundred of them.
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.load import LOST, Question, Reply, Target, percentile, read_reply, statuses
from benchmarks.mutations import Damaged, request
from tests.serving.http.process import ServedProcess, serving

PATIENCE = 0.05
"""Seconds that a client waits for the answer to a request that is not whole."""

LONGEST = 60.0
"""Seconds that a client waits for any answer."""

SILENT = -1
"""The status of a request that was not answered, because its client did not send all of it."""


@dataclass
class Findings:
    """What the server did.

    Attributes:
        statuses: of the answers; LOST: the connection was closed without one.
        failed: requests that were answered with 500.
        health: the answers about the health.
    """

    statuses: Counter[int] = field(default_factory=Counter)
    failed: list[bytes] = field(default_factory=list)
    health: list[Reply] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Of the damaged requests."""
        return self.statuses.total()


class _Client:
    """Sends damaged requests, one after the other."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._held: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def run(self, draw: random.Random, findings: Findings, until: float, count: int) -> None:
        """Goes on until the time is over, or there are enough of all clients."""
        while findings.count < count and time.monotonic() < until:
            damaged = request(draw, self._target.host)
            status = await self._ask(damaged)
            findings.statuses[status] += 1
            if status == 500:
                findings.failed.append(damaged.sent)
        await self._leave()

    async def _ask(self, damaged: Damaged) -> int:
        """The status of the answer."""
        keep = False
        try:
            if self._held is None:
                self._held = await asyncio.open_connection(*self._target.address)
            reader, writer = self._held
            writer.write(damaged.sent)
            async with asyncio.timeout(LONGEST if damaged.whole else PATIENCE):
                status, closes = await _answer(reader, damaged.sent.startswith(b"HEAD "))
            keep = damaged.in_step and not closes
            return status
        except TimeoutError:
            return SILENT
        except (OSError, EOFError):
            return LOST
        finally:
            if not keep:
                await self._leave()

    async def _leave(self) -> None:
        if self._held is not None:
            writer, self._held = self._held[1], None
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def _answer(reader: asyncio.StreamReader, is_head: bool) -> tuple[int, bool]:
    """The status, and whether the connection is closed after it."""
    status = 100
    while status == 100:
        if is_head:
            head = await reader.readuntil(b"\r\n\r\n")
            status, headers = int(head.split(b" ")[1]), {"connection": "close"}
        else:
            status, headers, _ = await read_reply(reader)
    return status, "close" in headers.get("connection", "") or "transfer-encoding" in headers


async def _probe(target: Target, findings: Findings) -> None:
    while True:
        findings.health.append(await target.ask(Question("/health/live")))
        await asyncio.sleep(0.05)


async def _all(url: str, seed: int, together: int, seconds: float, count: int) -> Findings:
    findings, target, until = Findings(), Target(url), time.monotonic() + seconds
    probing = asyncio.ensure_future(_probe(target, findings))
    clients = (
        _Client(target).run(random.Random(f"{seed} {number}"), findings, until, count)
        for number in range(together)
    )
    await asyncio.gather(*clients)
    probing.cancel()
    await target.close()
    return findings


def damaged(
    server: ServedProcess, seed: int, count: int, seconds: float = 600.0, together: int = 8
) -> Findings:
    """Sends damaged requests to a server.

    Args:
        count, seconds: after which it ends, whichever is first.
    """
    return asyncio.run(_all(server.url, seed, together, seconds, count))


def faults_of(server: ServedProcess) -> list[str]:
    """What the server says of failures: lines of its log, and its stderr if it has more than the
    address and how to stop it."""
    lines = [line for line in server.log.splitlines() if _is_fault(json.loads(line))]
    return lines + server.errors.splitlines()[2:]


def _is_fault(line: dict[str, object]) -> bool:
    return line.get("status") == 500 or "error" in line


def main() -> None:
    """Sends damaged requests to a new server."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutated", description=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), *asked.models, "--grace", "0") as server,
    ):
        begin = time.monotonic()
        findings = damaged(server, asked.seed, asked.count, asked.seconds)
        times = [reply.seconds * 1e3 for reply in findings.health]
        facts = {
            "count": findings.count,
            "seconds": round(time.monotonic() - begin),
            "statuses": dict(sorted(findings.statuses.items())),
            "health": dict(statuses(findings.health)),
            "health_ms": [round(percentile(times, share), 1) for share in (0.5, 0.99, 1.0)],
            "faults": faults_of(server)[:20],
            "failed": [repr(each[:500]) for each in findings.failed[:20]],
            "running": server.process.poll() is None,
        }
        print(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
