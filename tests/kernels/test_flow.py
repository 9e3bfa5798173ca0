"""Maximum flows: by hand, against all cuts, and the C kernel against its twin."""

from itertools import product

import pytest
import torch

from jumok.kernels.flow import max_flows, max_flows_plainly

WAYS = pytest.mark.parametrize("way", [max_flows, max_flows_plainly])


def network(edges: list[tuple[int, int, float]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    tails, heads, capacities = zip(*edges, strict=True)
    return torch.tensor(tails), torch.tensor(heads), torch.tensor(capacities)


@WAYS
def test_flow_is_that_by_hand(way):
    """0 gives 3 to 1 and 2 to 2; 1 gives 1 to 2 and 2 to 3; 2 gives 2 to 3: 4 arrive at 3."""
    edges = [(0, 1, 3.0), (0, 2, 2.0), (1, 2, 1.0), (1, 3, 2.0), (2, 3, 2.0)]
    flows = way(*network(edges), torch.tensor([0, 1]), torch.tensor([2, 3]))
    torch.testing.assert_close(flows, torch.tensor([[3.0, 4.0], [1.0, 3.0]]))


@WAYS
def test_flow_takes_back_a_wrong_turn(way):
    """The shortest path 0-1-4-5 bars both others until the flow through 1-4 is turned around."""
    edges = [(0, 1, 1.0), (1, 4, 1.0), (4, 5, 1.0), (0, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0)]
    edges += [(1, 6, 1.0), (6, 7, 1.0), (7, 5, 1.0)]
    assert way(*network(edges), torch.tensor([0]), torch.tensor([5])).item() == pytest.approx(2.0)


@WAYS
def test_what_cannot_be_reached_gets_nothing(way):
    flows = way(*network([(0, 1, 1.0), (2, 1, 1.0)]), torch.tensor([0]), torch.tensor([2]))
    assert flows.item() == 0.0


@WAYS
def test_flow_is_the_smallest_cut(way):
    """Of all ways to part the nodes in two, source here and sink there (Ford and Fulkerson)."""
    torch.manual_seed(5)
    nodes = 7
    edges = [
        (a, b, float(torch.rand(())))
        for a, b in product(range(nodes), repeat=2)
        if a != b and torch.rand(()) < 0.5
    ]
    cuts = []
    for sides in product([True, False], repeat=nodes - 2):
        here = {0, *(node for node, side in enumerate(sides, start=1) if side)}
        cuts.append(sum(c for a, b, c in edges if a in here and b not in here))
    found = way(*network(edges), torch.tensor([0]), torch.tensor([nodes - 1])).item()
    assert found == pytest.approx(min(cuts), rel=1e-5)


def test_the_kernel_is_its_twin():
    torch.manual_seed(11)
    layers = [torch.arange(5 * layer, 5 * layer + 5) for layer in range(4)]
    edges = [
        (int(a), int(b), float(torch.rand(())))
        for upper, lower in zip(layers[1:], layers, strict=False)
        for a in upper
        for b in lower
    ]
    ends = layers[-1], layers[0]
    torch.testing.assert_close(
        max_flows(*network(edges), *ends), max_flows_plainly(*network(edges), *ends)
    )
