"""The states of real positions, without padding."""

from jumok.shapes import Float, Int, Tensor


def real_states(
    states: Float[Tensor, "batch length width"], places: Int[Tensor, " real"]
) -> Float[Tensor, "real width"]:
    """The states at these places, which count row by row.

    Twice as fast on a CPU as a boolean index, for which the host would also have to wait on a GPU:
    the number of states depends on the mask.
    """
    return states.flatten(0, 1).index_select(0, places)
