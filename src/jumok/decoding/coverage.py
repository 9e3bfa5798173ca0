"""The decoder's attention to the source at every step, for the coverage penalty."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from jumok.attention.observe import Attention, observe
from jumok.decoding.beam import ReadAttention
from jumok.errors import ModelError
from jumok.shapes import Float, Tensor


class AttentionReader:
    """Collects the weights of one step; reading them clears them for the next step."""

    def __init__(self) -> None:
        self.collected: list[Tensor] = []

    def hear(self, _site: str, attention: Attention) -> None:
        """Keeps the mean over the heads of what the newest position attends to."""
        self.collected.append(attention.weights[:, :, -1].mean(1))

    def read(self) -> Float[Tensor, "batch source"]:
        """The mean over all watched sites since the last call.

        Raises:
            ModelError: no watched site was used.
        """
        if not self.collected:
            raise ModelError(
                "none of the watched attention modules was used in this step.",
                do="watch the decoder's attention over the source, or set coverage_penalty=0",
            )
        mean = torch.stack(self.collected).mean(0)
        self.collected.clear()
        return mean


@contextmanager
def read_attention(model: nn.Module, wanted: Callable[[str], bool]) -> Iterator[ReadAttention]:
    """Yields the function that `beam_search` and `decode` call for the last step's attention.

    The weights of all heads of all wanted sites are averaged: Wu et al. 2016 have one attention,
    and a Transformer's heads have different functions.

    Args:
        wanted: chooses sites by name, the module's path in the model; they must all attend to
            the source.
    """
    reader = AttentionReader()
    with observe(model, reader.hear, wanted):
        yield reader.read
