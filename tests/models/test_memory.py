import torch

from jumok.models.memory import Memory


def test_select_repeats_drops_and_moves_rows():
    memory = Memory(
        torch.arange(2.0 * 3 * 5).view(2, 3, 5), torch.tensor([[1, 1, 1], [1, 0, 0]]) > 0
    )
    rows = torch.tensor([1, 0, 1])
    selected = memory.select(rows)
    assert torch.equal(selected.states, memory.states[rows])
    assert selected.allowed.sum(1).tolist() == [1, 3, 1]
    assert Memory(memory.states).select(rows).allowed is None
