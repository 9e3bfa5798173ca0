"""Numbers that a module needs on the device of its inputs, in their own precision."""

import torch

from jumok.shapes import Shaped, Tensor


class Constant:
    """A tensor that is copied once to each device that asks for it.

    It is no buffer: a module's .to(bfloat16) would round it. Copied at every call, a GPU would be
    waited for at every call.
    """

    def __init__(self, values: Shaped[Tensor, "*axes"]) -> None:
        self._copies = {values.device: values}

    def on(self, device: torch.device) -> Shaped[Tensor, "*axes"]:
        """The tensor on this device."""
        copy = self._copies.get(device)
        if copy is None:
            copy = next(iter(self._copies.values())).to(device)
            self._copies[device] = copy
        return copy
