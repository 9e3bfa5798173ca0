"""What 1,024 ranks send each other, counted in one of them over torch's fake process group."""

from collections import Counter
from collections.abc import Iterator

import pytest
import torch
from torch import distributed
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode

from jumok.planning.network import even, of_step
from jumok.training.learner import Learner
from jumok.training.objectives import translation
from jumok.training.optimization.parameters import FlatParameters
from jumok.training.optimization.slices import Slices
from jumok.training.torch_ranks import TorchRanks
from tests.training.tiny import batches, config, model

RANKS, INDEX = 1024, 5


class Counting(TorchDispatchMode):
    """Counts what is sent. Whoever is asked for a gradient or weights has zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.times, self.bytes, self.partners = Counter(), Counter(), Counter()

    def __torch_dispatch__(self, function, types, given=(), keywords=None):
        name = str(function).removesuffix(".default")
        if name.startswith("c10d."):
            tensors = given[1] if name == "c10d.allgather_" else given[0]
            size = sum(each.nbytes for each in tensors)
            self.times[name] += 1
            self.bytes[name] += size
            if name == "c10d.recv_":
                tensors[0].zero_()
            if name == "c10d.send":
                self.partners[given[2] ^ INDEX] += size
        return function(*given, **(keywords or {}))


@pytest.fixture
def ranks() -> Iterator[TorchRanks]:
    distributed.init_process_group("fake", store=FakeStore(), rank=INDEX, world_size=RANKS)
    yield TorchRanks(0, {})
    distributed.destroy_process_group()


@pytest.mark.parametrize(
    ("optimizer", "precision", "shares"),
    [("adamw", torch.float32, RANKS), ("muon", torch.bfloat16, 2 * RANKS)],
)
def test_the_collectives_of_1024_ranks_are_those_of_the_formula(
    ranks, optimizer, precision, shares
):
    trained = model()
    layout = FlatParameters(trained)
    hidden = layout.hidden if optimizer == "muon" else 0
    learning = Learner(
        trained, translation, config(optimizer=optimizer), 5, precision, shares, ranks=ranks
    )
    with Counting() as counted:
        update = learning.update(batches(1, micro=1) * shares, 1, 1e-3)
    assert not update.skipped
    width = precision.itemsize
    slices = Slices(layout.segments(hidden), RANKS)
    expected = of_step(slices, INDEX, shares, width)
    assert counted.times["c10d.send"] == expected.messages
    assert counted.bytes["c10d.send"] == expected.gradients + expected.weights
    assert counted.partners == {key: sent for key, sent in expected.by_distance.items() if sent}
    assert counted.times["c10d.allgather_"] == expected.gathers
    assert counted.bytes["c10d.allgather_"] == expected.gathered
    assert counted.times.keys() == {"c10d.send", "c10d.recv_", "c10d.allgather_"}
    # By hand: all but the own slice of the gradients is sent.
    number = next(n for n in range(RANKS) if learning.ranges("master") == slices.ranges(n, n + 1))
    own = sum(end - start for start, end in slices.ranges(number, number + 1))
    assert expected.gradients == 4 * (layout.size - own)


def test_the_traffic_of_equal_slices():
    """GPT-2's 124 M weights in bfloat16 on two machines of 8."""
    elements = 1 << 27
    traffic = even(elements, 16, 16, 2)
    # a half of the row in bfloat16, then 7/16 in float32; 15/16 of the weights
    assert traffic.gradients == elements // 2 * 2 + elements * 7 // 16 * 4
    assert traffic.weights == elements * 15 // 16 * 2
    assert traffic.by_distance[8] == elements // 16 * (4 + 2)
    assert traffic.by_distance[1] == elements // 2 * (2 + 2)
    assert even(elements, 1, 8, 2).messages == 0
