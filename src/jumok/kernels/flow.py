"""Maximum flows through a network: the largest flow from one node to another.

An edge lets through no more than its capacity, and what comes into a node leaves it again.

Source: Dinic 1970 (the fast path, in C); Edmonds and Karp 1972 (its readable twin).
"""

from collections import defaultdict, deque
from itertools import pairwise

import torch

from jumok.kernels import native
from jumok.shapes import Float, Int, Tensor

SMALLEST_ROOM = 1e-9
"""Residual capacities below this count as zero."""


def max_flows(
    tails: Int[Tensor, " edges"],
    heads: Int[Tensor, " edges"],
    capacities: Float[Tensor, " edges"],
    sources: Int[Tensor, " sources"],
    sinks: Int[Tensor, " sinks"],
) -> Float[Tensor, "sources sinks"]:
    """The maximum flow from each source to each sink, each alone in the network.

    Args:
        tails, heads: for each edge the node that it leaves and the one that it enters.
        sources, sinks: nodes; no node is both.
    """
    if native.library() is None:
        return max_flows_plainly(tails, heads, capacities, sources, sinks)
    flows = torch.empty(len(sources), len(sinks))
    nodes = 1 + int(torch.cat([tails, heads, sources, sinks]).max())
    sizes = nodes, len(tails)
    edges = tails.contiguous(), heads.contiguous(), capacities.float().contiguous()
    ends = sources.contiguous(), len(sources), sinks.contiguous(), len(sinks)
    native.call("max_flows", torch.float32, *sizes, *edges, *ends, flows)
    return flows


def max_flows_plainly(
    tails: Int[Tensor, " edges"],
    heads: Int[Tensor, " edges"],
    capacities: Float[Tensor, " edges"],
    sources: Int[Tensor, " sources"],
    sinks: Int[Tensor, " sinks"],
) -> Float[Tensor, "sources sinks"]:
    """The readable twin of `max_flows`: fills the shortest path with residual capacity,
    repeatedly."""
    flows = torch.zeros(len(sources), len(sinks))
    for i, source in enumerate(sources.tolist()):
        for j, sink in enumerate(sinks.tolist()):
            room: defaultdict[int, defaultdict[int, float]] = defaultdict(
                lambda: defaultdict(float)
            )
            for tail, head, capacity in zip(
                tails.tolist(), heads.tolist(), capacities.tolist(), strict=True
            ):
                room[tail][head] += capacity
            while path := _shortest(room, source, sink):
                steps = list(pairwise(path))
                least = min(room[tail][head] for tail, head in steps)
                for tail, head in steps:
                    room[tail][head] -= least
                    room[head][tail] += least  # this flow may be rerouted later
                flows[i, j] += least
    return flows


def _shortest(
    room: defaultdict[int, defaultdict[int, float]], source: int, sink: int
) -> list[int] | None:
    """The nodes of a shortest path with residual capacity; None if there is none."""
    before, queue = {source: source}, deque([source])
    while queue:
        node = queue.popleft()
        for head, left in list(room[node].items()):
            if left > SMALLEST_ROOM and head not in before:
                before[head] = node
                queue.append(head)
    if sink not in before:
        return None
    path = [sink]
    while path[-1] != source:
        path.append(before[path[-1]])
    return path[::-1]
