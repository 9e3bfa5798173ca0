"""The residual stream of every stack of blocks, before the first block and after each."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from torch import nn

from jumok.inspection.hooks.intercept import hooked
from jumok.layers.block import Stack
from jumok.shapes import Float, Tensor

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
