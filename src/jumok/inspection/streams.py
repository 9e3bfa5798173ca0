"""The residual stream of every stack of blocks, as it was between them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from jumok.inspection.trace import Array
from jumok.layers.block import Stack
from jumok.shapes import Float, Tensor


class Streams:
    """What was seen of each stack: for each layer the calls one after another."""

    def __init__(self) -> None:
        self.calls: dict[str, list[list[Tensor]]] = {}

    def add(self, stack: str, layer: int, stream: Float[Tensor, "batch new dim"]) -> None:
        """Takes in what a layer left; layer 0 is the embedding."""
        layers = self.calls.setdefault(stack, [])
        while len(layers) <= layer:
            layers.append([])
        layers[layer].append(stream.detach())

    def arrays(self) -> dict[str, Array]:
        """Of the batch's first row: (layers + 1, positions, dim) for each stack."""
        return {
            stack: torch.stack([torch.cat(calls, dim=1)[0] for calls in layers])
            .float()
            .cpu()
            .numpy()
            for stack, layers in self.calls.items()
        }


@contextmanager
def watch_streams(model: nn.Module) -> Iterator[Streams]:
    """Keeps what every layer of every stack leaves inside the block.

    A stack's blocks are called as a whole in a parallel pass and part by part in a step, so it is
    their last part that is listened to; what comes in is what the first norm reads.
    """
    streams = Streams()
    handles = []
    for path, module in model.named_modules():
        if not isinstance(module, Stack):
            continue
        parent = path.rpartition(".")[0]
        first = model.get_submodule(f"{parent}.first_norm" if parent else "first_norm")
        parts = [block.after_feedforward for block in module]
        handles.append(first.register_forward_pre_hook(_embedding(streams, parent)))
        for layer, part in enumerate(parts, start=1):
            handles.append(part.register_forward_hook(_layer(streams, parent, layer)))
    try:
        yield streams
    finally:
        for handle in handles:
            handle.remove()


def _embedding(streams: Streams, stack: str) -> Any:
    def hear(_: nn.Module, given: tuple[Any, ...]) -> None:
        streams.add(stack, 0, given[0])

    return hear


def _layer(streams: Streams, stack: str, layer: int) -> Any:
    def hear(_: nn.Module, __: Any, left: tuple[Any, Any]) -> None:
        streams.add(stack, layer, left[0])

    return hear
