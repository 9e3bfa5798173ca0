"""jumok serve against other servers with the same weights: latency and requests a second.

    python -m benchmarks.against_servers MODEL [--sentences FILE] [--seconds 20]

MODEL is a Transformer that translates, with absolute positions. Every server is held to one core,
and this process, which sends the requests, to the others. The servers take turns in each round. A
share of the capacity is that of each server's own, measured just before. Requests a CPU-second
count the CPU time of the server's processes, and hardly change while other programs use the core.
"""

import argparse
import itertools
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.errors import BenchmarkError
from benchmarks.load import Question, Reply, closed_loop, open_loop, percentile, statuses
from benchmarks.servers import (
    Server,
    hold_to_another_core,
    peers,
    started,
    written_package,
)
from benchmarks.serving import loaded
from jumok.bundle.reading import read_bundle
from smallworld.corpus import pairs

TOGETHER = 32
"""Clients of a saturated server, each of which waits for its answer."""

SHARES = (0.5, 0.8)
ALONE = 100
"""Requests of one client in a round, at most."""


@dataclass
class Figures:
    """What was measured of a server, in each round.

    Attributes:
        alone: milliseconds of each request of one client.
        cpu_alone: CPU-milliseconds of the server for a request of one client.
        rates: requests a second of TOGETHER clients, in wall-clock seconds.
        cpu_rates: requests a CPU-second of the server.
        shares: milliseconds of the answered requests at each share of the capacity.
        failed: requests without an answer 200, at any load.
        texts: the translations of the first round.
    """

    alone: list[float] = field(default_factory=list)
    cpu_alone: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    cpu_rates: list[float] = field(default_factory=list)
    shares: dict[float, list[float]] = field(default_factory=dict)
    failed: int = 0
    texts: list[str] = field(default_factory=list)

    @property
    def capacity(self) -> float:
        """Requests a second."""
        return median(self.rates)


def asked(server: Server, texts: Sequence[str], beam: int) -> list[Question]:
    return [server.kind.dialect.question(text, beam) for text in texts]


def measure_alone(server: Server, texts: Sequence[str], beam: int, figures: Figures) -> None:
    """One client."""
    given, before = asked(server, texts, beam), server.cpu
    replies, _ = loaded(server.url, lambda target: closed_loop(target, given, 1))
    figures.cpu_alone.append((server.cpu - before) * 1e3 / len(replies))
    figures.alone += _milliseconds(replies, figures)
    if not figures.texts:
        figures.texts = [server.kind.dialect.text(each) for each in replies if each.status == 200]


def measure_saturated(server: Server, texts: Sequence[str], beam: int, figures: Figures) -> None:
    """More clients than a batch has places."""
    given, before = asked(server, texts, beam), server.cpu
    replies, seconds = loaded(server.url, lambda target: closed_loop(target, given, TOGETHER))
    answered = len(_milliseconds(replies, figures))
    figures.rates.append(answered / seconds)
    figures.cpu_rates.append(answered / max(server.cpu - before, 0.01))


def measure_share(
    server: Server, texts: Sequence[str], beam: int, figures: Figures, share: float, seconds: float
) -> None:
    """A Poisson process at a share of the capacity."""
    given = itertools.cycle(asked(server, texts, beam))
    rate, draw = share * figures.capacity, random.Random(7)
    replies = loaded(server.url, lambda target: open_loop(target, given, rate, seconds, draw))
    figures.shares.setdefault(share, []).extend(_milliseconds(replies, figures))


def _milliseconds(replies: Sequence[Reply], figures: Figures) -> list[float]:
    figures.failed += len(replies) - statuses(replies)[200]
    return [reply.seconds * 1e3 for reply in replies if reply.status == 200]


def measure(
    servers: Sequence[Server],
    texts: Sequence[str],
    beam: int,
    seconds: float,
    rounds: int,
    counts: tuple[int, int],
) -> dict[str, Figures]:
    """All loads of all servers, which take turns.

    Args:
        counts: requests of a round, of one client and of several.
    """
    figures = {server.kind.name: Figures() for server in servers}
    alone, saturated = (list(itertools.islice(itertools.cycle(texts), n)) for n in counts)
    for server in servers:  # a round to warm up
        measure_saturated(server, alone, beam, Figures())
    for _ in range(rounds):
        for server in servers:
            measure_alone(server, alone, beam, figures[server.kind.name])
            measure_saturated(server, saturated, beam, figures[server.kind.name])
    for share in SHARES:
        for server in servers:
            measure_share(server, texts, beam, figures[server.kind.name], share, seconds)
    return figures


def table(figures: dict[str, Figures], peak: dict[str, int]) -> Iterator[str]:
    """The lines of a table; the translations of the first server are what others' compare with."""
    yield (
        "| server | single request, ms | its CPU-ms | requests per second "
        "| requests per CPU-second | at 50 %, ms | at 80 %, ms | not answered "
        "| memory, MB | same translation |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    first = next(iter(figures.values()))
    for name, each in figures.items():
        same = sum(a == b for a, b in zip(each.texts, first.texts, strict=True))
        cells = (
            name,
            shown(each.alone),
            f"{median(each.cpu_alone):.1f}",
            f"{each.capacity:,.0f}",
            f"{median(each.cpu_rates):,.0f}",
            *(shown(each.shares[share]) for share in SHARES),
            str(each.failed),
            f"{peak[name] / 1e6:,.0f}",
            f"{same} of {len(first.texts)}",
        )
        yield f"| {' | '.join(cells)} |"


def shown(milliseconds: Sequence[float]) -> str:
    """The median, and what 99 % do not exceed."""
    if not milliseconds:
        return "-"
    return f"{percentile(milliseconds, 0.5):,.1f}; {percentile(milliseconds, 0.99):,.1f}"


def sentences_of(bundle: Path, file: Path | None) -> list[str]:
    """The sentences of a file, or those that the built-in corpus tests with."""
    if file is not None:
        return file.read_text("utf-8").splitlines()
    english = read_bundle(bundle).config.source_language != "ko"
    return [
        pair.source if english else pair.target for pair in itertools.islice(pairs("test"), 400)
    ]


def main() -> None:
    """Measures, and prints a table for each beam."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.against_servers", description=__doc__
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--sentences", type=Path, help="a sentence a line (default: built in)")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each share")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=1_200, help="of a round at full load")
    parser.add_argument("--only", default="", help="the servers whose names contain this")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    given = parser.parse_args()
    config = read_bundle(given.model).config
    texts = sentences_of(given.model, given.sentences)
    every = peers(config.source_language, config.target_language)
    kinds = [kind for kind in every if given.only in kind.name]
    counts = min(ALONE, given.requests), given.requests
    with tempfile.TemporaryDirectory() as scratch:
        folder = written_package(given.model, Path(scratch), kinds)
        hold_to_another_core(given.core)
        for beam in given.beams:
            with ExitStack() as stack:
                servers = [
                    stack.enter_context(started(kind, folder, beam, given.core)) for kind in kinds
                ]
                print(f"beam {beam}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
                figures = measure(servers, texts, beam, given.seconds, given.rounds, counts)
                peak = {server.kind.name: server.peak for server in servers}
            print(f"\nbeam {beam}\n\n" + "\n".join(table(figures, peak)), flush=True)
            print(f"load {os.getloadavg()[0]:.1f}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except BenchmarkError as error:
        sys.exit(f"benchmarks: {error}")
