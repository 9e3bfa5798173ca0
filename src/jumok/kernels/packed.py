"""Copies of weights in another layout for inference, used as long as they are valid.

A model is an ordinary torch module: its weights are its parameters, and any code may write to them,
replace them, or hook the modules that they are in, at any time. On a CPU small products are faster
from weights in another layout. Such copies belong to the user of the model (a loaded system), not
to the model. They are used only inside `Packs.at_work`, which first checks that they are still
valid; elsewhere every module computes with its own parameters.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
import torch.nn.modules.module as of_torch
from torch import nn

from jumok.kernels.digest import Digest, digest
from jumok.shapes import Tensor

GLOBAL = (
    of_torch._global_forward_hooks,
    of_torch._global_forward_pre_hooks,
    of_torch._global_backward_hooks,
    of_torch._global_backward_pre_hooks,
)
"""torch's own hooks on every module: such a hook receives all modules."""

Look = Callable[[Tensor], Digest]


@runtime_checkable  # the tests check annotations while they run
class Copy(Protocol):
    """What is made of a module's weights, and kept outside of it."""

    def is_true(self, look: Look | None) -> bool:
        """Whether the module is as it was when the copy was made.

        Args:
            look: returns the digest of a weight's bytes; None: the bytes are not checked.
        """
        ...


Made = TypeVar("Made", bound=Copy)


class Packs:
    """The copies of one user of a model, for any number of threads.

    Attributes:
        watched: whether other code may hold the model: its bytes are then checked whenever work
            begins, as torch's own counters do not show writes through numpy.
    """

    def __init__(self, watched: bool = True) -> None:
        self.watched = watched
        self._copies: dict[int, tuple[nn.Module, Copy | None]] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[Packs], tuple[bool]]:
        """Makes copies and pickles of a system make their own copies of its weights."""
        return Packs, (True,)

    @contextmanager
    def at_work(self, thorough: bool = True) -> Iterator[None]:
        """This thread computes with the copies inside the block, if they are valid.

        Args:
            thorough: check the bytes, too, if other code may have written to them.
        """
        if AT_WORK.get() is self:  # a call inside a call
            yield
            return
        if self.watched or any(GLOBAL):
            self._look_through(thorough)
        token = AT_WORK.set(self)
        try:
            yield
        finally:
            AT_WORK.reset(token)

    def copy_of(self, module: nn.Module, make: Callable[[nn.Module], Made | None]) -> Made | None:
        """The module's copy; made if there is none yet. None: a copy has no advantage.

        Args:
            make: receives the module.
        """
        found = self._copies.get(id(module))
        if found is None or found[0] is not module:
            with self._lock:
                found = self._copies.get(id(module))
                if found is None or found[0] is not module:
                    found = module, make(module)
                    self._copies[id(module)] = found
        return found[1]  # type: ignore[return-value]  # what `make` made of this module

    def drop(self, module: nn.Module) -> None:
        """Drops the module's copy, which is not valid any more."""
        self._copies.pop(id(module), None)

    def _look_through(self, thorough: bool) -> None:
        known: dict[int, Digest] = {}

        def look(tensor: Tensor) -> Digest:
            """Reads each weight once, in however many copies it is."""
            if id(tensor) not in known:
                known[id(tensor)] = digest(tensor)
            return known[id(tensor)]

        for module, copy in list(self._copies.values()):
            # A module without an advantage may have changed since, too.
            if copy is None or not copy.is_true(look if thorough else None):
                self.drop(module)


AT_WORK: ContextVar[Packs | None] = ContextVar("jumok_packs", default=None)


class Stamp(NamedTuple):
    """A parameter's state: which tensor, where, how often written to, and with what bytes."""

    tensor: Tensor
    place: int
    version: int
    bytes: Digest

    @classmethod
    def of(cls, tensor: Tensor) -> Stamp:
        return cls(tensor, tensor.data_ptr(), version_of(tensor), digest(tensor))

    def is_true(self, tensor: Tensor | None, look: Look | None = None) -> bool:
        """Whether this is still the tensor, and it was not written to."""
        return (
            tensor is self.tensor
            and tensor.data_ptr() == self.place
            and version_of(tensor) == self.version
            and (look is None or look(tensor) == self.bytes)
        )


def version_of(tensor: Tensor) -> int:
    """How often torch wrote to the tensor; 0 where torch does not count: in inference mode."""
    return 0 if tensor.is_inference() else tensor._version


def can_be_packed(weight: Tensor) -> bool:
    """Whether oneDNN has a layout for such weights on this processor."""
    if weight.device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return False
    if weight.dtype == torch.bfloat16:  # it refuses them without AVX-512 or its successors
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return weight.dtype == torch.float32
