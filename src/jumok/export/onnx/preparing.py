"""A model made ready to be traced: what depends on sizes or on values in Python becomes tensors."""

import copy

import torch
from torch import Tensor, nn

from jumok.attention.cache import KeyValueCache
from jumok.attention.masks import Documents
from jumok.config.captioner import CaptionerConfig
from jumok.config.section import ModelSection
from jumok.config.stack import StackConfig
from jumok.layers.embedding import Embedding
from jumok.layers.experts import MixtureOfExperts
from jumok.layers.recurrent import Cell, CellInputs, CellOutputs, CellState, RecurrentLayer
from jumok.positions.index import FractionPositions
from jumok.shapes import Float, Int, States

FEWEST_POSITIONS = 1024
"""Positions of a graph whose encoding has no limit of its own."""


class GrownPast(KeyValueCache):
    """A cache that is an input: it grows by joining tensors, nothing is written in place."""

    def __init__(self, key: Tensor, value: Tensor) -> None:
        self.key, self.value, self.length = key, value, key.shape[2]

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        self.key = torch.cat((self.key, key), dim=2)
        self.value = torch.cat((self.value, value), dim=2)
        return self.key, self.value


class Places(Documents):
    """The place of each position, which an embedding asks a document for.

    Args:
        whole: (batch), the positions of each text; None: not known.
    """

    def __init__(self, places: Int[Tensor, "batch length"], whole: Tensor | None = None) -> None:
        super().__init__(places)
        object.__setattr__(self, "_whole", whole)

    def indexes(self) -> Int[Tensor, "batch length"]:
        return self.numbers

    def lengths(self) -> Int[Tensor, "batch length"]:
        whole: Tensor = self._whole  # type: ignore[attr-defined]
        return whole[:, None].expand_as(self.numbers)


class AllRows(nn.Module):
    """The vectors of all positions, among which the places of a text are looked up."""

    rows: Tensor

    def __init__(self, rows: Float[Tensor, "length width"]) -> None:
        super().__init__()
        self.width = rows.shape[1]
        self.register_buffer("rows", rows)

    def forward(self, position: int, length: int) -> Float[Tensor, "length width"]:
        del position, length
        return self.rows


class EveryExpert(nn.Module):
    """A mixture whose experts all read everything: which of them are used is in the weights."""

    def __init__(self, mixture: MixtureOfExperts) -> None:
        super().__init__()
        self.router, self.experts, self.used = mixture.router, mixture.experts, mixture.used

    def forward(self, states: States) -> States:
        probabilities = self.router(states).softmax(dim=-1)
        best, chosen = probabilities.topk(self.used, dim=-1)
        shares = best / best.sum(dim=-1, keepdim=True)
        weights = torch.zeros_like(probabilities).scatter(-1, chosen, shares)
        made = [expert(states) for expert in self.experts]
        return (torch.stack(made, dim=-1) @ weights[..., None])[..., 0]


class AnyLength(nn.Module):
    """A cell that reads texts of any length: its own step, repeated by ONNX's Scan."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell, self.parts, self.dim = cell, cell.parts, cell.dim

    def forward(self, inputs: CellInputs, state: CellState) -> CellOutputs:
        from torch._higher_order_ops.scan import scan

        def step(before: Tensor, projected: Tensor) -> tuple[Tensor, Tensor]:
            after = self.cell.advance(projected, before)
            return after, after[:, 0].clone()

        projected = self.cell.input(inputs).transpose(0, 1)  # length batch gates
        seen: Tensor = scan(step, state, projected)[1]
        return seen.transpose(0, 1)


def prepare(model: nn.Module, section: ModelSection) -> None:
    """Replaces the parts that cannot be traced by others that compute the same."""
    reach = positions_of(section)
    for module in list(model.modules()):
        if isinstance(module, Embedding) and module.positions is not None:
            encoding = module.positions.encoding
            if not isinstance(encoding, FractionPositions):
                module.positions.encoding = AllRows(encoding(0, reach).detach())
            elif module.part == "decoder":
                module.positions.encoding = AllRows(encoding(0, reach)[0])
        for name, child in list(module.named_children()):
            if isinstance(child, MixtureOfExperts):
                setattr(module, name, EveryExpert(child))
            if isinstance(module, RecurrentLayer) and isinstance(child, Cell):
                setattr(module, name, AnyLength(child))
    _unshare(model, set())


def _unshare(module: nn.Module, known: set[nn.Module]) -> None:
    """Modules that are used at several places become several, with the same parameters: to torch's
    tracer a shared one is another object at each place, and so are all around it, whose observers
    would not be found.
    """
    for name, child in module._modules.items():
        if child is None:
            continue
        if child in known:
            child = copy.copy(child)
            child._modules = dict(child._modules)
            module._modules[name] = child
        known.add(child)
        _unshare(child, known)


def positions_of(section: ModelSection) -> int:
    """The most positions of a graph."""
    stack = section.decoder if isinstance(section, CaptionerConfig) else section
    if not isinstance(stack, StackConfig):
        return FEWEST_POSITIONS
    return stack.reach or max(stack.max_length, FEWEST_POSITIONS)
