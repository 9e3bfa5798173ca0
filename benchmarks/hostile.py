"""Documents that are made to hold a server up, sent to a new one with a short deadline.

    python -m benchmarks.hostile MODEL [--count 200] [--seconds 5] [--seed 1]

They are the shapes of `benchmarks.shapes`, up to the size of a request, also mixed and damaged, and
files that would unpack to far more. Each has to be answered or refused by its deadline, and
/health/live to answer meanwhile; the table has a line for each format.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.load import LOST, Question, Reply, Target, percentile, while_probed
from benchmarks.mutated import faults_of
from benchmarks.shapes import SHAPES, packed
from jumok.documents.catalog import FORMATS
from tests.serving.http.process import ServedProcess, serving

SUFFIXES = {"markdown": "md", "xliff": "xlf", "paragraphs": "txt"}
LEAST, MOST = 1_000, 900_000
UNPACKED = 40 << 20
ENTITIES = "".join(f"<!ENTITY a{place + 1} '{f'&a{place};' * 10}'>" for place in range(9))
TOGETHER = 4
PROBED_SECONDS = 0.02


@dataclass(frozen=True)
class Answered:
    """How a document was answered; its status is LOST if the connection was cut."""

    format: str
    status: int
    seconds: float


def documents(seed: int, count: int) -> list[tuple[str, bytes]]:
    """Documents, each with its format; the formats take turns."""
    draw = random.Random(seed)
    return [
        (FORMATS[place % len(FORMATS)], _document(draw, FORMATS[place % len(FORMATS)]))
        for place in range(count)
    ]


def _document(draw: random.Random, format: str) -> bytes:
    of_format = [shape for shape in SHAPES if shape.format == format]
    size = round(LEAST * (MOST / LEAST) ** draw.random())
    kind = draw.random()
    if kind < 0.1 and format in ("docx", "xliff", "tmx"):
        shape = draw.choice(of_format)
        return _unpacking(draw, shape.content(LEAST), format)
    if kind < 0.6:
        return draw.choice(of_format).content(size)
    # One within the other: what is repeated there stands where this one has a single text.
    outer, inner = draw.choice(of_format), draw.choice(of_format)
    text = outer.text(size // 2).replace("cat", inner.pump * (size // 2 // len(inner.pump)), 1)
    if kind > 0.9:
        places = sorted(draw.randrange(len(text)) for _ in range(2))
        text = text[: places[0]] + text[places[1] :]
    return packed(text) if format == "docx" else text.encode()


def _unpacking(draw: random.Random, content: bytes, format: str) -> bytes:
    """A document that is larger than it looks: by entities, or as a zip archive."""
    if format == "docx":
        return packed("<a>" + " " * (UNPACKED * draw.choice((1, 2))) + "</a>")
    return f"<!DOCTYPE a [<!ENTITY a0 'cat'>{ENTITIES}]>".encode() + content.replace(
        b"cat", b"&a9;"
    )


def sent(
    server: ServedProcess, given: Sequence[tuple[str, bytes]], seconds: float
) -> tuple[list[Answered], list[Reply]]:
    """Sends documents, each with this deadline; their answers, and those of the probes."""

    async def all_of_them() -> tuple[list[Answered], list[Reply]]:
        answers: list[Answered] = []
        left = iter(given)
        async with httpx.AsyncClient(base_url=server.url, timeout=120.0) as client:

            async def worker() -> None:
                for format, content in left:
                    answers.append(await _answer(client, format, content, seconds))

            work = asyncio.gather(*(worker() for _ in range(TOGETHER)))
            probe = Target(server.url)
            health = await while_probed(probe, Question("/health/live"), PROBED_SECONDS, work)
            await probe.close()
        return answers, health

    return asyncio.run(all_of_them())


async def _answer(
    client: httpx.AsyncClient, format: str, content: bytes, seconds: float
) -> Answered:
    name = f"a.{SUFFIXES.get(format, format)}"
    start = time.perf_counter()
    try:
        answer = await client.post(
            "/translate_file",
            data={"source": "en", "target": "ko"},
            files={"file": (name, content)},
            headers={"X-Request-Deadline": str(round(seconds * 1e3))},
        )
        status = answer.status_code
    except httpx.TransportError:
        status = LOST
    return Answered(format, status, time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=5.0, help="the deadline of each")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), f"en-ko={asked.model}", "--grace", "0") as server,
    ):
        answers, health = sent(server, documents(asked.seed, asked.count), asked.seconds)
        print("| format | documents | statuses | slowest, seconds |")
        print("|---|--:|---|--:|")
        for format in FORMATS:
            its = [each for each in answers if each.format == format]
            if its:
                counts = sorted(Counter(each.status for each in its).items())
                said = ", ".join(f"{count} × {status}" for status, count in counts)
                slowest = max(each.seconds for each in its)
                print(f"| {format} | {len(its)} | {said} | {slowest:.2f} |")
        times = [reply.seconds * 1e3 for reply in health]
        answered = sum(reply.status == 200 for reply in health)
        middle, late, most = (percentile(times, share) for share in (0.5, 0.99, 1.0))
        print(
            f"/health/live: {len(times)} probes, {answered} answered; median {middle:.1f} ms, 99 % "
            f"{late:.1f} ms, at most {most:.0f} ms; faults: {faults_of(server)[:5]}"
        )


if __name__ == "__main__":
    main()
