"""Training a part of a model: parameters that are frozen, and low-rank additions to its layers.

Source: Hu et al. 2022, LoRA (W + alpha / rank * B A; A random, B zero; W frozen).
"""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import torch
from torch import nn
from torch.nn.utils import parametrize

from jumok.config import StartConfig
from jumok.errors import ConfigError
from jumok.kernels.linear import Linear
from jumok.layers.block import Block
from jumok.shapes import Float, Tensor

LARGE = 600_000_000
"""Parameters from which on training all of them takes more memory than most people have."""
ADDED = ".parametrizations.weight."
"""In the names of the parameters of a layer with a low-rank addition."""


class LowRank(nn.Module):
    """A matrix with a low-rank addition; where it is computed, both are one matrix."""

    def __init__(self, rows: int, columns: int, rank: int, alpha: float) -> None:
        super().__init__()
        self.down = nn.Parameter(torch.randn(rank, columns) * columns**-0.5)
        self.up = nn.Parameter(torch.zeros(rows, rank))
        self.scale = alpha / rank

    def forward(self, weight: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns"]:
        return torch.addmm(weight, self.up, self.down, alpha=self.scale)


def trains_partly(start: StartConfig) -> bool:
    """Whether some weights stay what they are."""
    return bool(start.freeze) or start.lora is not None


def leave_out(model: nn.Module, start: StartConfig) -> None:
    """Freezes what [start] names, and adds to the layers what is trained instead.

    Raises:
        ConfigError: a pattern names no parameter, or nothing is left to train.
    """
    frozen = matched(model, start.freeze)
    if start.lora is not None:
        layers = {
            f"{name}.{inner}": layer
            for name, block in model.named_modules()
            if isinstance(block, Block)
            for inner, layer in block.named_modules()
            if isinstance(layer, Linear)
        }
        model.requires_grad_(False)
        for name, layer in layers.items():
            if f"{name}.weight" not in frozen:
                rows, columns = layer.weight.shape
                added = LowRank(rows, columns, start.lora, start.lora_alpha or float(start.lora))
                parametrize.register_parametrization(layer, "weight", added)
    for name in frozen:
        model.get_parameter(name).requires_grad_(False)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ConfigError(
            "nothing of the model is left to train.",
            expected="a parameter that start.freeze does not name, and for start.lora a layer of "
            "attention or feed-forward",
            got=f"start.freeze = {list(start.freeze)}, start.lora = {start.lora}",
        )


def matched(model: nn.Module, patterns: Sequence[str]) -> set[str]:
    """The parameters that the patterns name; `*` stands for any characters.

    Raises:
        ConfigError: a pattern names none.
    """
    names = [name for name, _ in model.named_parameters()]
    found = set[str]()
    for pattern in patterns:
        its = {name for name in names if fnmatchcase(name, pattern)}
        if not its:
            forms = dict.fromkeys(re.sub(r"\.\d+\.", ".*.", name) for name in names)
            raise ConfigError(
                "start.freeze names no parameter of this model.",
                expected=f"a pattern of {', '.join(forms)}",
                got=pattern,
            )
        found |= its
    return found


def part_line(model: nn.Module) -> str:
    """How many parameters are trained, and how many are not."""
    learning = sum(each.numel() for each in model.parameters() if each.requires_grad)
    whole = sum(each.numel() for each in model.parameters())
    return f"trained: {learning:,} parameters; frozen: {whole - learning:,}"


def merge_additions(model: nn.Module) -> None:
    """The layers with their additions become plain ones."""
    for module in list(model.modules()):
        if isinstance(module, Linear) and parametrize.is_parametrized(module, "weight"):
            weight = nn.Parameter(module.weight.detach(), requires_grad=False)
            # torch's own function would take the addition from all copies of the layer.
            module.__class__ = type(module).__bases__[0]
            del module.parametrizations
            module.weight = weight


@torch.no_grad()
def merged_weights(weights: Mapping[str, Tensor], start: StartConfig) -> dict[str, Tensor]:
    """The weights by their names in a model without additions."""
    merged = {name: tensor for name, tensor in weights.items() if ADDED not in name}
    for name, tensor in weights.items():
        layer, added, part = name.partition(ADDED)
        if added and part == "original":
            assert start.lora is not None
            up, down = (weights[f"{layer}{ADDED}0.{each}"].float() for each in ("up", "down"))
            scale = (start.lora_alpha or start.lora) / start.lora
            merged[f"{layer}.weight"] = torch.addmm(tensor.float(), up, down, alpha=scale)
    return merged
