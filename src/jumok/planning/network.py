"""The exchange of gradients and weights between cards, and how long it takes.

In each update the gradients are summed slice by slice, every card updates its slice of the weights,
and the slices are gathered. How many bytes that are, and how far they travel, is in
`training/traffic.py`. Cards of one node exchange the most, at the same time as what crosses the
network: the slower of both counts.
"""

import math
from dataclasses import dataclass

from jumok.planning.cards import LINK_SHARE, Accelerator
from jumok.training.traffic import even

HOP_SECONDS = 20e-6
"""One message between two nodes: an assumption, of the size that small messages of NCCL take."""
MOST_COUNTED = 1024


@dataclass(frozen=True)
class Cluster:
    """Cards of one kind in nodes.

    Attributes:
        nodes: of them; each has `each` cards.
        network: a node's network in one direction, bytes/s; None: as the card's usual node.
    """

    card: Accelerator
    nodes: int
    each: int
    network: float | None = None

    @property
    def count(self) -> int:
        """All cards."""
        return self.nodes * self.each

    @property
    def network_share(self) -> float:
        """The part of the node's network that one card has, bytes/s."""
        return self.card.network if self.network is None else self.network / self.each


@dataclass(frozen=True)
class Sending:
    """What one card sends in one update, and the time of all.

    Attributes:
        inside: bytes to cards of the same node.
        outside: bytes to cards of other nodes.
        seconds: nothing is computed meanwhile.
    """

    inside: int
    outside: int
    seconds: float


def exchange(parameters: int, weight_bytes: int, shares: int, cluster: Cluster) -> Sending:
    """The exchange of one update.

    Args:
        parameters: of the model.
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

    The first message between nodes is waited for, there and back; the others follow each other.
    """
    slower = max(inside / (LINK_SHARE * cluster.card.link), outside / cluster.network_share)
    return slower + 2 * math.ceil(math.log2(cluster.nodes)) * HOP_SECONDS
