"""The exchange of gradients and weights between cards: its bytes, its messages and its time.

In each update gradients are summed slice by slice, every card updates its slice of the weights, and
the slices are gathered. With N equal slices of E elements, each card sends about

    (1 - 1/N) E f   of gradients, f = 4 bytes (float32)
    (1 - 1/N) E w   of weights, w = 2 bytes in bfloat16, 4 in float32

in log2(N) messages for a window of the row, and log2(N) for the weights. If each has one share of a
step, the first half of the gradients has w bytes an element, because it has not been summed yet.
Neighbours exchange the most, and those N/2 apart the least: E (f + w) / N. What stays inside of a
node and what crosses the network travels at the same time: the slower of both counts.
"""

import math
from dataclasses import dataclass

from jumok.planning.cards import LINK_SHARE, Accelerator
from jumok.training.optimization.slices import Slices, exchange_steps, in_blocks

HOP_SECONDS = 20e-6
"""One message between two nodes: an assumption, of the size that small messages of NCCL take."""
MOST_COUNTED = 1024
FLOAT32, COUNT = 4, 8
"""Bytes of a number in a sum or a norm, and of a number of tokens or a loss."""


@dataclass(frozen=True)
class Cluster:
    """Cards of one kind in nodes.

    Attributes:
        each: cards of a node.
        network: a node's network in one direction, bytes/s; None: as the card's usual node.
    """

    card: Accelerator
    nodes: int
    each: int
    network: float | None = None

    @property
    def count(self) -> int:
        return self.nodes * self.each

    @property
    def network_share(self) -> float:
        """Bytes/s of one card."""
        return self.card.network if self.network is None else self.network / self.each


@dataclass(frozen=True)
class Sending:
    """What one card sends in one update.

    Attributes:
        inside, outside: bytes to cards of the same node, and of other nodes.
        seconds: of all; nothing is computed meanwhile.
    """

    inside: int
    outside: int
    seconds: float


def exchange(parameters: int, weight_bytes: int, shares: int, cluster: Cluster) -> Sending:
    """The exchange of one update.

    Args:
        weight_bytes: of a weight in the precision of the run.
        shares: of the update that each card computes.
    """
    # Other numbers of cards are no run, and take as long as the next power of two at least. Beyond
    # MOST_COUNTED a card sends hardly more: 1 - 1 / count of all.
    count = min(1 << (cluster.count - 1).bit_length(), MOST_COUNTED)
    traffic = even(parameters, count, count * shares, weight_bytes)
    inside = sum(sent for far, sent in traffic.by_distance.items() if far < cluster.each)
    outside = sum(sent for far, sent in traffic.by_distance.items() if far >= cluster.each)
    return Sending(inside, outside, seconds_of(inside, outside, cluster))


def seconds_of(inside: float, outside: float, cluster: Cluster) -> float:
    """The time in which every card sends these bytes to its node, and to other nodes.

    Only the first message between nodes is waited for, there and back.
    """
    slower = max(inside / (LINK_SHARE * cluster.card.link), outside / cluster.network_share)
    return slower + 2 * math.ceil(math.log2(cluster.nodes)) * HOP_SECONDS


@dataclass(frozen=True)
class Traffic:
    """What one process sends in a step.

    Attributes:
        gradients, weights: bytes.
        messages: their number, both together.
        gathered: bytes that all processes gather: tokens, losses, balances of experts, norms.
        gathers: how many times they do. The loop adds two: the time, and signals.
        by_distance: bytes of gradients and weights, by the distance of the receiver in the order of
            the processes: 1, 2, 4, ...
    """

    gradients: int
    weights: int
    messages: int
    gathered: int
    gathers: int
    by_distance: dict[int, int]


def of_step(slices: Slices, index: int, shares: int, weight_bytes: int) -> Traffic:
    """The traffic of process `index`.

    Args:
        shares: of a step, all processes together.
        weight_bytes: of a weight in the precision of the run: 2 or 4.
    """
    gradients = weights = messages = 0
    by_distance: dict[int, int] = {}
    # Gradients of one share are sent as they were computed.
    first = weight_bytes if shares == slices.count else FLOAT32
    steps = exchange_steps(index, slices.count)
    for window in slices.windows():
        lengths = [end - start for start, end in window]
        for number, step in enumerate(steps):
            elements = sum(lengths[slice(*step.given)])
            sent = elements * (FLOAT32 if number else first)
            _add_bytes(by_distance, index ^ step.other, sent)
            gradients, messages = gradients + sent, messages + bool(sent)
    for step in steps:
        for start, end in slices.ranges(*step.kept):
            sent = (end - start) * weight_bytes
            _add_bytes(by_distance, index ^ step.other, sent)
            weights, messages = weights + sent, messages + bool(sent)
    gathered = 2 * COUNT + 2 * shares // slices.count * COUNT + slices.most_blocks * FLOAT32
    return Traffic(gradients, weights, messages, gathered, 3, by_distance)


def even(elements: int, processes: int, shares: int, weight_bytes: int) -> Traffic:
    """The traffic of one process for AdamW, whose slices are equal."""
    return of_step(Slices([in_blocks(0, elements)], processes), 0, shares, weight_bytes)


def _add_bytes(bytes_of: dict[int, int], distance: int, sent: int) -> None:
    bytes_of[distance] = bytes_of.get(distance, 0) + sent
