"""Faults that only a GPU would show, for the stand-in to find in the last line of each function."""

import torch

from jumok.attention.core import attend_with_weights


def mask_of_the_host(states: torch.Tensor) -> object:
    """A look-ahead mask that was not made on the device of the states."""
    allowed = torch.ones(2, 2, dtype=torch.bool).tril()
    heads = states.new_ones(1, 1, 2, 3)
    return attend_with_weights(heads, heads, heads, allowed[None, None])


def table_of_the_host(states: torch.Tensor) -> object:
    return states @ torch.ones(3, 3)


def number_read(states: torch.Tensor) -> object:
    return states.sum().item()


def truth_asked(states: torch.Tensor) -> object:
    return states + 1 if states.any() else states


def boolean_index(states: torch.Tensor) -> object:
    return states[states > 0]


def blocking_copy(states: torch.Tensor) -> object:
    return states + torch.ones(2, 3).to(states.device)


def list_of_numbers(states: torch.Tensor) -> object:
    return states + torch.tensor([1.0, 2.0, 3.0], device=states.device)


def no_fault(states: torch.Tensor) -> object:
    """Numbers without axes may come from the host."""
    return (states * torch.tensor(2.0) + 1).masked_fill(states > 0, 0.5)


FAULTS = {
    each.__name__: each
    for each in (
        mask_of_the_host, table_of_the_host, number_read, truth_asked, boolean_index,
        blocking_copy, list_of_numbers, no_fault,
    )
}  # fmt: skip
