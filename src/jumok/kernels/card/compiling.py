"""Functions of tensors that torch.compile turns into one kernel each, where a run wants that.

They are those that take as long as their reading and writing: the loss of a chunk of logits, and
residual connection, dropout and norm. Products and attention have kernels of their own in torch.
Whole models are not compiled: the masks of dropout have numbers that change at every call, and what
listens to a model is found in a context, at both of which a compiled graph ends.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

import torch

Given = ParamSpec("Given")
Found = TypeVar("Found")


class TensorCompiler:
    """Compiles each function when it is first called, and again for other shapes.

    Args:
        backend: torch.compile's: what turns a graph into code.
    """

    def __init__(self, backend: str = "inductor") -> None:
        self._backend = backend
        self._compiled: dict[object, Callable[..., object]] = {}

    def of(self, function: Callable[Given, Found]) -> Callable[Given, Found]:
        """The function, compiled."""
        if function not in self._compiled:
            self._compiled[function] = torch.compile(function, backend=self._backend)
        return self._compiled[function]  # type: ignore[return-value]  # a function's own


_COMPILER: ContextVar[TensorCompiler | None] = ContextVar("compiler", default=None)


@contextmanager
def compiled_by(compiler: TensorCompiler | None) -> Iterator[None]:
    """While entered, `fast` gives functions that this compiler has compiled; None: as they are."""
    token = _COMPILER.set(compiler)
    try:
        yield
    finally:
        _COMPILER.reset(token)


def fast(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """The function, compiled if the run compiles."""
    compiler = _COMPILER.get()
    return function if compiler is None else compiler.of(function)


def compiles() -> bool:
    """Whether the run compiles."""
    return _COMPILER.get() is not None
