"""The exchange of gradients and weights between cards, and how long it takes.

In each update the gradients are summed and scattered, every card updates its slice of the weights,
and the slices are gathered. Cards of one node first exchange among themselves, so that a byte
crosses the network once for a whole node; both levels work at the same time, the slower one counts.

Source: Rajbhandari et al. 2020 (ZeRO: the volume of the collectives); Thakur et al. 2005 (rings).
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


def exchange(parameters: int, summed: int, gathered: int, cluster: Cluster) -> Exchange:
    """The exchange of one update.

    Args:
        parameters: of the model.
        summed: bytes of a gradient's element where gradients are summed.
        gathered: bytes of a weight where weights are gathered.
    """
    volume = float(parameters * (summed + gathered))
    inside = volume * (cluster.each - 1) / cluster.each
    outside = volume / cluster.each * (cluster.nodes - 1) / cluster.nodes
    hops = 2 * math.ceil(math.log2(cluster.nodes)) * HOP_SECONDS
    slower = max(inside / (LINK_SHARE * cluster.card.link), outside / cluster.network_share)
    return Exchange(inside, outside, slower + hops)
