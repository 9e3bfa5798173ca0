"""Which model a system is: what its traces carry, so that none is taken for another model's."""

from collections.abc import Sequence
from typing import TypeVar

from torch import nn

from jumok.bundle.fingerprint import Origin, fingerprint_of, together
from jumok.bundle.reading import Bundle


class Known:
    """A system with a fingerprint.

    Attributes:
        task: what it does, as its bundle names it (`systems/catalog.py`).
        name: its recipe's, or as its makers call it; of several models the first one's.
    """

    task: str
    name: str = "model"
    _origins: tuple[Origin, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Of its models (`jumok.bundle.fingerprint`).

        Found once where they were loaded from bundles; models that were made in memory may be
        learning, and are looked at whenever somebody asks.

        Raises:
            BundleError: a bundle that was written anew since it was loaded.
        """
        if self._origins:
            return together(origin.fingerprint for origin in self._origins)
        return together(map(fingerprint_of, self.modules()))

    def modules(self) -> Sequence[nn.Module]:
        """The models that work together."""
        raise NotImplementedError


System = TypeVar("System", bound=Known)


def loaded_from(system: System, bundles: Sequence[Bundle]) -> System:
    """The system, which knows from now on where its models come from."""
    system.name = bundles[0].card.name
    system._origins = tuple(map(Origin, bundles))
    return system
