"""The bytes that the processes of a run send each other in a step. Imports no torch.

With N equal slices of E elements, each process sends in one step about

    (1 - 1/N) E f   of gradients, f = 4 bytes (float32)
    (1 - 1/N) E w   of weights, w = 2 bytes in bfloat16, 4 in float32

in log2(N) messages for a window of the row, and log2(N) for the weights. If each process has one
share of a step, the first half of the gradients has w bytes an element, because it has not been
summed yet. Neighbours exchange the most, and those N/2 apart the least: E (f + w) / N.
"""

from dataclasses import dataclass

from jumok.training.optimization.slices import Slices, exchange_steps, in_blocks

FLOAT32, COUNT = 4, 8
"""Bytes of a number in a sum or a norm, and of a number of tokens or a loss."""


@dataclass(frozen=True)
class Traffic:
    """What one process sends in a step.

    Attributes:
        gradients, weights: bytes.
        messages: their number, both together.
        gathered: bytes of tokens, losses, balances of experts and norms, which all processes
            gather.
        gathers: how many times they do. The loop adds two: the time, and signals.
        by_distance: bytes of gradients and weights, by how far the receiver is from the sender in
            the order of the processes: 1, 2, 4, ...
    """

    gradients: int
    weights: int
    messages: int
    gathered: int
    gathers: int
    by_distance: dict[int, int]


def of_step(slices: Slices, index: int, shares: int, weight_bytes: int) -> Traffic:
    """The traffic of process `index`.

    Args:
        shares: of a step, all processes together.
        weight_bytes: of a weight in the precision of the run: 2 or 4.
    """
    gradients = weights = messages = 0
    by_distance: dict[int, int] = {}
    # Gradients of one share are sent as they were computed.
    first = weight_bytes if shares == slices.count else FLOAT32
    steps = exchange_steps(index, slices.count)
    for window in slices.windows():
        lengths = [end - start for start, end in window]
        for number, step in enumerate(steps):
            elements = sum(lengths[slice(*step.given)])
            sent = elements * (FLOAT32 if number else first)
            _add(by_distance, index ^ step.other, sent)
            gradients, messages = gradients + sent, messages + bool(sent)
    for step in steps:
        for start, end in slices.ranges(*step.kept):
            sent = (end - start) * weight_bytes
            _add(by_distance, index ^ step.other, sent)
            weights, messages = weights + sent, messages + bool(sent)
    gathered = 2 * COUNT + 2 * shares // slices.count * COUNT + slices.most_blocks * FLOAT32
    return Traffic(gradients, weights, messages, gathered, 3, by_distance)


def even(elements: int, processes: int, shares: int, weight_bytes: int) -> Traffic:
    """The traffic of one process for AdamW, whose slices are equal."""
    return of_step(Slices([in_blocks(0, elements)], processes), 0, shares, weight_bytes)


def _add(bytes_of: dict[int, int], distance: int, sent: int) -> None:
    bytes_of[distance] = bytes_of.get(distance, 0) + sent
