"""The replaceable parts of a block: norms, feed-forward layers, residual connections.

Each is a protocol: any module with this call signature is such a part. Their names in recipes are
in `jumok/parts.py`.
"""

from typing import Protocol, runtime_checkable

from jumok.shapes import States


@runtime_checkable  # the tests check annotations while they run
class Norm(Protocol):
    """Normalizes each vector."""

    def __call__(self, states: States) -> States:
        """The states, each normalised on its own."""
        ...


@runtime_checkable
class FeedForward(Protocol):
    """Transforms each vector separately, with dropout on the inner activations."""

    def __call__(self, states: States) -> States:
        """The update of the stream that follows from each state."""
        ...


@runtime_checkable
class Residual(Protocol):
    """Adds the output of a sublayer to the stream, and normalizes the sum for the next sublayer."""

    @property
    def norm(self) -> Norm: ...

    def __call__(self, stream: States, update: States) -> tuple[States, States]:
        """Gives (stream, normed)."""
        ...
