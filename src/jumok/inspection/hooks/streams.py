"""The residual stream of every stack of blocks, before the first block and after each."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import nn

from jumok.inspection.hooks.intercept import hooked
from jumok.inspection.trace import Array
from jumok.layers.block import Stack
from jumok.shapes import Float, Tensor


class Streams:
    """The streams of each stack: for each layer the calls in order."""

    def __init__(self) -> None:
        self.calls: dict[str, list[list[Tensor]]] = {}

    def add(self, stack: str, layer: int, stream: Float[Tensor, "batch new dim"]) -> None:
        """Adds the stream after a layer; layer 0 is the embedding."""
        layers = self.calls.setdefault(stack, [])
        while len(layers) <= layer:
            layers.append([])
        layers[layer].append(stream.detach())

    def arrays(self) -> dict[str, Array]:
        """The streams of the batch's first row: (layers + 1, positions, dim) for each stack."""
        return {
            stack: torch.stack([torch.cat(calls, dim=1)[0] for calls in layers])
            .float()
            .cpu()
            .numpy()
            for stack, layers in self.calls.items()
        }


Hear = Callable[[str, int, Float[Tensor, "batch new dim"]], None]
"""Receives the stack's path in the model, the layer (0: the embedding), and its stream."""


@contextmanager
def watch_streams(model: nn.Module, hear: Hear) -> Iterator[None]:
    """Reports the stream after every layer of every stack inside the block.

    The first row is the input of the first norm.
    """
    with ExitStack() as watching:
        for path, module in model.named_modules():
            if not isinstance(module, Stack):
                continue
            parent = path.rpartition(".")[0]
            first = model.get_submodule(f"{parent}.first_norm" if parent else "first_norm")
            watching.enter_context(hooked(first, before=_embedding(hear, parent)))
            for layer, block in enumerate(module, start=1):
                watching.enter_context(hooked(block, after=_layer(hear, parent, layer)))
        yield


def _embedding(hear: Hear, stack: str) -> Callable[[tuple[Tensor]], None]:
    return lambda given: hear(stack, 0, given[0])


def _layer(hear: Hear, stack: str, layer: int) -> Callable[[tuple[Tensor, Tensor]], None]:
    return lambda left: hear(stack, layer, left[0])
