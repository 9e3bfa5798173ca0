"""The memory of a model, checked while it is built.

Sizes from a file may be anything, and an allocation that is too large is not always refused: most
systems overcommit memory, and kill the process when it is used.
"""

import math
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from jumok.errors import ModelError

FACTORIES = (torch.empty, torch.zeros, torch.ones)
"""What every weight and every table of a model is made by."""


class MemoryLimit(TorchFunctionMode):
    """Adds up what is made while it is entered, and refuses what is too much.

    Args:
        most: in bytes.
        fills: False: nothing is written, so that a model takes no memory before its size is known.

    Raises:
        ModelError: more is asked for.
    """

    def __init__(self, most: int, *, fills: bool = True) -> None:
        super().__init__()
        self._most, self._fills = most, fills
        self._made = 0.0

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in FACTORIES:
            self._made += _bytes_of(func, args, kwargs)
            if self._made > self._most:
                raise ModelError(
                    "a model of these sizes needs more memory than is available.",
                    expected=f"at most {self._most / 1e9:,.1f} GB",
                    got=f"more than {self._made / 1e9:,.1f} GB for its weights and tables",
                    do="choose smaller sizes in [model]",
                )
            func = func if self._fills else torch.empty
        if not self._fills and func is torch.linalg.qr:  # of an orthogonal matrix
            return args[0], args[0]
        if not self._fills and _writes(func.__name__):
            return args[0] if args else kwargs["tensor"]  # of torch.nn.init
        return func(*args, **kwargs)


def _writes(name: str) -> bool:
    """Whether a function of this name changes its first argument: normal_, `a *= b`."""
    return name in ("__imul__", "__setitem__") or name.rstrip("_") + "_" == name


def _bytes_of(factory: Any, args: Any, kwargs: dict[str, Any]) -> float:
    """The size of a tensor that is not made."""
    try:
        return float(factory(*args, **kwargs | {"device": "meta"}).nbytes)
    except RuntimeError:  # more than a number can say
        return math.inf
