"""Muon beside torch's, and what an optimizer remembers."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from jumok.layers.recurrent import GRUCell
from jumok.training.optimization.optimizer import Optimizer, orthogonalize
from jumok.training.optimization.parameters import FlatParameters

RATE, DECAY = 0.03, 0.1

POOL = ThreadPoolExecutor(2, initializer=torch.set_num_threads, initargs=(1,))


class Small(nn.Module):
    """Matrices of three shapes, two of one, and one whose row ends off a cache line; a table."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(13, 8))
        self.tall = nn.Linear(8, 20)
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.odd = nn.Linear(7, 5)


def small() -> Small:
    torch.manual_seed(0)
    return Small()


def optimizer(kind: str, model: nn.Module) -> tuple[Optimizer, FlatParameters, torch.Tensor, ...]:
    layout = FlatParameters(model)
    master, gradient = layout.flatten(model), torch.zeros(layout.size)
    hidden = layout.hidden if kind == "muon" else 0
    ranges = [(0, hidden), (hidden, layout.size)]
    settings = (layout, ranges, master, gradient, (0.9, 0.98), DECAY, torch.bfloat16, POOL)
    return Optimizer(*settings), layout, master, gradient


def noise(step: int, like: torch.Tensor) -> torch.Tensor:
    return torch.randn(like.shape, generator=torch.Generator().manual_seed(step))


def test_muon_steps_are_those_of_torch():
    """torch steps matrix by matrix, here matrices of one shape step together."""
    ours, layout, master, gradient = optimizer("muon", small())
    theirs = small()
    named = dict(theirs.named_parameters())
    inside = [named[name] for name in named if name.endswith("weight")]
    tables = [theirs.table]
    plain = [named[name] for name in named if name.endswith("bias")]
    muon = torch.optim.Muon(inside, lr=RATE, weight_decay=DECAY, adjust_lr_fn="match_rms_adamw")
    groups = [{"params": tables, "weight_decay": DECAY}, {"params": plain, "weight_decay": 0.0}]
    adamw = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.98))
    for step in range(5):
        for name, view in layout.views(gradient).items():
            view.copy_(noise(step, view))
            named[name].grad = noise(step, view)
        ours.step(RATE)
        muon.step()
        adamw.step()
    for name, view in layout.views(master).items():
        # bfloat16 rounds singular values in another order: 1 % of five steps
        torch.testing.assert_close(view, named[name].detach(), atol=0.01 * RATE, rtol=0, msg=name)


def test_matrices_of_one_shape_step_together():
    layout = FlatParameters(small())
    assert [shape for _, shape in layout.matrices] == [(1, 5, 7), (2, 8, 8), (1, 20, 8)]
    assert layout.hidden == 64 + 2 * 64 + 160  # the odd one's 35 elements take two cache lines
    assert layout.decayed == layout.hidden + 128  # the table's 104 take four


def test_the_gates_of_a_cell_are_matrices_of_their_own():
    """As torch's Muon steps, which is given gate by gate."""
    torch.manual_seed(0)
    ours, layout, master, gradient = optimizer("muon", GRUCell(16, 32))
    assert layout.matrices == [(0, (3, 32, 16)), (3 * 32 * 16, (3, 32, 32))]
    weights = layout.views(master)
    gates = {
        name: [nn.Parameter(gate.clone()) for gate in weights[name].chunk(3)]
        for name in ("input.weight", "state.weight")
    }
    every = [gate for of_layer in gates.values() for gate in of_layer]
    muon = torch.optim.Muon(every, lr=RATE, weight_decay=DECAY, adjust_lr_fn="match_rms_adamw")
    for step in range(3):
        for name, own in gates.items():
            view = layout.views(gradient)[name]
            view.copy_(noise(step, view))
            for gate, part in zip(own, view.chunk(3), strict=True):
                gate.grad = part.clone()
        ours.step(RATE)
        muon.step()
    for name, own in gates.items():
        torch.testing.assert_close(weights[name], torch.cat(own).detach(), atol=0.01 * RATE, rtol=0)


@pytest.mark.parametrize("shape", [(3, 11, 17), (3, 17, 11)])
def test_orthogonal_matrices_keep_directions_and_lose_lengths(shape):
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    left, lengths, right = torch.linalg.svd(matrices, full_matrices=False)
    orthogonal = orthogonalize(matrices)
    kept = left.mT @ orthogonal @ right.mT  # diagonal where the directions are the same
    diagonal = kept.diagonal(dim1=1, dim2=2)
    torch.testing.assert_close(kept, torch.diag_embed(diagonal), atol=1e-9, rtol=0)
    well = lengths > 0.1 * lengths.amax(1, keepdim=True)
    assert (diagonal[well] > 0.6).all()
    assert (diagonal < 1.3).all()


def test_a_matrix_of_zeros_stays_one():
    assert orthogonalize(torch.zeros(1, 3, 5)).count_nonzero() == 0


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_what_is_remembered_goes_on_bit_by_bit(kind):
    runs = []
    for interrupted in (False, True):
        stepping, _, master, gradient = optimizer(kind, small())
        for step in range(4):
            gradient.copy_(noise(step, gradient))
            stepping.step(RATE)
            if interrupted and step == 1:
                kept = {name: tensor.clone() for name, tensor in stepping.state().items()}
                weights = master.clone()
                stepping, _, master, gradient = optimizer(kind, small())
                master.copy_(weights)
                stepping.load_state(kept)
        runs.append(master)
    assert torch.equal(*runs)


def test_torchs_compiler_is_not_brought_along():
    """It takes longer to import than all the rest of a training's start."""
    code = """if True:
        import sys
        from tests.training.test_optimizer import RATE, optimizer, small
        optimizer("muon", small())[0].step(RATE)
        print("torch._dynamo" in sys.modules)
    """
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
