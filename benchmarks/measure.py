"""The arithmetic of the benchmarks, apart from any process: rates and ratios from observations."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median


@dataclass(frozen=True)
class Point:
    """How far a training run has come: real target tokens and CPU-seconds since it began."""

    tokens: float
    cpu_seconds: float


@dataclass(frozen=True)
class Rate:
    """Target tokens per CPU-second: over all, in the slowest and in the fastest window."""

    tokens_per_cpu_second: float
    slowest: float
    fastest: float
    tokens: float
    cpu_seconds: float


def after_warm_up(points: Sequence[Point], warm_up: float) -> list[Point]:
    """The points from the first one that lies `warm_up` CPU-seconds after the very first point.

    The first point already excludes the start of the program: it is the first progress that the
    program reports. Empty while the warm-up lasts.
    """
    if not points:
        return []
    begin = points[0].cpu_seconds + warm_up
    return [point for point in points if point.cpu_seconds >= begin]


def rate_between(first: Point, last: Point) -> float:
    """Tokens per CPU-second: (tokens of last - of first) / (CPU-seconds of last - of first)."""
    return (last.tokens - first.tokens) / (last.cpu_seconds - first.cpu_seconds)


def rate_of(points: Sequence[Point], windows: int = 4) -> Rate:
    """The rate over all points, and the lowest and highest over `windows` stretches of them.

    A window ends at the first point at or past its share of the CPU-seconds, so windows differ a
    little in length where a program reports seldom.
    """
    first, last = points[0], points[-1]
    share = (last.cpu_seconds - first.cpu_seconds) / windows
    edges = [first]
    for point in points[1:]:
        if point.cpu_seconds >= first.cpu_seconds + share * len(edges):
            edges.append(point)
    rates = [rate_between(left, right) for left, right in pairwise(edges)]
    return Rate(
        tokens_per_cpu_second=rate_between(first, last),
        slowest=min(rates),
        fastest=max(rates),
        tokens=last.tokens - first.tokens,
        cpu_seconds=last.cpu_seconds - first.cpu_seconds,
    )


def median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    """The median of the ratios of pairs: pair i was measured in round i, one after the other.

    A machine that slows down in one round slows both halves of that pair, so the ratio holds.
    """
    return median(a / b for a, b in zip(numerators, denominators, strict=True))
