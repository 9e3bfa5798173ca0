"""The parts of a block that can be exchanged: norms, feed-forward layers, residual connections.

Each is a protocol: a module that can be called like this is such a part. Their names in recipes are
in `jumok/parts.py`.
"""

from typing import Protocol, runtime_checkable

from jumok.shapes import States


@runtime_checkable  # the tests check annotations while they run
class Norm(Protocol):
    """Brings each vector to one size."""

    def __call__(self, states: States) -> States:
        """The states, each normalised on its own."""
        ...


@runtime_checkable
class FeedForward(Protocol):
    """Transforms each vector on its own; its inner activations have a dropout."""

    def __call__(self, states: States) -> States:
        """The update of the stream that follows from each state."""
        ...


@runtime_checkable
class Residual(Protocol):
    """Adds the update of a part to the stream, and normalises it for the next part."""

    @property
    def norm(self) -> Norm: ...

    def __call__(self, stream: States, update: States) -> tuple[States, States]:
        """Gives (stream, normed)."""
        ...
