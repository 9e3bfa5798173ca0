"""Many vectors to one."""

from jumok.shapes import Allowed, Float, States, Tensor


def mean_of_real(states: States, allowed: Allowed | None) -> Float[Tensor, "batch dim"]:
    """The mean of each row's states over its real positions; None where all are real."""
    if allowed is None:
        return states.mean(dim=1)
    real = allowed[:, :, None].to(states.dtype)
    return (states * real).sum(dim=1) / real.sum(dim=1)


def first_state(states: States, allowed: Allowed | None) -> Float[Tensor, "batch dim"]:
    """The state of the first position, START's, which is always real.

    Source: Devlin et al. 2019, section 3 (there it is called [CLS]).
    """
    del allowed
    return states[:, 0]


POOLINGS = {"mean": mean_of_real, "first": first_state}
