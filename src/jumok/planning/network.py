"""The exchange of gradients and weights between cards, and how long it takes.

In each update the gradients are summed and scattered, every card updates its slice of the weights,
and the slices are gathered. Cards of one node first exchange among themselves, so that a byte
crosses the network once for a whole node; both levels work at the same time, the slower one counts.

Source: Rajbhandari et al. 2020 (ZeRO: the volume); Rabenseifner 2004 (recursive halving).
"""

import math
from dataclasses import dataclass

from jumok.planning.cards import LINK_SHARE, Accelerator

HOP_SECONDS = 20e-6
"""One message between two nodes: an assumption, of the size that small messages of NCCL take."""


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
class Exchange:
    """What one card sends in one update, and the time of all.

    Attributes:
        inside: bytes to cards of the same node.
        outside: bytes to other nodes.
        seconds: nothing is computed meanwhile.
    """

    inside: float
    outside: float
    seconds: float


@dataclass(frozen=True)
class ElementBytes:
    """Bytes of one element on its way.

    Attributes:
        first: of a gradient, as the products computed it.
        summed: of a sum of gradients.
        gathered: of a weight.
    """

    first: int = 2
    summed: int = 4
    gathered: int = 2


def exchange(parameters: int, size: ElementBytes, cluster: Cluster) -> Exchange:
    """The exchange of one update.

    Cards meet in pairs, those of a node first. In the first meeting each sends half of its
    gradients, then half of what it holds the sums of; the weights come back the other way.
    """

    def sent(least: float, most: float) -> float:
        """Bytes of the meetings after which a card holds 1 / most, down to 1 / least, of all."""
        part = 1 / most - 1 / least
        first = 0.5 if most == 1 and least > 1 else 0.0
        return parameters * (
            first * size.first + (part - first) * size.summed + part * size.gathered
        )

    inside, outside = sent(cluster.each, 1), sent(cluster.count, cluster.each)
    hops = 2 * math.ceil(math.log2(cluster.nodes)) * HOP_SECONDS
    slower = max(inside / (LINK_SHARE * cluster.card.link), outside / cluster.network_share)
    return Exchange(inside, outside, slower + hops)
