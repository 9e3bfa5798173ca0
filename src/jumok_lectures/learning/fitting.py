"""The short training of networks that are made for one lab: Adam, and new batches at every step."""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from jumok.shapes import Float, Tensor
from jumok.training.precision import one_thread


def fit(
    parameters: Iterable[nn.Parameter],
    loss: Callable[[], Float[Tensor, ""]],
    steps: int,
    rate: float,
) -> list[float]:
    """Makes a loss small, with a rate that falls to 0 along a half cosine.

    Args:
        loss: draws a batch and gives its loss.

    Returns:
        The loss of every step.
    """
    optimizer = torch.optim.Adam(parameters, lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    found = []
    with one_thread():
        for _ in range(steps):
            value = loss()
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            schedule.step()
            found.append(float(value.detach()))
    return found
