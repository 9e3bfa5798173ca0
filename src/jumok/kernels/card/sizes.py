"""How much of the loss exists at once; plans read it, too, so torch is not imported."""

_CHUNK = 512
"""Rows of logits at once on a CPU: so many stay in the cache."""
_CHUNK_BYTES = 1 << 28
"""Of float32 logits at once on a GPU, where a small product does not fill the card."""


def logit_rows(vocabulary: int, *, on_cpu: bool) -> int:
    """How many rows of logits exist at once; an even number."""
    if on_cpu:
        return _CHUNK
    return max(_CHUNK, _CHUNK_BYTES // (4 * vocabulary) // 2 * 2)
